// Controllers: how often accelerator and I/O coordinate within a layer, and when the final
// prediction of a layer is made.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/base/types.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

inline constexpr std::size_t kMostPlanStages = 8;

// Into how many segments the I/O and the accelerator work of one logical stage are cut.
struct StagePlan {
  std::int32_t omega_io = 1;
  std::int32_t omega_gpu = 1;
};

// φ of the paper: a layer's blocks are cut into `stages` logical stages of equal block count, each
// with segments of its own.
struct Plan {
  std::array<StagePlan, kMostPlanStages> stage{};
  std::int32_t stages = 1;
  // > 0, instead of omega_gpu: the resident blocks that are always computed are one segment, the
  // others come in segments of so many.
  BlockId cluster_blocks = 0;
};

// When and how often the set of a layer is predicted.
enum class Predicts : std::uint8_t {
  refined,            // as the system says; again as stages of the layer before complete
  one_shot_ahead,     // once, at T_GPU(n−1) for layer n+1, from the input of layer n
  one_shot_at_input,  // once, from the layer's own MLP input; nothing is read before
};

// Seen at T_F(n): the blocks of the final prediction that have not arrived.
struct ControlState {
  LayerId layer = 0;
  StepId step = 0;               // of decode: decoded token · layers + layer
  BlockId remaining_blocks = 0;  // R(n), in flight included
};

class Controller {
 public:
  static constexpr const char* kKind = "controller";

  struct Context {
    LayerId layers = 0;
    BlockId blocks_per_layer = 0;
    std::int32_t block_neurons = 1;
    std::span<const StagePlan> sequence{};  // by step: what a search has found
  };

  virtual ~Controller() = default;

  // The plan of layer n, held until T_F(n+1). One table look-up.
  virtual Plan plan(const ControlState& state) const = 0;

  // The fewest segments it may ask for: they bound the smallest memory budget.
  virtual Plan coarsest() const = 0;

  virtual Predicts predicts() const { return Predicts::refined; }

  // > 0: before the run, a search with so many simulated runs finds Context::sequence.
  virtual std::int32_t search_runs() const { return 0; }
};

}  // namespace leanstream::policy

#define LEANSTREAM_CONTROLLER(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Controller, Policy, name, help)
