// The whole engine on real threads: scheduler, flash reader, prediction thread and accelerator,
// over a flash whose reads end in any order after random delays. LEANSTREAM_STRESS_RUNS: how many
// runs.
#include <cstdlib>
#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "engine/base/error.h"
#include "engine/base/mapped_file.h"
#include "engine/hardware/world.h"
#include "engine/platform/platform.h"
#include "engine/transformer/image_layout.h"
#include "engine/transformer/pack.h"
#include "tests/hardware/world/checked_devices.h"
#include "tests/scheduler/random_run.h"
#include "tests/traces/small_trace.h"

namespace leanstream::hardware::test {
namespace {

using scheduler::Choices;
using scheduler::SmallRun;

constexpr TimeNs kPatienceNs = 30'000'000'000;  // that nothing at all happens

model::ModelShape shape_of(const SmallRun& run) {
  model::ModelShape shape;
  shape.name = "small";
  shape.layers = run.layers;
  shape.hidden = 64;
  shape.ffn = run.ffn;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.vocab = 97;
  return shape;
}

// A flash image of the run's model in the run's placement.
class Image {
 public:
  explicit Image(const SmallRun& run)
      : path_(folder_.file("image")), placement_(placement_of(run)), bytes_(written(run)) {}

  const std::string& path() const { return path_; }
  const policy::Placement* placement() const { return placement_.get(); }
  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

 private:
  static std::unique_ptr<policy::Placement> placement_of(const SmallRun& run) {
    return scheduler::make_policy<policy::Placement>(
        run.placed, {run.activations.get(), run.prompt_tokens, run.density});
  }

  MappedFile written(const SmallRun& run) const {
    transformer::BlockLayout layout;  // f16
    layout.hidden = 64;
    layout.block_neurons = run.block_neurons;
    model::FlashImageInfo info;
    info.shape = shape_of(run);
    info.weights = transformer::stored_weights(layout);
    info.geometry = run.spec().geometry;
    info.logical_block_bytes = 512;
    info.placement = run.placed;
    for (LayerId l = 0; l < run.layers && !placement_->order(0).empty(); ++l) {
      info.orders.emplace_back(placement_->order(l).begin(), placement_->order(l).end());
    }
    info.source = "random weights";
    info.tool = "tests";
    model::FlashImageWriter writer(path_, info);
    transformer::write_blocks(*transformer::random_blocks(layout, run.ffn, run.seed), writer,
                              [](LayerId) {});
    return MappedFile(path_);
  }

  traces::TemporaryFolder folder_;
  std::string path_;
  std::unique_ptr<policy::Placement> placement_;
  MappedFile bytes_;
};

// What is drawn besides the run.
struct Devices {
  std::vector<std::int32_t> ids;  // of the run's tokens
  int threads = 1;
  std::uint64_t seed = 1;
  TimeNs most_delay_ns = 0;
  backend::Synchronisation synchronisation = backend::Synchronisation::flags;
  Bytes prediction_bytes = 0;
  backend::FaultPlan faults;
};

// The end token, where the run has one, is the first after the prompt or a later one.
TokenId end_of(const SmallRun& run, const std::vector<std::int32_t>& ids) {
  const auto end = std::ranges::find(ids, run.end_token);
  return static_cast<TokenId>(end - ids.begin());
}

Devices draw_devices(const SmallRun& run, Choices& choices) {
  using backend::Synchronisation;
  Devices devices;
  devices.ids.assign(static_cast<std::size_t>(run.tokens), run.end_token == 7 ? 8 : 7);
  if (run.end_token != kNone) {
    const auto at = choices.from_to(std::max(1, run.prompt_tokens), run.tokens - 1);
    devices.ids[static_cast<std::size_t>(at)] = run.end_token;
  }
  devices.seed = choices.below(1U << 16);
  devices.most_delay_ns = choices.pick<TimeNs>({0, 20'000, 200'000});
  devices.synchronisation =
      choices.pick({Synchronisation::flags, Synchronisation::polling, Synchronisation::device});
  devices.prediction_bytes = choices.pick<Bytes>({0, 4096, 100'000});
  if (choices.one_in(4)) {
    devices.faults.read_error = 0.03;
    devices.faults.short_read = 0.03;
    devices.faults.late = 0.05;
    devices.faults.late_by_ns = 300'000;
  }
  return devices;
}

// Throws UserError when the scheduler refuses the run; whatever else is wrong fails the test.
void run_on(SmallRun& run, const Image& image, const Devices& devices, Seen& seen) {
  const platform::Platform platform;
  backend::HardwareSpec hardware;
  hardware.image = image.path();
  hardware.accelerator = "checked";
  hardware.threads = devices.threads;
  std::optional<World> world;
  seen.image = image.bytes();
  seen.data_offset = model::FlashImage(image.path()).data_offset();
  watch(seen);
  run.run_in([&](const policy::Predictor& predictor) -> backend::Backend& {
    backend::WorldSpec spec;
    spec.platform = &platform;
    spec.shape = shape_of(run);
    spec.geometry = run.spec().geometry;
    spec.synchronisation = devices.synchronisation;
    spec.prediction = {0, devices.prediction_bytes};
    spec.predictor = &predictor;
    spec.seed = run.seed;
    spec.faults = devices.faults;
    spec.placement = image.placement();
    spec.slots = run.slots;
    spec.io_lanes = run.io_lanes;
    spec.queue_depth = run.queue_depth;
    spec.tokens = run.tokens;
    spec.token_ids = devices.ids;
    spec.hardware = &hardware;
    try {
      return world.emplace(spec, [&](const StorageSpec& storage) {
        return poisoning_storage(storage, image.bytes(), devices.seed, devices.most_delay_ns);
      });
    } catch (const UserError& error) {
      throw std::logic_error(error.what());
    }
  });
}

void check(const SmallRun& run, const Seen& seen, const Devices& devices) {
  EXPECT_EQ(seen.wrong_blocks, 0);
  EXPECT_EQ(seen.not_finite, 0);
  if (devices.faults.any()) {
    EXPECT_THAT(run.failure, testing::AnyOf("", testing::HasSubstr("could not be read")));
  } else {
    EXPECT_EQ(run.failure, "");
  }
  if (!run.failure.empty()) return;
  const TokenId decoded = end_of(run, devices.ids) - run.prompt_tokens;
  EXPECT_EQ(run.metrics.tokens.size(), static_cast<std::size_t>(decoded));
  std::int64_t wanted = 0;
  for (const BlockSet& set : run.final_sets) wanted += set.count();
  const std::int64_t of_prompt =
      run.prompt_tokens == 0 ? 0 : run.layers * run.spec().geometry.blocks_per_layer;
  EXPECT_EQ(seen.blocks_computed, wanted + of_prompt);
}

// With room for every block when the drawn budget is refused. False when it is refused even then.
bool run_with_room(SmallRun& run, const Image& image, const Devices& devices, Seen& seen) {
  const SlotId all = run.layers * run.spec().geometry.blocks_per_layer + 8;
  for (const SlotId slots : {run.slots, all}) {
    run.slots = slots;
    seen = {};
    try {
      run_on(run, image, devices, seen);
      return true;
    } catch (const UserError&) {
    }
  }
  return false;
}

// One run with one and with two threads: the same sets are computed, to the same result. How many
// ended.
int run_both(std::uint64_t seed) {
  RandomStream random(seed, "tests.hardware.any_order");
  Choices choices([&](std::uint64_t bound) { return random.next_below(bound); });
  SmallRun run = scheduler::draw_run(choices);
  run.stall_timeout_ns = kPatienceNs;
  run.activations =
      std::make_shared<scheduler::SmallActivations>(run.tokens, run.layers, run.ffn, run.seed);
  if (run.prompt_tokens == 0) run.placed = "identity";  // others have nothing to go by
  Devices devices = draw_devices(run, choices);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, scheduler::describe(run)));
  const Image image(run);
  std::vector<BlockSet> sets;
  std::vector<float> residual;
  int ended = 0;
  for (const int threads : {1, 2}) {
    SCOPED_TRACE(fmt::format("{} threads", threads));
    devices.threads = threads;
    ++devices.seed;
    Seen seen;
    if (!run_with_room(run, image, devices, seen)) return ended;
    check(run, seen, devices);
    ++ended;
    if (!run.failure.empty()) return ended;
    if (threads == 2) {
      EXPECT_EQ(run.final_sets, sets);
      EXPECT_THAT(seen.last_residual, testing::Pointwise(testing::FloatNear(1e-3F), residual));
    }
    sets = run.final_sets;
    residual = seen.last_residual;
  }
  return ended;
}

TEST(AnyOrder, NoRunStopsAndNothingIsComputedThatDidNotArrive) {
  const char* asked = std::getenv("LEANSTREAM_STRESS_RUNS");
  const int runs = asked == nullptr ? 100 : std::atoi(asked);
  int ended = 0;
  for (int i = 0; i < runs && !HasFailure(); ++i) ended += run_both(static_cast<std::uint64_t>(i));
  EXPECT_GT(ended, runs) << "of twice as many";
  std::printf("%d runs with one and with two threads: %d ended\n", runs, ended);
}

}  // namespace
}  // namespace leanstream::hardware::test
