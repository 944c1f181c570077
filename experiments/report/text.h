// Figures and words as a reader wants them: rounded, with units, escaped for HTML.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leanstream::report {

// Text that is safe between tags and inside a double-quoted attribute.
std::string escape(std::string_view text);

// About three significant digits, without exponent: 0.0123, 1.23, 12.3, 1,234; "–" for nothing.
std::string figure(std::optional<double> value);
// A share or ratio with three decimals; "–" for nothing.
std::string share(std::optional<double> value);
// Decimal units, as storage is sold: "0 B", "64 MB", "1.5 GB".
std::string bytes(std::optional<double> value);

}  // namespace leanstream::report
