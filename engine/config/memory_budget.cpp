#include "engine/config/memory_budget.h"

#include <cmath>

#include <fmt/format.h>

#include "engine/config/diagnostics.h"
#include "engine/config/units.h"

namespace leanstream::config {

Bytes MemoryBudget::resolve(double mlp_bytes, double model_bytes) const {
  const double whole = basis == Basis::bytes ? 1 : basis == Basis::mlp ? mlp_bytes : model_bytes;
  return static_cast<Bytes>(std::llround(value * whole));
}

std::string MemoryBudget::text() const {
  if (basis == Basis::bytes) return format_quantity(value, Dimension::bytes);
  return format_quantity(value, Dimension::ratio) + (basis == Basis::mlp ? " of mlp" : " of model");
}

std::optional<MemoryBudget> parse_memory_budget(std::string_view text, std::string& error) {
  const auto of = text.find(" of ");
  if (of == std::string_view::npos && text.ends_with('%')) {
    error = fmt::format("{}: a share is 'of mlp' or 'of model'", quote(text));
    return std::nullopt;
  }
  if (of == std::string_view::npos) {
    const auto bytes = parse_quantity(text, Dimension::bytes, error);
    if (!bytes) {
      error += "; or a share, like '25% of mlp' or '20% of model'";
      return std::nullopt;
    }
    if (*bytes < 1 || *bytes > 0x1p62) {
      error = fmt::format("{} is out of range: 1 B … 4 EiB", quote(text));
      return std::nullopt;
    }
    return MemoryBudget{*bytes, MemoryBudget::Basis::bytes};
  }
  const auto share = parse_quantity(text.substr(0, of), Dimension::ratio, error);
  if (!share) return std::nullopt;
  if (!(*share > 0 && *share <= 1)) {
    error = fmt::format("{} is out of range: above 0%, at most 100%", quote(text));
    return std::nullopt;
  }
  const std::string_view basis = text.substr(of + 4);
  if (basis == "mlp") return MemoryBudget{*share, MemoryBudget::Basis::mlp};
  if (basis == "model") return MemoryBudget{*share, MemoryBudget::Basis::model};
  error = fmt::format("{}: a share is 'of mlp' or 'of model'", quote(text));
  return std::nullopt;
}

}  // namespace leanstream::config
