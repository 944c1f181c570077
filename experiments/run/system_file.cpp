#include "experiments/run/system_file.h"

#include "engine/config/find_file.h"

namespace leanstream::run {
namespace {

using config::Diagnostics;
using config::Json;
using config::Node;
using config::ParameterInfo;

template <typename Kind>
config::Parameter<SystemSpec> policy_parameter(
    typename policy::Registry<Kind>::Choice SystemSpec::*member, const std::string& help) {
  using Registry = policy::Registry<Kind>;
  using Choice = typename Registry::Choice;
  auto parse = [](const Node& node, const ParameterInfo&, Diagnostics& d) -> std::optional<Choice> {
    return Registry::instance().choose(node, d);
  };
  return config::custom<SystemSpec>(
             Kind::kKind, member, "a policy, or a map with its parameters", parse,
             [](const Choice& c) { return c.resolved; }, help)
      .required();
}

// Lays the maps of `changes` over those of `base`; everything else replaces.
void lay_over(Node& base, const std::string& prefix, const Node& changes, Diagnostics& d) {
  for (const auto& entry : changes.entries()) {
    const std::string name = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (entry.value.is_map()) {
      lay_over(base, name, entry.value, d);
    } else {
      base = base.with(name, entry.value, d);
    }
  }
}

}  // namespace

const config::Table<SystemSpec>& system_table() {
  using S = SystemSpec;
  using scheduler::ComputeOrder;
  using scheduler::FinalAt;
  using Sync = backend::Synchronisation;
  static const config::Table<S> table{
      config::text("description", &S::description, "one line for `list`").required(),
      config::list("notes", &S::notes, "sentences that the report prints"),
      policy_parameter<policy::Predictor>(&S::predictor, "what is wanted"),
      config::choice("predict_cost_like", &S::predict_cost,
                     {{"nothing", CostLike::nothing},
                      {"stacked_hash", CostLike::stacked_hash},
                      {"low_rank_mlp", CostLike::low_rank_mlp}},
                     "the predictor whose time and bytes a prediction is charged"),
      config::choice("final_at", &S::final_at,
                     {{"residual", FinalAt::residual}, {"own_input", FinalAt::own_input}},
                     "from what the final prediction of a layer is made"),
      config::flag("refine", &S::refine, "predict again as stages of the layer before complete"),
      policy_parameter<policy::CachePolicy>(&S::cache, "what stays in memory"),
      policy_parameter<policy::Controller>(&S::controller, "how often the units coordinate"),
      policy_parameter<policy::Loader>(&S::loader, "what is read when"),
      config::choice("compute_order", &S::compute_order,
                     {{"priority", ComputeOrder::priority}, {"flash", ComputeOrder::flash}},
                     "order of the blocks that are there when a layer begins"),
      config::choice("synchronisation", &S::synchronisation,
                     {{"flags", Sync::flags}, {"polling", Sync::polling}, {"device", Sync::device}},
                     "how accelerator and host tell each other"),
      config::ratio("density", &S::density, "computed share, whatever the experiment says")
          .above(0)};
  return table;
}

SystemSpec read_system(const config::Document& document, const Node& changes,
                       Diagnostics& diagnostics) {
  SystemSpec spec;
  if (!config::check_kind(document, config::word(config::FileKind::system), diagnostics)) {
    return spec;
  }
  Node root = document.root;
  if (changes) lay_over(root, "", changes, diagnostics);
  spec = system_table().read(root, diagnostics, {"kind"});
  spec.name = config::name_of(document.path);
  return spec;
}

}  // namespace leanstream::run
