#include "engine/policy/place/placement.h"

namespace leanstream::policy {
namespace {

// The order in which the model's own files hold its neurons.
class Identity final : public Placement {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Identity(const Context&, const Parameters&) {}
};

}  // namespace

LEANSTREAM_PLACEMENT(Identity, "identity", "the model's own order")

Registry<Placement>::Choice default_placement() {
  return {"identity", config::Json{{"policy", "identity"}}, [](const Placement::Context& context) {
            return std::make_unique<Identity>(context, NoParameters{});
          }};
}

}  // namespace leanstream::policy
