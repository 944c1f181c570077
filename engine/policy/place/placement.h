// Placements: in which order the neurons of a layer lie on flash. Neighbours share blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

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
    double density = 1;        // of the run
    LayerId layers = 0;        // of the model; 0: those of the activations
    std::int32_t ffn = 0;      // the same
    std::string model_hash{};  // XXH3-128 of its weights, where it is known
    // Where a file is that the placement names; empty: as it is written.
    std::function<std::string(const std::string&)> find{};
  };

  virtual ~Placement() = default;

  // order[p] is the neuron at flash position p; each of the ffn neurons occurs once. Empty: the
  // model's own order. Valid as long as the placement.
  virtual std::span<const std::int32_t> order(LayerId /*layer*/) const { return {}; }

  // Of a placement that was learned elsewhere, from what, with the hash of its file; else "".
  virtual std::string source() const { return ""; }
};

// The choice that an experiment starts with: identity.
Registry<Placement>::Choice default_placement();

// Whether a placement of that name is fitted on the activations of its run.
inline bool fitted_in_run(const std::string& name) {
  return name != "identity" && name != "file";
}

}  // namespace leanstream::policy

#define LEANSTREAM_PLACEMENT(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::Placement, Policy, name, help)
