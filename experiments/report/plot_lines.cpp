// Lines with marks and their names.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "experiments/report/gnuplot.h"
#include "experiments/report/plot.h"

namespace leanstream::report {
namespace {

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

// The plot area in pixels from the left and bottom of the picture.
struct Area {
  double left = 0;
  double right = 0;
  double bottom = 0;
  double top = 0;
};

Area area_of(const LinePlot& plot) {
  std::size_t longest = 0;
  for (const Series& series : plot.series) longest = std::max(longest, series.label.size());
  const double margin =
      plot.names != LineNames::none ? 20 + 7.6 * static_cast<double>(longest) : 36;
  return {70, plot.width - margin, 56, plot.height - 26.0};
}

// Heights of the line labels in pixels, moved apart where they would overlap.
std::vector<double> spread(std::vector<double> wanted, double bottom, double top) {
  constexpr double gap = 16;
  std::vector<std::size_t> order(wanted.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
  double floor = bottom;
  for (const std::size_t i : order) {
    wanted[i] = std::max(wanted[i], floor);
    floor = wanted[i] + gap;
  }
  double ceiling = top;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    wanted[*i] = std::min(wanted[*i], ceiling);
    ceiling = wanted[*i] - gap;
  }
  return wanted;
}

std::string x_axis(const LinePlot& plot, Range& x) {
  std::string script;
  if (plot.x_from_zero) {
    const Axis axis = axis_for(x.most);
    x = {0, plot.x_ticks.empty() ? axis.end : x.most * 1.02};
  } else {
    const double room = std::max((x.most - x.least) * 0.08, 1e-3);
    x = {x.least - room, x.most + room};
  }
  script += fmt::format("set xrange [{}:{}]\n", x.least, x.most);
  if (plot.x_ticks.empty()) return script;
  script += "set xtics (";
  double last = -std::numeric_limits<double>::infinity();
  const double per_letter = 8.0 / (plot.width - 100) * (x.most - x.least);
  for (const Tick& tick : plot.x_ticks) {
    const auto letters = static_cast<double>(tick.label.size() + 2);
    const bool fits = tick.at - last >= letters * per_letter;
    script += fmt::format("{}{} {}", script.ends_with('(') ? "" : ", ",
                          in_quotes(fits ? tick.label : ""), tick.at);
    if (fits) last = tick.at;
  }
  return script + ")\n";
}

// The y axis: from 0, or logarithmic over whole decades' 1, 2 and 5.
struct YAxis {
  double begin = 0;
  double end = 1;
  bool logarithmic = false;
  std::string script;

  double share(double y) const {
    if (!logarithmic) return (y - begin) / (end - begin);
    return std::log(y / begin) / std::log(end / begin);
  }
};

YAxis logarithmic_axis(const Range& y) {
  YAxis axis{0, 0, true, "set logscale y\nset ytics ("};
  for (double decade = std::pow(10, std::floor(std::log10(y.least))); axis.end < y.most;
       decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * decade;
      if (axis.end >= y.most) break;
      if (at <= y.least) axis.begin = at;
      axis.end = at;
      axis.script += fmt::format("{}'{:.12g}' {}", axis.script.ends_with('(') ? "" : ", ", at, at);
    }
  }
  axis.script += fmt::format(")\nset yrange [{}:{}]\n", axis.begin, axis.end);
  return axis;
}

YAxis y_axis(const LinePlot& plot, const Range& y) {
  constexpr double crowded = 20;
  if (plot.may_be_logarithmic && y.least > 0 && y.most / y.least > crowded) {
    return logarithmic_axis(y);
  }
  const Axis axis = axis_for(plot.y_most.value_or(y.most));
  return {0, axis.end, false,
          fmt::format("set yrange [0:{}]\nset ytics 0,{}\n", axis.end, axis.step)};
}

std::string line_names(const LinePlot& plot, const Area& area, const Range& x, const YAxis& y) {
  std::vector<double> wanted;
  for (const Series& series : plot.series) {
    const double share = series.points.empty() ? 0 : y.share(series.points.back().second);
    wanted.push_back(area.bottom + share * (area.top - area.bottom));
  }
  const std::vector<double> height = spread(wanted, area.bottom, area.top);
  const double per_unit = (area.right - area.left) / (x.most - x.least);
  std::string script;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].points.empty()) continue;
    const double at = plot.names == LineNames::in_margin
                          ? area.right
                          : area.left + (plot.series[i].points.back().first - x.least) * per_unit;
    script += fmt::format("set label {} at screen {:.5f}, screen {:.5f} left textcolor rgb {}\n",
                          in_quotes(plot.series[i].label), (at + 9) / plot.width,
                          height[i] / plot.height, in_quotes(plot.series[i].colour));
  }
  return script;
}

std::string data_blocks(const LinePlot& plot) {
  std::string script;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    script += fmt::format("$s{} << EOD\n", i);
    for (const auto& [x, y] : plot.series[i].points) script += fmt::format("{} {}\n", x, y);
    script += "EOD\n";
  }
  script += "plot ";
  bool first = true;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    if (series.points.empty()) continue;
    script += fmt::format(
        "{}$s{} using 1:2 with linespoints linewidth {} pointsize 0.75 pointtype {} dashtype {} "
        "linecolor rgb {}",
        first ? "" : ", ", i, series.thickness, series.mark, series.dash, in_quotes(series.colour));
    first = false;
  }
  return first ? script + "NaN notitle\n" : script + "\n";
}

}  // namespace

std::string draw(const LinePlot& plot, std::string_view id, std::string_view alt) {
  Range x;
  Range y;
  for (const Series& series : plot.series) {
    for (const auto& [px, py] : series.points) {
      x.add(px);
      y.add(py);
    }
  }
  if (x.least > x.most) x = {0, 1};
  const Area area = area_of(plot);
  const YAxis axis = y_axis(plot, y);
  std::string script = preamble(plot.width, plot.height, plot.corner);
  script += fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
      "set bmargin at screen {:.5f}\nset tmargin at screen {:.5f}\n",
      area.left / plot.width, area.right / plot.width, area.bottom / plot.height,
      area.top / plot.height);
  script += x_axis(plot, x);
  script += fmt::format(
      "{}set grid ytics linecolor rgb '#e3e6ea' linetype 1\n"
      "set xlabel {} textcolor rgb '#3c424b' offset 0,0.3\n"
      "set ylabel {} textcolor rgb '#3c424b' offset {},0\n",
      axis.script, in_quotes(plot.x_label),
      in_quotes(plot.y_label + (axis.logarithmic ? " (logarithmic)" : "")),
      axis.logarithmic ? -0.6 : 0.6);
  if (plot.names != LineNames::none) script += line_names(plot, area, x, axis);
  return render(script + data_blocks(plot), id, alt);
}

}  // namespace leanstream::report
