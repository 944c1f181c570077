// Placements: in which order the neurons of a layer lie on flash. Neighbours share blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/types.h"
#include "engine/model/activations.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

class Placement {
 public:
  static constexpr const char* kKind = "placement";

  // A placement may look at the first prompt_tokens of the activations, not at what is decoded.
  struct Context {
    const model::Activations* activations = nullptr;  // outlives the placement
    TokenId prompt_tokens = 0;
    double density = 1;  // of the run
  };

  virtual ~Placement() = default;

  // order[p] is the neuron at flash position p; each of the ffn neurons occurs once. Empty: the
  // model's own order. Valid as long as the placement.
  virtual std::span<const std::int32_t> order(LayerId /*layer*/) const { return {}; }
};

// The choice that an experiment starts with: identity.
Registry<Placement>::Choice default_placement();

}  // namespace leanstream::policy

#define LEANSTREAM_PLACEMENT(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Placement, Policy, name, help)
