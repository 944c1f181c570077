#include "experiments/run/system_file.h"

#include "engine/config/find_file.h"

namespace leanstream::run {
namespace {

using config::Diagnostics;
using config::Node;

bool is_policy(const std::string& key) {
  for (const auto& p : system_table().describe()) {
    if (p.name == key) return p.type_name == policy::kPolicyType;
  }
  return false;
}

// Lays the maps of `changes` over those of `base`; everything else replaces. A policy that was
// given by its bare name is a map with that name; a change of the name replaces all of it.
Node lay_over(Node base, const Node& changes, Diagnostics& d) {
  for (const auto& entry : changes.entries()) {
    const Node old = base[entry.key];
    Node map = old.is_map() ? old : Node::map(entry.value.position());
    if (is_policy(entry.key) && old.is_scalar()) map = map.with("policy", old, d);
    const Node name = entry.value["policy"];
    const bool other_policy = name.is_scalar() && name.text() != map["policy"].text();
    if (!entry.value.is_map() || other_policy) {
      base = base.without(entry.key).with(entry.key, entry.value, d);
      continue;
    }
    for (const auto& change : entry.value.entries()) map = map.with(change.key, change.value, d);
    base = base.without(entry.key).with(entry.key, map, d);
  }
  return base;
}

}  // namespace

const config::Table<SystemSpec>& system_table() {
  using S = SystemSpec;
  using namespace scheduler;  // NOLINT: its enumerations
  using Sync = backend::Synchronisation;
  static const config::Table<S> table{
      config::text("description", &S::description, "one line for `list`").required(),
      config::list("notes", &S::notes, "sentences that the report prints"),
      policy::parameter<policy::Predictor>(&S::predictor, "what is wanted").required(),
      config::choice("predict_cost_like", &S::predict_cost,
                     {{"nothing", CostLike::nothing},
                      {"stacked_hash", CostLike::stacked_hash},
                      {"low_rank_mlp", CostLike::low_rank_mlp}},
                     "the predictor whose time and bytes a prediction is charged"),
      config::choice("final_at", &S::final_at,
                     {{"residual", FinalAt::residual}, {"own_input", FinalAt::own_input}},
                     "from what the final prediction of a layer is made"),
      config::flag("refine", &S::refine, "predict again as stages of the layer before complete"),
      config::custom<S>(
          policy::Placement::kKind, &S::placement, policy::kPolicyType,
          [](const Node& node, const config::ParameterInfo&,
             Diagnostics& diagnostics) -> std::optional<PlacementChoice> {
            return policy::Registry<policy::Placement>::instance().choose(node, diagnostics);
          },
          [](const PlacementChoice& choice) { return choice.resolved; },
          "order of neurons on flash where the experiment states none"),
      policy::parameter<policy::CachePolicy>(&S::cache, "what stays in memory").required(),
      policy::parameter<policy::Controller>(&S::controller, "how often the units coordinate")
          .required(),
      policy::parameter<policy::Loader>(&S::loader, "what is read when").required(),
      config::choice("compute_order", &S::compute_order,
                     {{"priority", ComputeOrder::priority}, {"flash", ComputeOrder::flash}},
                     "order of the blocks that are there when a layer begins"),
      config::choice(
          "layer0", &S::layer0,
          {{"previous_token", LayerZero::previous_token}, {"hottest", LayerZero::hottest}},
          "what is prefetched for the first layer of a token that does not exist yet"),
      config::choice("prefetch_limit", &S::prefetch_limit,
                     {{"plan", PrefetchLimit::plan}, {"fits", PrefetchLimit::fits}},
                     "prefetch all that is predicted, or what fits the accelerator's time"),
      config::choice("prefetch_cancel", &S::prefetch_cancel,
                     {{"none", PrefetchCancel::none}, {"queued", PrefetchCancel::queued}},
                     "take back what the final prediction does not want and flash has not begun"),
      config::choice("io_segment_sync", &S::io_segment_sync,
                     {{"barrier", IoSegmentSync::barrier}, {"none", IoSegmentSync::none}},
                     "wait for all reads of an I/O part, or keep the device's queue full"),
      config::choice("publish", &S::publish,
                     {{"segment", Publish::segment}, {"block", Publish::block}},
                     "the accelerator sees blocks with their I/O part, or each when it arrives"),
      config::choice("scope", &S::scope,
                     {{"shared", Scope::shared},
                      {"even", Scope::even},
                      {"by_miss_curve", Scope::by_miss_curve}},
                     "one cache for all layers, or one each: of equal size, or by the prompt's "
                     "miss curves"),
      config::integer("io_lanes", &S::io_lanes, "I/O workers").range(1, 16),
      config::choice("synchronisation", &S::synchronisation,
                     {{"flags", Sync::flags}, {"polling", Sync::polling}, {"device", Sync::device}},
                     "how accelerator and host tell each other"),
      config::ratio("density", &S::density, "computed share, whatever the experiment says")
          .above(0)};
  return table;
}

void SystemSpec::apply(scheduler::RunSpec& run) const {
  run.final_at = final_at;
  run.refine = refine;
  run.compute_order = compute_order;
  run.layer0 = layer0;
  run.prefetch_limit = prefetch_limit;
  run.prefetch_cancel = prefetch_cancel;
  run.io_segment_sync = io_segment_sync;
  run.publish = publish;
  run.scope = scope;
  run.io_lanes = io_lanes;
}

SystemSpec read_system(const config::Document& document, const Node& changes,
                       Diagnostics& diagnostics) {
  SystemSpec spec;
  if (!config::check_kind(document, config::word(config::FileKind::system), diagnostics)) {
    return spec;
  }
  Node root = document.root;
  if (changes) root = lay_over(root, changes, diagnostics);
  spec = system_table().read(root, diagnostics, {"kind"});
  spec.name = config::name_of(document.path);
  return spec;
}

}  // namespace leanstream::run
