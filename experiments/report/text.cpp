#include "experiments/report/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace leanstream::report {
namespace {

constexpr std::string_view unknown = "–";

std::string group_thousands(std::string digits) {
  const std::size_t sign = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string trim_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string figure(std::optional<double> value) {
  if (!value) return std::string(unknown);
  const double size = std::abs(*value);
  if (size == 0) return "0";
  if (size >= 999.5) return group_thousands(fmt::format("{:.0f}", *value));
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
  return fmt::format("{:.{}f}", *value, decimals);
}

std::string share(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : std::string(unknown);
}

std::string bytes(std::optional<double> value) {
  if (!value) return std::string(unknown);
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB"};
  double amount = *value;
  std::size_t unit = 0;
  while (std::abs(amount) >= 999.5 && unit + 1 < units.size()) {
    amount /= 1000;
    ++unit;
  }
  return trim_zeros(figure(amount)) + " " + units[unit];
}

}  // namespace leanstream::report
