// Controllers: how often accelerator and I/O coordinate within a layer, and when the final
// prediction of a layer is made.
#pragma once

#include "engine/base/types.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

// Into how many segments the I/O and the accelerator work of a layer are cut (φ of the paper).
struct Plan {
  std::int32_t omega_io = 1;
  std::int32_t omega_gpu = 1;
};

// Seen at T_F(n): the blocks of the final prediction that have not arrived.
struct ControlState {
  LayerId layer = 0;
  BlockId remaining_blocks = 0;  // R(n), in flight included
};

class Controller {
 public:
  static constexpr const char* kKind = "controller";

  struct Context {
    LayerId layers = 0;
    BlockId blocks_per_layer = 0;
  };

  virtual ~Controller() = default;

  // The plan of layer n, held until T_F(n+1). One table look-up.
  virtual Plan plan(const ControlState& state) const = 0;

  // The fewest segments it may ask for: they bound the smallest memory budget.
  virtual Plan coarsest() const = 0;

  // True: the set of layer n+1 is predicted once, at T_GPU(n−1), from the input of layer n, and
  // never refined.
  virtual bool one_shot_ahead() const { return false; }
};

}  // namespace leanstream::policy

#define LEANSTREAM_CONTROLLER(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Controller, Policy, name, help)
