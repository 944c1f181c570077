// The scheduler's own time, in a world without devices.
#include "engine/backend/run_loop.h"
#include "engine/backend/world.h"
#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/config/document.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/policy/registry.h"
#include "engine/scheduler/scheduler.h"
#include "platforms/probe/interlude.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using hardware::steady_ns;

constexpr LayerId kLayers = 16;
constexpr std::int32_t kHidden = 1536;
constexpr std::int32_t kFfn = 4608;
constexpr std::int32_t kBlockNeurons = 4;
constexpr TokenId kPrompt = 4;
constexpr TokenId kTokens = 36;
constexpr double kDensity = 0.25;
constexpr double kBudget = 0.4;  // of the blocks
constexpr double kKept = 0.4;    // of a token's codes are those of the token before

class Activations final : public model::Activations {
 public:
  Activations() {
    RandomStream random(1, "probe.activations");
    const auto token = static_cast<std::size_t>(kLayers) * kFfn;
    codes_.resize(token * kTokens);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const bool kept = i >= token && random.next_unit() < kKept;
      codes_[i] = kept ? codes_[i - token] : static_cast<std::uint8_t>(random.next_below(256));
    }
    for (int c = 0; c < model::kLevels; ++c) levels_.push_back(static_cast<float>(c + 1));
  }
  TokenId tokens() const override { return kTokens; }
  LayerId layers() const override { return kLayers; }
  std::int32_t ffn() const override { return kFfn; }
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const override {
    const auto row = static_cast<std::size_t>(token) * kLayers + static_cast<std::size_t>(layer);
    return {codes_.data() + row * kFfn, static_cast<std::size_t>(kFfn)};
  }
  std::span<const float> levels(LayerId) const override { return levels_; }

 private:
  std::vector<std::uint8_t> codes_;
  std::vector<float> levels_;
};

template <typename Kind>
std::unique_ptr<Kind> make_policy(const char* yaml, const typename Kind::Context& context) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "calibrate", diagnostics);
  const auto choice = policy::Registry<Kind>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice.make(context);
}

// A world beside a watch that runs from answers to the next commands, once decoding has begun. It
// takes its time to answer, as devices do.
class WatchedWorld final : public backend::Backend {
 public:
  WatchedWorld(Backend& inner, const scheduler::Scheduler& scheduler, Interlude& interlude)
      : inner_(inner), interlude_(interlude), metrics_(scheduler.metrics()) {}

  TimeNs now() override { return inner_.now(); }
  void submit(std::span<const scheduler::Command> commands) override {
    const TimeNs at_ns = steady_ns();
    if (metrics_.prefill_end_ns > metrics_.start_ns && answered_ns_ > 0) {
      spent_ns_ += at_ns - answered_ns_;
      ++steps_;
    }
    inner_.submit(commands);
  }
  std::span<const scheduler::Completion> wait(TimeNs deadline) override {
    const auto batch = inner_.wait(deadline);
    interlude_.pass();
    answered_ns_ = steady_ns();
    return batch;
  }
  double step_s() const { return seconds(spent_ns_) / static_cast<double>(steps_); }

 private:
  Backend& inner_;
  Interlude& interlude_;
  const scheduler::RunMetrics& metrics_;
  TimeNs answered_ns_ = 0;
  TimeNs spent_ns_ = 0;
  std::int64_t steps_ = 0;
};

// The mean over the batches of a run.
double step_s(const Plan& plan) {
  const Activations activations;
  scheduler::RunSpec run;
  run.layers = kLayers;
  run.geometry = model::cut_into_blocks(kFfn, kBlockNeurons, 6.0 * kHidden * kBlockNeurons, 512);
  const BlockId blocks = run.geometry.blocks_per_layer;
  run.slots = static_cast<SlotId>(kBudget * kLayers * blocks);
  run.tokens = kTokens;
  run.prompt_tokens = kPrompt;
  run.density = kDensity;
  run.queue_depth = 32;
  const auto predictor = make_policy<policy::Predictor>("oracle", {&activations, 1});
  const auto controller = make_policy<policy::Controller>(
      "{policy: static, omega_io: 4, omega_gpu: 4}", {kLayers, blocks, kBlockNeurons});
  const auto loader = make_policy<policy::Loader>("prioritised", {run.geometry.block_bytes});
  const auto cache = make_policy<policy::CachePolicy>("lfu", {kLayers, blocks, run.slots, kPrompt});
  scheduler::Scheduler scheduler(
      run, {predictor.get(), cache.get(), controller.get(), loader.get(), &activations});
  backend::WorldSpec world;
  world.shape.ffn = kFfn;
  world.geometry = run.geometry;
  world.predictor = predictor.get();
  const auto null = backend::make_world("null", world);
  Interlude interlude(plan.processors.accelerator);
  WatchedWorld watched(*null, scheduler, interlude);
  backend::run(scheduler, watched);
  if (!scheduler.failure().empty()) throw UserError("calibrate: {}", scheduler.failure());
  return watched.step_s();
}

}  // namespace

Group step_probes(const Plan& plan) {
  return {{kStep, "", {{"time", "s"}}, [&plan](int) { return std::vector<double>{step_s(plan)}; }}};
}

}  // namespace leanstream::probe
