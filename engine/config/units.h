// Physical quantities as users write them: "2.5 GB/s", "48 KiB", "92 us", "47 kIOPS", "25%".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leanstream::config {

// What a quantity measures, and the base unit in which it is stored.
enum class Dimension {
  none,                // a bare number
  time,                // ns
  bytes,               // B; GB = 10^9, GiB = 2^30
  bandwidth,           // B/s
  rate,                // 1/s
  compute,             // FLOPS: a multiply and an add count as two
  ratio,               // 1; a bare number or a percentage
  power,               // W
  energy,              // J
  energy_per_byte,     // J/B
  energy_per_flop,     // J/FLOP
  frequency,           // Hz
  temperature,         // degrees Celsius
  thermal_resistance,  // K/W
  heat_capacity,       // J/K
};

struct Unit {
  std::string name;
  double scale;  // base units in one of it
};

// "a time", "a bandwidth", …
std::string_view noun(Dimension dimension);
// The units that users may write, the base unit first.
const std::vector<Unit>& units(Dimension dimension);
// "ns, us, ms, s, min, h"
std::string unit_names(Dimension dimension);

// The value in base units. Without one, `error` says what is wrong and what would be right: no
// number, no unit, a unit of another dimension, NaN, infinite, too large. 0 needs no unit.
std::optional<double> parse_quantity(std::string_view text, Dimension dimension,
                                     std::string& error);

// The shortest text with a number in [1, 1000) that parse_quantity reads back as exactly this
// value; ratios as percentages.
std::string format_quantity(double value, Dimension dimension);

}  // namespace leanstream::config
