#include "experiments/run/plan_search.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::run {
namespace {

using policy::StagePlan;

constexpr std::int32_t kMostSegments = 16;

class Search {
 public:
  Search(std::int32_t tokens, LayerId layers, std::int32_t runs, const DecodeTime& decode_time)
      : tokens_(tokens), layers_(layers), runs_left_(runs), decode_time_(decode_time) {}

  PlanSequence run() {
    const auto steps = static_cast<std::size_t>(tokens_) * static_cast<std::size_t>(layers_);
    best_.assign(steps, StagePlan{});
    for (std::int32_t io = 1; io <= kMostSegments; io *= 2) {
      for (std::int32_t gpu = 1; gpu <= kMostSegments; gpu *= 2) {
        try_sequence(PlanSequence(steps, {io, gpu}));
      }
    }
    std::int32_t token_parts = 1;
    LayerId layer_parts = 1;
    bool gained = true;
    while (runs_left_ > 0 && (gained || token_parts < tokens_ || layer_parts < layers_)) {
      // Layers differ more than tokens do.
      if (layer_parts < layers_ && layer_parts <= 4 * token_parts) {
        layer_parts = std::min(layers_, 2 * layer_parts);
      } else {
        token_parts = std::min(tokens_, 2 * token_parts);
      }
      gained = false;
      for (std::int32_t t = 0; t < token_parts; ++t) {
        for (LayerId l = 0; l < layer_parts; ++l) {
          gained = better_piece({t * tokens_ / token_parts, (t + 1) * tokens_ / token_parts,
                                 l * layers_ / layer_parts, (l + 1) * layers_ / layer_parts}) ||
                   gained;
        }
      }
    }
    return best_;
  }

 private:
  struct Piece {  // half open
    std::int32_t token, token_end;
    LayerId layer, layer_end;
  };

  bool try_sequence(const PlanSequence& sequence) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    const TimeNs time = decode_time_(sequence);
    if (time >= best_time_) return false;
    best_time_ = time;
    best_ = sequence;
    return true;
  }

  // The four neighbours, in a fixed order; the first that gains is kept and the others go on from
  // it.
  bool better_piece(const Piece& piece) {
    bool gained = false;
    for (const auto change :
         {+[](StagePlan& p) { p.omega_io *= 2; }, +[](StagePlan& p) { p.omega_io /= 2; },
          +[](StagePlan& p) { p.omega_gpu *= 2; }, +[](StagePlan& p) { p.omega_gpu /= 2; }}) {
      PlanSequence sequence = best_;
      bool changed = false;
      for (std::int32_t t = piece.token; t < piece.token_end; ++t) {
        for (LayerId l = piece.layer; l < piece.layer_end; ++l) {
          StagePlan& plan =
              sequence[static_cast<std::size_t>(t) * static_cast<std::size_t>(layers_) +
                       static_cast<std::size_t>(l)];
          const StagePlan before = plan;
          change(plan);
          plan.omega_io = std::clamp(plan.omega_io, 1, kMostSegments);
          plan.omega_gpu = std::clamp(plan.omega_gpu, 1, kMostSegments);
          changed =
              changed || plan.omega_io != before.omega_io || plan.omega_gpu != before.omega_gpu;
        }
      }
      if (changed) gained = try_sequence(sequence) || gained;
    }
    return gained;
  }

  std::int32_t tokens_;
  LayerId layers_;
  std::int32_t runs_left_;
  const DecodeTime& decode_time_;
  PlanSequence best_;
  TimeNs best_time_ = kNever;
};

}  // namespace

PlanSequence search_plans(std::int32_t tokens, LayerId layers, std::int32_t runs,
                          const DecodeTime& decode_time) {
  LEANSTREAM_CHECK(tokens >= 0 && layers >= 1 && runs >= 1, "{} tokens, {} layers, {} runs", tokens,
                   layers, runs);
  if (tokens == 0) return {};
  return Search(tokens, layers, runs, decode_time).run();
}

}  // namespace leanstream::run
