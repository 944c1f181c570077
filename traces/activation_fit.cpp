#include "traces/activation_fit.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/config/find_file.h"
#include "traces/format.h"

namespace leanstream::traces {
namespace {

using config::Json;

constexpr double kRounding = 1e-3;  // of shares that have four digits

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

const config::Table<FitLayer>& layer_table() {
  using F = FitLayer;
  static const config::Table<F> t{
      config::list("hot", &F::hot, "65 quantiles of the neurons' scores").range(-9, 9).required(),
      config::ratio("token", &F::token, "share that the token decides").required(),
      config::list("lasting", &F::lasting, "shares that fade").range(0, 1).required(),
      config::number("position", &F::position, "variance that the first token has more")
          .range(0, 100)
          .required(),
      config::number("factors", &F::factors, "effective number of factors")
          .range(1, 1e6)
          .required(),
      config::list("magnitude", &F::magnitude, "importance at magnitude_shares")
          .range(0, 1e30)
          .required(),
      config::list("recall", &F::recall, "from features -2, -1, 0 … 8; may be missing")
          .range(0, 1)};
  return t;
}

const config::Table<ActivationFit>& fit_table() {
  using A = ActivationFit;
  static const config::Table<A> t{
      config::text("model", &A::model, "whose trace was measured").required(),
      config::text("source", &A::source, "the text").required(),
      config::integer("tokens", &A::tokens, "of the trace").at_least(1).required(),
      config::ratio("density", &A::density, "of the active sets").range(0.001, 0.999).required(),
      config::ratio("layer_carry", &A::layer_carry, "correlation of factors between layers")
          .range(0, 0.9999)
          .required(),
      config::list("token_shares", &A::token_shares, "of the text").range(0, 1).required(),
      config::list("lasting_tokens", &A::lasting_tokens, "in which `lasting` fade")
          .above(0)
          .required(),
      config::list("magnitude_shares", &A::magnitude_shares, "of the neurons")
          .range(1e-9, 1 - 1e-9)
          .required(),
      config::ratio("persistence", &A::persistence, "of the trace").required(),
      config::ratio("hot_share", &A::hot_share, "of the trace").required(),
      config::ratio("importance_share", &A::importance_share, "of the trace").required(),
      config::list("reuse_tokens", &A::reuse_tokens, "of the trace").at_least(1).required()};
  return t;
}

struct Version {
  int version = 0;
};

const config::Table<Version>& version_table() {
  static const config::Table<Version> t{
      config::integer("version", &Version::version, "of the file's format")
          .range(kFitVersion, kFitVersion)
          .required()};
  return t;
}

void check_length(const config::Node& node, std::string_view name, std::size_t got,
                  std::size_t wanted, config::Diagnostics& diagnostics) {
  if (got == wanted) return;
  diagnostics.error(node[name].position(), "'{}' has {} values; it needs {}", name, got, wanted);
}

void check_rising(const config::Node& node, std::string_view name,
                  const std::vector<double>& values, config::Diagnostics& diagnostics) {
  const auto fall = std::is_sorted_until(values.begin(), values.end());
  if (fall == values.end()) return;
  diagnostics.error(node[name].position(), "'{}': {} comes after {}; values must not decrease",
                    name, *fall, *(fall - 1));
}

void check_layer(const config::Node& node, const FitLayer& layer, const ActivationFit& fit,
                 config::Diagnostics& diagnostics) {
  check_length(node, "hot", layer.hot.size(), kHotQuantiles, diagnostics);
  check_length(node, "lasting", layer.lasting.size(), fit.lasting_tokens.size(), diagnostics);
  check_length(node, "magnitude", layer.magnitude.size(), fit.magnitude_shares.size(), diagnostics);
  if (!layer.recall.empty()) {
    check_length(node, "recall", layer.recall.size(), kFeatures, diagnostics);
  }
  check_rising(node, "hot", layer.hot, diagnostics);
  check_rising(node, "magnitude", layer.magnitude, diagnostics);
  if (!layer.magnitude.empty() && layer.magnitude.front() <= 0) {
    diagnostics.error(node["magnitude"].position(), "'magnitude' begins with {}; it must be > 0",
                      layer.magnitude.front());
  }
  if (const double all = layer.token + sum(layer.lasting); all > 1 + kRounding) {
    diagnostics.error(node.position(), "'token' and 'lasting' sum to {:.4f}; at most 1", all);
  }
}

double four_digits(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

void round_numbers(Json& json) {
  if (json.is_number_float()) {
    json = four_digits(json.get<double>());
  } else if (json.is_structured()) {
    for (auto& item : json) round_numbers(item);
  }
}

std::vector<double> between(const std::vector<double>& a, const std::vector<double>& b,
                            double part) {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    out.push_back(a[i] + part * (b[i] - a[i]));
  }
  return out;
}

FitLayer between(const FitLayer& a, const FitLayer& b, double part) {
  const auto number = [&](double x, double y) { return x + part * (y - x); };
  return {.hot = between(a.hot, b.hot, part),
          .token = number(a.token, b.token),
          .lasting = between(a.lasting, b.lasting, part),
          .position = number(a.position, b.position),
          .factors = number(a.factors, b.factors),
          .magnitude = between(a.magnitude, b.magnitude, part),
          .recall = between(a.recall, b.recall, part)};
}

}  // namespace

double FitLayer::fresh() const {
  return std::max(0.0, 1 - token - sum(lasting));
}

ActivationFit read_fit(const config::Document& document, config::Diagnostics& diagnostics) {
  ActivationFit fit;
  if (!config::check_kind(document, "fit", diagnostics)) return fit;
  const config::Node& root = document.root;
  const std::vector<std::string> header = {"kind", "version", "made_by"};
  version_table().read(root.only({"version"}), diagnostics);
  std::vector<std::string> others = header;
  others.emplace_back("layers");
  fit = fit_table().read(root, diagnostics, others);
  fit.name = config::name_of(document.path);
  check_rising(root, "magnitude_shares", fit.magnitude_shares, diagnostics);
  if (fit.magnitude_shares.size() < 2) {
    diagnostics.error(root.position(), "'magnitude_shares' needs at least 2 values");
  }
  if (sum(fit.token_shares) > 1 + kRounding) {
    diagnostics.error(root["token_shares"].position(), "'token_shares' sum to {:.4f}; at most 1",
                      sum(fit.token_shares));
  }
  const config::Node layers = root["layers"];
  if (!layers.is_sequence() || layers.items().empty()) {
    diagnostics.error(layers ? layers.position() : root.position(),
                      "'layers' must be a list of at least one layer");
    return fit;
  }
  for (const config::Node& node : layers.items()) {
    const std::size_t before = diagnostics.count();
    FitLayer layer = layer_table().read(node, diagnostics);
    if (diagnostics.count() == before) check_layer(node, layer, fit, diagnostics);
    fit.layers.push_back(std::move(layer));
  }
  return fit;
}

ActivationFit load_fit(const std::string& name_or_path) {
  config::Diagnostics diagnostics;
  const auto path = config::find_file(config::FileKind::fit, name_or_path);
  ActivationFit fit = read_fit(config::load_document(path, diagnostics), diagnostics);
  diagnostics.throw_if_any();
  return fit;
}

std::string fit_text(const ActivationFit& fit, const std::string& command) {
  std::string text = fmt::format("kind: fit\nversion: {}\n", kFitVersion);
  text += fmt::format("made_by: {}\n", Json(command).dump());
  Json header = fit_table().write(fit);
  round_numbers(header);
  for (const auto& [name, value] : header.items()) {
    text += fmt::format("{}: {}\n", name, value.dump());
  }
  text += "layers:\n";
  for (const FitLayer& layer : fit.layers) {
    Json json = layer_table().write(layer);
    round_numbers(json);
    if (layer.recall.empty()) json.erase("recall");
    text += fmt::format("- {}\n", json.dump());
  }
  return text;
}

ActivationFit with_layers(const ActivationFit& fit, LayerId layers) {
  ActivationFit out = fit;
  out.layers.clear();
  const std::size_t last = fit.layers.size() - 1;
  for (LayerId l = 0; l < layers; ++l) {
    const double at = layers == 1 ? 0.5 * static_cast<double>(last)
                                  : static_cast<double>(last) * l / (layers - 1);
    const auto low = std::min(static_cast<std::size_t>(at), last);
    out.layers.push_back(between(fit.layers[low], fit.layers[std::min(low + 1, last)],
                                 at - static_cast<double>(low)));
  }
  return out;
}

}  // namespace leanstream::traces
