// Energy per token by unit, processor time and temperatures; and the guesses that figures rest on.
#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "experiments/report/html.h"
#include "experiments/report/sections.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

struct Figure {
  const char* column;
  const char* title;
  std::string (*format)(std::optional<double>);
};
constexpr std::array energy_figures = {
    Figure{"energy_j_per_token", "energy, J", figure},
    Figure{"energy_j_accelerator", "accelerator, J", figure},
    Figure{"energy_j_cpu", "processor, J", figure},
    Figure{"energy_j_flash", "flash, J", figure},
    Figure{"energy_j_memory", "DRAM, J", figure},
    Figure{"energy_j_board", "board, J", figure},
    Figure{"cpu_busy_ratio", "cores busy", share},
    Figure{"gpu_temp_c_peak", "accelerator, °C", figure},
    Figure{"cpu_temp_c_peak", "processor, °C", figure},
    Figure{"flash_temp_c_peak", "flash, °C", figure},
    Figure{"throttled_ratio", "throttled", share},
};

bool is_of_power(const std::string& name) {
  return name.starts_with("energy.") || name.starts_with("thermal.");
}

// Names in the column `assumed` of any row.
std::set<std::string> assumed_names(const Results& results) {
  std::set<std::string> names;
  if (!results.table.column("assumed")) return names;
  for (std::size_t row = 0; row < results.table.rows.size(); ++row) {
    std::istringstream words(results.table.text(row, "assumed"));
    for (std::string name; words >> name;) names.insert(name);
  }
  return names;
}

bool has_throttled(const Results& results) {
  for (std::size_t row = 0; row < results.table.rows.size(); ++row) {
    if (results.table.number(row, "throttled_ratio").value_or(0) > 0) return true;
  }
  return false;
}

std::string guess_note(const char* what, const std::set<std::string>& names) {
  if (names.empty()) return "";
  return fmt::format(
      "<p class=\"note\">{} on <span class=\"source weak\">assumed</span> figures of the "
      "platform: {}.</p>\n",
      what, escape(fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

std::set<std::string> assumed_of_times(const Results& results) {
  auto names = assumed_names(results);
  // Heat decides times only where something was too hot, but then power does too.
  if (!has_throttled(results)) std::erase_if(names, is_of_power);
  return names;
}

std::string assumed_note(const Results& results) {
  return guess_note("Times rest", assumed_of_times(results));
}

std::string energy_section(const Results& results) {
  std::vector<Figure> known;
  std::copy_if(energy_figures.begin(), energy_figures.end(), std::back_inserter(known),
               [&](const Figure& f) { return results.knows(f.column); });
  if (known.empty()) return "";
  auto names = assumed_names(results);
  std::erase_if(names, [](const std::string& name) { return !is_of_power(name); });
  return section(
      "energy", "Energy and heat",
      "Joules per decoded token by unit; the share of all cores that predicts, reads or spins; the "
      "highest temperatures from the start of the prompt; the share of time in which a unit was "
      "too hot to run at its speed.",
      for_each_facet(results, [&](const Facet& facet, std::size_t) {
        std::vector<MetricColumn> columns;
        for (const Figure& f : known) {
          columns.push_back({f.title, f.format, [&results, f](const Cell& cell) {
                               return results.mean(cell, f.column);
                             }});
        }
        return to_html(metric_table(results, facet,
                                    fmt::format("Energy per token and heat ({})", results.origin()),
                                    columns));
      }) + guess_note("These figures rest, besides what times rest on,", names));
}

}  // namespace leanstream::report
