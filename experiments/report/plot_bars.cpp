// Horizontal stacked bars with the total behind each.
#include <algorithm>

#include <fmt/format.h>

#include "experiments/report/gnuplot.h"
#include "experiments/report/plot.h"

namespace leanstream::report {
namespace {

constexpr double bar_pitch = 27;  // pixels from bar to bar
constexpr double above = 24;
constexpr double below = 56;

double total(const Bar& bar) {
  double sum = 0;
  for (const auto& part : bar.parts) sum += part.value_or(0);
  return sum;
}

std::string margins(const BarPlot& plot, double height) {
  std::size_t name = 0;
  std::size_t end = 0;
  for (const Bar& bar : plot.bars) {
    name = std::max(name, bar.label.size());
    end = std::max(end, bar.end_label.size());
  }
  return fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
      "set bmargin at screen {:.5f}\nset tmargin at screen {:.5f}\n",
      (14 + 7.6 * static_cast<double>(name)) / plot.width,
      1 - (14 + 7.0 * static_cast<double>(end)) / plot.width, below / height, 1 - above / height);
}

// One data block for each part: x of the middle, y, left, right, bottom, top of the rectangle.
std::string part_blocks(const BarPlot& plot) {
  std::string script;
  std::string plots;
  for (std::size_t part = 0; part < plot.colours.size(); ++part) {
    std::string rows;
    for (std::size_t i = 0; i < plot.bars.size(); ++i) {
      const Bar& bar = plot.bars[i];
      if (part >= bar.parts.size() || !(bar.parts[part].value_or(0) > 0)) continue;
      double left = 0;
      for (std::size_t before = 0; before < part; ++before) left += bar.parts[before].value_or(0);
      const double right = left + *bar.parts[part];
      const double y = -static_cast<double>(i);
      rows += fmt::format("{} {} {} {} {} {}\n", (left + right) / 2, y, left, right, y - 0.34,
                          y + 0.34);
    }
    if (rows.empty()) continue;
    script += fmt::format("$p{} << EOD\n{}EOD\n", part, rows);
    plots += fmt::format("{}$p{} using 1:2:3:4:5:6 with boxxyerror fillcolor rgb {}",
                         plots.empty() ? "plot " : ", ", part, in_quotes(plot.colours[part]));
  }
  if (plots.empty()) return "plot NaN\n";
  return script + "set style fill solid 1.0 noborder\n" + plots + "\n";
}

}  // namespace

std::string draw(const BarPlot& plot, std::string_view id, std::string_view alt) {
  double most = 0;
  for (const Bar& bar : plot.bars) most = std::max(most, total(bar));
  const Axis axis = axis_for(plot.x_most.value_or(most));
  const double height = above + below + bar_pitch * static_cast<double>(plot.bars.size());
  std::string script = preamble(plot.width, static_cast<int>(height), plot.corner);
  script += margins(plot, height);
  script += fmt::format(
      "set xrange [0:{}]\nset xtics 0,{}\nset grid xtics linecolor rgb '#e3e6ea' linetype 1\n"
      "set yrange [{}:0.5]\nset xlabel {} textcolor rgb '#3c424b' offset 0,0.3\n",
      axis.end, axis.step, 0.5 - static_cast<double>(plot.bars.size()), in_quotes(plot.x_label));
  script += "set ytics scale 0 (";
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    script += fmt::format("{}{} -{}", i == 0 ? "" : ", ", in_quotes(plot.bars[i].label), i);
  }
  script += ")\n";
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    script += fmt::format(
        "set label {} at first {}, first -{} left offset 0.6,0 textcolor rgb '#3c424b'\n",
        in_quotes(plot.bars[i].end_label), total(plot.bars[i]), i);
  }
  return render(script + part_blocks(plot), id, alt);
}

}  // namespace leanstream::report
