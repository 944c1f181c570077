// What will be computed of every layer of every token, where it does not depend on timing: recorded
// activations and a predictor that is a function of them.
#pragma once

#include <optional>

#include "engine/policy/cache/cache_policy.h"
#include "engine/policy/predict/predictor.h"
#include "engine/scheduler/run_spec.h"
#include "engine/scheduler/selection.h"

namespace leanstream::scheduler {

class FutureSets final : public policy::Future {
 public:
  // The predictor's and the controller's of `policies` are used; all outlive this.
  FutureSets(const RunSpec& spec, const Policies& policies);

  TokenId tokens() const override { return spec_.tokens; }
  // The final set of a decoded token; of a prompt token its active set. The blocks that a cache
  // policy always computes are not in it.
  BlockSet wanted(TokenId token, LayerId layer) const override;

 private:
  RunSpec spec_;
  Policies policies_;
  mutable std::optional<Selection> selection_;  // made when first asked: few runs ask
};

}  // namespace leanstream::scheduler
