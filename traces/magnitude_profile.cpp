#include "traces/magnitude_profile.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/error.h"

namespace leanstream::traces {
namespace {

constexpr int kSteps = 2000;         // of an integral over the shares
constexpr double kSmallest = 1e-12;  // of an importance, so that its logarithm exists

double weibull_paper(double share) {
  return std::log(-std::log1p(-share));
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) {
    if (!cell.empty() && cell.back() == '\r') cell.pop_back();
    cells.push_back(cell);
  }
  return cells;
}

// "Mistral-7B" and "mistral-7b" are one, "Llama-2-7B" and "llama2-7b" too.
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) out += static_cast<char>(std::tolower(u));
  }
  return out;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The table of one file, while it is read.
struct Reader {
  std::string path;
  std::size_t model_column = 0, layer_column = 0;
  std::map<std::size_t, double> quantile_columns{};  // column → share
  std::vector<std::string> problems{};
  std::set<std::string> models{};

  void read_header(const std::vector<std::string>& names) {
    const auto find = [&](const char* name) {
      const auto at = std::find(names.begin(), names.end(), name);
      if (at == names.end()) problems.push_back(fmt::format("{}:1: no column '{}'", path, name));
      return static_cast<std::size_t>(at - names.begin());
    };
    model_column = find("model");
    layer_column = find("layer");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].starts_with("abs_q")) continue;
      const auto percent = number(names[i].substr(5));
      if (percent && *percent > 0 && *percent < 100) {
        quantile_columns[i] = *percent / 100;
      } else {
        problems.push_back(
            fmt::format("{}:1: column '{}' is no quantile abs_q01 … abs_q99", path, names[i]));
      }
    }
    if (quantile_columns.size() < 2) {
      problems.push_back(fmt::format("{}:1: fewer than 2 columns abs_qNN", path));
    }
  }

  void read_row(const std::vector<std::string>& cells, int line, const std::string& wanted,
                MeasuredMagnitudes& out) {
    const std::size_t last =
        std::max({model_column, layer_column, quantile_columns.rbegin()->first});
    if (cells.size() <= last) {
      problems.push_back(
          fmt::format("{}:{}: {} values; {} needed", path, line, cells.size(), last + 1));
      return;
    }
    models.insert(cells[model_column]);
    if (plain(cells[model_column]) != plain(wanted)) return;
    out.model = cells[model_column];
    if (number(cells[layer_column]) != static_cast<double>(out.layers.size())) {
      problems.push_back(fmt::format("{}:{}: layer '{}'; layer {} comes next", path, line,
                                     cells[layer_column], out.layers.size()));
    }
    auto& layer = out.layers.emplace_back();
    for (const auto& [column, share] : quantile_columns) {
      const auto value = number(cells[column]);
      const double before = layer.empty() ? 0 : layer.back();
      if (!value || !std::isfinite(*value) || *value <= 0 || *value < before) {
        problems.push_back(fmt::format("{}:{}: '{}' at share {}; quantiles are > 0 and do not fall",
                                       path, line, cells[column], share));
      }
      layer.push_back(value.value_or(before));
    }
  }
};

}  // namespace

MagnitudeProfile::MagnitudeProfile(std::span<const double> shares,
                                   std::span<const double> importances) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double at = weibull_paper(shares[i]);
    if (!at_.empty() && at <= at_.back()) continue;
    at_.push_back(at);
    log_.push_back(std::log(std::max(importances[i], kSmallest)));
  }
}

double MagnitudeProfile::log_importance(double share) const {
  const double at = weibull_paper(share);
  const auto above = std::upper_bound(at_.begin() + 1, at_.end() - 1, at);
  const auto i = static_cast<std::size_t>(above - at_.begin()) - 1;
  return log_[i] + (at - at_[i]) / (at_[i + 1] - at_[i]) * (log_[i + 1] - log_[i]);
}

double MagnitudeProfile::top_share(double density, double power) const {
  // Over a = −ln(1 − share), whose density is e^(−a): the tail gets as many steps as the middle.
  constexpr double kMost = 20;
  const double from = -std::log(density);
  double all = 0, top = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double a = (i + 0.5) * kMost / kSteps;
    const double value = std::exp(power * log_importance(-std::expm1(-a)) - a);
    all += value;
    if (a >= from) top += value;
  }
  return top / all;
}

MeasuredMagnitudes read_magnitudes(const std::string& path, const std::string& model) {
  std::ifstream in(path);
  if (!in) throw UserError("{}: cannot be read", path);
  Reader reader{.path = path};
  MeasuredMagnitudes out;
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (line == 1) {
      reader.read_header(split(text));
      if (!reader.problems.empty()) break;
      for (const auto& [column, share] : reader.quantile_columns) out.shares.push_back(share);
    } else if (!text.empty()) {
      reader.read_row(split(text), line, model, out);
    }
  }
  if (reader.problems.empty() && out.layers.empty()) {
    reader.problems.push_back(fmt::format("{}: no rows of model '{}'; there are: {}", path, model,
                                          fmt::join(reader.models, ", ")));
  }
  if (!reader.problems.empty()) throw UserError("{}", fmt::join(reader.problems, "\n"));
  return out;
}

ActivationFit with_magnitudes(const ActivationFit& fit, const MeasuredMagnitudes& magnitudes) {
  ActivationFit source;
  for (const auto& layer : magnitudes.layers) {
    source.layers.emplace_back().magnitude = layer;
  }
  source = with_layers(source, static_cast<LayerId>(fit.layers.size()));
  ActivationFit out = fit;
  out.magnitude_shares = magnitudes.shares;
  for (std::size_t l = 0; l < out.layers.size(); ++l) {
    out.layers[l].magnitude = source.layers[l].magnitude;
  }
  return out;
}

}  // namespace leanstream::traces
