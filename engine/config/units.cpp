#include "engine/config/units.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/nearest.h"
#include "engine/config/diagnostics.h"

namespace leanstream::config {
namespace {

struct Measure {
  std::string_view noun;
  std::string_view example;
  std::vector<Unit> units;
};

std::vector<Unit> byte_units(const std::string& per) {
  return {{"B" + per, 1},        {"KB" + per, 1e3},     {"MB" + per, 1e6},
          {"GB" + per, 1e9},     {"TB" + per, 1e12},    {"KiB" + per, 0x1p10},
          {"MiB" + per, 0x1p20}, {"GiB" + per, 0x1p30}, {"TiB" + per, 0x1p40},
          {"kB" + per, 1e3}};
}

// In the order of Dimension.
const std::vector<Measure>& measures() {
  static const std::vector<Measure> all{
      {"a number", "1.5", {{"", 1}}},
      {"a time",
       "92 us",
       {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}}},
      {"a size", "48 KiB", byte_units("")},
      {"a bandwidth", "2.5 GB/s", byte_units("/s")},
      {"a rate",
       "47 kIOPS",
       {{"/s", 1}, {"IOPS", 1}, {"kIOPS", 1e3}, {"MIOPS", 1e6}, {"k/s", 1e3}, {"M/s", 1e6}}},
      {"a compute rate",
       "2.9 TFLOPS",
       {{"FLOPS", 1}, {"MFLOPS", 1e6}, {"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15}}},
      {"a ratio", "25% or 0.25", {{"", 1}, {"%", 1e-2}}},
      {"a power", "15 W", {{"W", 1}, {"mW", 1e-3}, {"kW", 1e3}}},
      {"an energy", "3.9 J", {{"J", 1}, {"kJ", 1e3}, {"mJ", 1e-3}, {"uJ", 1e-6}, {"nJ", 1e-9}}},
      {"an energy for each byte", "60 pJ/B", {{"J/B", 1}, {"nJ/B", 1e-9}, {"pJ/B", 1e-12}}},
      {"an energy for each operation",
       "2 pJ/FLOP",
       {{"J/FLOP", 1}, {"nJ/FLOP", 1e-9}, {"pJ/FLOP", 1e-12}}},
      {"a frequency", "713 MHz", {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}},
      {"a temperature", "76 C", {{"C", 1}}},
      {"a thermal resistance", "1.2 K/W", {{"K/W", 1}}},
      {"a heat capacity", "40 J/K", {{"J/K", 1}}}};
  return all;
}

const Measure& measure(Dimension dimension) {
  const auto index = static_cast<std::size_t>(dimension);
  LEANSTREAM_CHECK(index < measures().size(), "dimension {} has no units", index);
  return measures()[index];
}

// Division by a power of ten rounds once, where multiplication by its inverse would round twice:
// 7% is exactly what 0.07 is.
double scaled(double number, double scale) {
  return scale < 1 ? number / std::round(1 / scale) : number * scale;
}

// A unit that differs in capitals only, else the nearest: "gb/s" means GB/s, not MB/s.
std::string unit_suggestion(std::string_view unit, Dimension dimension) {
  const auto lower = [](std::string_view word) {
    std::string result(word);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  };
  std::vector<std::string> names;
  for (const auto& u : units(dimension)) {
    if (!u.name.empty() && lower(u.name) == lower(unit)) {
      return fmt::format("; did you mean '{}'?", u.name);
    }
    names.push_back(u.name);
  }
  return unit.size() > 1 ? suggestion(unit, names) : "";
}

std::string unit_error(std::string_view text, std::string_view unit, Dimension dimension) {
  if (dimension == Dimension::none) return fmt::format("{} is not a number", quote(text));
  if (unit.empty()) {
    return fmt::format("{} has no unit; {} needs one of {}", quote(text), noun(dimension),
                       unit_names(dimension));
  }
  return fmt::format("{} is not the unit of {}; valid: {}{}", quote(unit), noun(dimension),
                     unit_names(dimension), unit_suggestion(unit, dimension));
}

}  // namespace

std::string_view noun(Dimension dimension) {
  return measure(dimension).noun;
}

const std::vector<Unit>& units(Dimension dimension) {
  return measure(dimension).units;
}

std::string unit_names(Dimension dimension) {
  std::vector<std::string> names;
  for (const auto& unit : units(dimension)) {
    if (!unit.name.empty()) names.push_back(unit.name);
  }
  return join(names);
}

std::optional<double> parse_quantity(std::string_view text, Dimension dimension,
                                     std::string& error) {
  const char* end = text.data() + text.size();
  double number = 0;
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status == std::errc::result_out_of_range) {
    error = fmt::format("{} is too large or too small for a number", quote(text));
    return std::nullopt;
  }
  if (status != std::errc{} || !std::isfinite(number)) {
    error = fmt::format("{} is not {}; write it like {}", quote(text), noun(dimension),
                        measure(dimension).example);
    return std::nullopt;
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit == "µs") unit = "us";
  if (unit.empty() && number == 0) return 0.0;
  for (const auto& candidate : units(dimension)) {
    if (candidate.name != unit) continue;
    const double value = scaled(number, candidate.scale);
    if (std::isfinite(value)) return value;
    error = fmt::format("{} is too large", quote(text));
    return std::nullopt;
  }
  error = unit_error(text, unit, dimension);
  return std::nullopt;
}

std::string format_quantity(double value, Dimension dimension) {
  std::string ignored;
  // 15 digits if they are enough: 0.07 ÷ 0.01 is 7.000000000000001 to all 16.
  const auto spell = [&](const Unit& unit) {
    const double number = unit.scale < 1 ? value * std::round(1 / unit.scale) : value / unit.scale;
    const std::string tail = unit.name.empty() || unit.name == "%" ? unit.name : " " + unit.name;
    const std::string brief = fmt::format("{:.15g}{}", number, tail);
    return parse_quantity(brief, dimension, ignored) == value ? brief
                                                              : fmt::format("{}{}", number, tail);
  };
  const auto is_synonym = [&](const Unit& unit) {
    const auto first = std::find_if(units(dimension).begin(), units(dimension).end(),
                                    [&](const Unit& u) { return u.scale == unit.scale; });
    return first->name != unit.name;
  };
  const auto reads_back = [&](const std::string& text) {
    return parse_quantity(text, dimension, ignored) == value;
  };
  if (dimension == Dimension::ratio) {
    std::string percent = spell({"%", 1e-2});
    if (reads_back(percent)) return percent;
  }
  const auto& candidates = units(dimension);
  std::string best;
  for (const auto& unit : candidates) {
    const double size = std::abs(value / unit.scale);
    if (size < 1 || size >= 1000 || is_synonym(unit)) continue;
    const std::string text = spell(unit);
    if (reads_back(text) && (best.empty() || text.size() < best.size())) best = text;
  }
  return best.empty() ? spell(candidates.front()) : best;
}

}  // namespace leanstream::config
