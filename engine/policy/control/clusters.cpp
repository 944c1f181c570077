#include <algorithm>

#include "engine/policy/control/controller.h"

namespace leanstream::policy {
namespace {

struct ClustersParameters {
  std::int32_t cluster_neurons = 512;
};

// What is always computed and resident is one segment; the rest is computed in clusters as it
// arrives (PowerInfer-2, arXiv 2406.06282, section 4: clusters are its unit of work).
class Clusters final : public Controller {
 public:
  using Parameters = ClustersParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("cluster_neurons", &Parameters::cluster_neurons, "neurons of a cluster")
            .range(1, 1 << 20)};
    return parameters;
  }

  Clusters(const Context& context, const Parameters& parameters) {
    plan_.cluster_blocks = std::max<BlockId>(1, parameters.cluster_neurons / context.block_neurons);
  }

  Plan plan(const ControlState&) const override { return plan_; }
  Plan coarsest() const override { return plan_; }

 private:
  Plan plan_;
};

}  // namespace

LEANSTREAM_CONTROLLER(Clusters, "clusters", "clusters of neurons, in the order they arrive")

}  // namespace leanstream::policy
