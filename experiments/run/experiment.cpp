#include "experiments/run/experiment.h"

#include "engine/base/error.h"
#include "experiments/run/hardware.h"

namespace leanstream::run {
namespace {

using config::Diagnostics;
using config::Json;
using config::Node;
using config::ParameterInfo;

constexpr std::size_t kMostCells = 100'000;

// As it was written; texts stay texts.
Json to_json(const Node& node) {
  if (!node || node.is_null()) return nullptr;
  if (node.is_scalar()) return node.text();
  Json json = node.is_map() ? Json::object() : Json::array();
  for (const auto& entry : node.entries()) json[entry.key] = to_json(entry.value);
  for (const auto& item : node.items()) json.push_back(to_json(item));
  return json;
}

config::Parameter<Experiment> changes(std::string name, Node Experiment::*member,
                                      std::string help) {
  auto parse = [](const Node& node, const ParameterInfo& info,
                  Diagnostics& d) -> std::optional<Node> {
    if (node.is_map()) return node;
    d.error(node.position(), "'{}' is a map of parameters, not {}", info.name, node.describe());
    return std::nullopt;
  };
  return config::custom<Experiment>(std::move(name), member, "a map", parse, to_json,
                                    std::move(help));
}

// The axes of a sweep, checked: every one a list with at least one item.
std::vector<config::Entry> read_axes(const Node& sweep, Diagnostics& diagnostics) {
  std::vector<config::Entry> axes;
  if (sweep && !sweep.is_map()) {
    diagnostics.error(sweep.position(), "'sweep' is a map of lists, not {}", sweep.describe());
  }
  for (const auto& axis : sweep.entries()) {
    bool repeated = false;
    for (const auto& other : axes) repeated = repeated || other.key == axis.key;
    if (repeated) {
      diagnostics.error(axis.key_position, "'{}' is swept twice", axis.key);
    } else if (!axis.value.is_sequence() || axis.value.items().empty()) {
      diagnostics.error(axis.value.position(), "'{}' under 'sweep' is a list of values, not {}",
                        axis.key,
                        axis.value.is_sequence() ? "an empty one" : axis.value.describe());
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

// Results go to out/<name>, and nowhere else.
void check_name(const Experiment& experiment, const Node& node, Diagnostics& diagnostics) {
  const std::string& name = experiment.name;
  if (!node || !diagnostics.empty()) return;
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos) {
    diagnostics.error(node.position(),
                      "'name' is {}; it names a folder: no '/', no '.' at its start",
                      config::quote(name));
  }
}

// What the source of activations needs, and what does not go with it.
void check_activations(const Experiment& e, const Node& node, Diagnostics& diagnostics) {
  const auto refuse = [&](const char* key, const char* why) {
    if (const Node at = node[key]) diagnostics.error(at.position(), "'{}': {}", key, why);
  };
  if (e.activations == ActivationSource::trace) {
    if (!node["trace"]) {
      diagnostics.error(node.position(), "'trace' is missing: a text, recorded activations");
    }
    for (const char* key : {"prompt", "text", "chat", "sampling", "audit_every", "forced_sets"}) {
      refuse(key, "only with activations: live, which runs the model itself");
    }
    return;
  }
  const Node at = node["activations"];
  if (e.prompt.empty() == e.text.empty()) {
    diagnostics.error(at.position(),
                      "activations: live needs either 'prompt', a text that is answered, or "
                      "'text', a file whose tokens are given");
  } else if (e.prompt.empty()) {
    refuse("sampling", "it chooses the tokens of an answer; those of 'text' are given");
  } else {
    refuse("forced_sets", "they are of the tokens of a 'text'");
  }
  if (policy::fitted_in_run(e.placement.name) && !node["trace"]) {
    diagnostics.error(node["placement"].position(),
                      "placement {} is fitted on a recording: name it ('trace')", e.placement.name);
  }
}

const config::Table<backend::Sampling>& sampling_table() {
  using S = backend::Sampling;
  static const config::Table<S> table{
      config::number("temperature", &S::temperature, "0: the likeliest token").range(0, 100),
      config::integer("top_k", &S::top_k, "among the k likeliest; 0: all").range(0, 1 << 24),
      config::ratio("top_p", &S::top_p, "within this probability").above(0)};
  return table;
}

const config::Table<backend::HeatSpec>& thermal_table() {
  using H = backend::HeatSpec;
  static const config::Table<H> table{
      config::flag("throttle", &H::throttle, "simulated units that are too hot slow down"),
      config::quantity("start", &H::start_c, config::Dimension::temperature,
                       "of all units at the start; by default the ambient")
          .range(-50, 1e3)};
  return table;
}

// `root` with the assignments applied. One to a swept parameter takes it out of the sweep; one to
// "sweep.NAME" gives NAME, dots and all, a list.
Node assign(Node root, const std::vector<std::string>& assignments, Diagnostics& diagnostics) {
  const std::string prefix = "sweep.";
  for (const auto& assignment : assignments) {
    const std::string key = assignment.substr(0, assignment.find('='));
    const bool is_axis = key.starts_with(prefix);
    const std::string swept = is_axis ? key.substr(prefix.size()) : key;
    const Node sweep = root["sweep"];
    std::vector<config::Entry> axes;
    for (const auto& axis : sweep.entries()) {
      if (axis.key != swept) axes.push_back(axis);
    }
    if (is_axis) {
      const std::string value = "axis" + assignment.substr(std::min(key.size(), assignment.size()));
      const Node list = config::with_assignment(Node::map(root.position()), value, diagnostics);
      axes.push_back({swept, list.position(), list["axis"]});
    }
    if (is_axis || axes.size() < sweep.entries().size()) {
      root = root.without("sweep").with("sweep", Node::map(root.position(), axes), diagnostics);
    }
    if (!is_axis) root = config::with_assignment(root, assignment, diagnostics);
  }
  return root;
}

// The value at a dotted name; missing when there is none.
Node at_name(Node node, const std::string& dotted) {
  for (std::size_t from = 0; from <= dotted.size();) {
    const std::size_t dot = std::min(dotted.find('.', from), dotted.size());
    node = node[dotted.substr(from, dot - from)];
    from = dot + 1;
  }
  return node;
}

// "{NAME}" in the path of the image is the cell's value of that parameter: images differ by the
// size of their blocks.
void name_image(std::string& image, const Node& node, Diagnostics& diagnostics) {
  std::string named;
  for (std::size_t at = 0; at < image.size();) {
    const std::size_t open = std::min(image.find('{', at), image.size());
    const std::size_t close = image.find('}', open);
    named += image.substr(at, (close == image.npos ? image.size() : open) - at);
    if (close == image.npos) break;
    const std::string name = image.substr(open + 1, close - open - 1);
    const Node value = at_name(node, name);
    if (!value.is_scalar()) {
      diagnostics.error(node["hardware"]["image"].position(),
                        "'hardware.image': {{{}}} names no value of this experiment", name);
    }
    named += value.text();
    at = close + 1;
  }
  image = named;
}

}  // namespace

const config::Table<Experiment>& experiment_table() {
  using E = Experiment;
  using scheduler::Select;
  static const config::Table<E> table{
      config::text("name", &E::name, "names the output folder").required(),
      config::text("description", &E::description, "one line for the report"),
      config::list("notes", &E::notes, "sentences that the report prints"),
      config::text("platform", &E::platform, "a device, by name or path").required(),
      changes("platform_changes", &E::platform_changes, "parameters of the device to change"),
      config::text("model", &E::model, "a model's shape, by name or path").required(),
      config::quantity("bytes_per_weight", &E::bytes_per_weight, config::Dimension::none,
                       "on flash and in memory, when not that of the model file")
          .range(0.1, 8),
      config::quantity("resident_bytes_per_weight", &E::resident_bytes_per_weight,
                       config::Dimension::none,
                       "of attention, embedding and head, when they are stored otherwise")
          .range(0.1, 8),
      config::text("system", &E::system, "a system, by name or path").required(),
      changes("system_changes", &E::system_changes, "parameters of the system to change"),
      config::choice("activations", &E::activations,
                     {{"trace", ActivationSource::trace}, {"live", ActivationSource::live}},
                     "recorded, or the model itself computes as it runs (--backend=hardware)"),
      config::text("trace", &E::trace,
                   "recorded activations; live runs need none but for a placement"),
      config::text("prompt", &E::prompt, "live: what is answered"),
      config::text("text", &E::text, "live: a file whose tokens are given; NLL of each"),
      config::flag("chat", &E::chat, "ask in the form of the model's chat template, if it has one"),
      config::section("sampling", &E::sampling, sampling_table(),
                      "live: how the tokens of an answer are chosen"),
      config::integer("audit_every", &E::audit_every,
                      "live: true importance of every N-th token, outside the time; 0: of none")
          .range(0, 1 << 24),
      config::text("forced_sets", &E::forced_sets,
                   "live: sets of 'evaluate --save-sets' as importance"),
      config::budget("memory_budget", &E::memory_budget, "memory for blocks of the MLPs")
          .required(),
      config::integer("block_neurons", &E::block_neurons, "neurons of a block (k)").range(1, 64),
      policy::parameter<policy::Placement>(&E::placement,
                                           "in which order a layer's neurons lie on flash"),
      config::choice("select", &E::select,
                     {{"blocks", Select::blocks}, {"neurons", Select::neurons}},
                     "choose whole blocks, or neurons and every block that holds one"),
      config::ratio("density", &E::density, "computed share of blocks or neurons").above(0),
      config::integer("prompt_tokens", &E::prompt_tokens,
                      "tokens of the trace or text that are the prompt; a 'prompt' has its own")
          .range(0, 1 << 24),
      config::integer("tokens", &E::tokens,
                      "tokens used, prompt included; by default all, of an answer 256")
          .range(1, 1 << 24),
      config::integer("seed", &E::seed, "of everything random").range(0, 9e15),
      config::choice(
          "fidelity", &E::fidelity,
          {{"segment", backend::Fidelity::segment}, {"request", backend::Fidelity::request}},
          "simulate reads as a whole, or every device request"),
      config::section("faults", &E::faults, faults_table(), "what goes wrong"),
      config::section("thermal", &E::thermal, thermal_table(),
                      "heat, on platforms that say how their units warm"),
      config::section("hardware", &E::hardware, hardware_table(),
                      "devices of --backend=hardware; nothing else looks at them"),
      config::quantity("stall_timeout", &E::stall_timeout_ns, config::Dimension::time,
                       "without any answer of a device for so long the run ends")
          .range(1e6, 3.6e12)};
  return table;
}

std::vector<CellSpec> expand(const config::Document& document,
                             const std::vector<std::string>& assignments,
                             Diagnostics& diagnostics) {
  std::vector<CellSpec> cells;
  if (!config::check_kind(document, "experiment", diagnostics)) return cells;
  const Node root = assign(document.root, assignments, diagnostics);
  const auto axes = read_axes(root["sweep"], diagnostics);
  std::size_t count = 1;
  for (const auto& axis : axes) {
    count *= axis.value.items().size();
    if (count > kMostCells) {
      diagnostics.error(root["sweep"].position(), "the sweep has more than {} cells", kMostCells);
      return cells;
    }
  }
  for (std::size_t i = 0; i < count && !diagnostics.full(); ++i) {
    CellSpec cell;
    Node node = root.without("sweep");
    std::size_t stride = count;
    for (const auto& axis : axes) {
      const auto& items = axis.value.items();
      stride /= items.size();
      const Node& item = items[i / stride % items.size()];
      node = node.with(axis.key, item, diagnostics);
      cell.swept.emplace_back(axis.key, item.is_scalar() ? item.text() : to_json(item).dump());
    }
    cell.experiment = experiment_table().read(node, diagnostics, {"kind"});
    name_image(cell.experiment.hardware.image, node, diagnostics);
    check_name(cell.experiment, node["name"], diagnostics);
    check_faults(cell.experiment.faults, node["faults"], diagnostics);
    check_activations(cell.experiment, node, diagnostics);
    cell.node = node;
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace leanstream::run
