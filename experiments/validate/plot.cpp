// Simulated over measured.
#include "experiments/report/plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "experiments/report/gnuplot.h"
#include "experiments/validate/summary.h"

namespace leanstream::validate {
namespace {

constexpr int kWidth = 760;
constexpr int kHeight = 560;

std::vector<std::string> systems_of(const Summary& summary) {
  std::vector<std::string> systems;
  for (const auto& name : summary.systems) {
    if (std::ranges::find(systems, name) == systems.end()) systems.push_back(name);
  }
  return systems;
}

struct Points {
  std::string blocks;  // gnuplot's data, one block a system
  double least = 0, most = 0;
};

Points points_of(const Summary& summary, const std::string& metric,
                 const std::vector<std::string>& systems) {
  Points points;
  for (std::size_t s = 0; s < systems.size(); ++s) {
    points.blocks += fmt::format("$s{} << EOD\n", s);
    for (const Comparison& c : summary.comparisons) {
      if (c.metric != metric || summary.systems[c.cell] != systems[s]) continue;
      if (!c.error || *c.measured <= 0 || *c.simulated <= 0) continue;
      const double half = *c.measured * c.half_range.value_or(0);
      points.blocks += fmt::format("{} {} {} {}\n", *c.measured, *c.simulated, *c.measured - half,
                                   *c.measured + half);
      for (const double value : {*c.measured, *c.simulated}) {
        points.least = points.least == 0 ? value : std::min(points.least, value);
        points.most = std::max(points.most, value);
      }
    }
    points.blocks += "EOD\n";
  }
  return points;
}

std::string band(double share, const char* colour) {
  return fmt::format(
      "'+' using 1:($1*{}):($1*{}) with filledcurves linecolor rgb '{}' "
      "title 'within {:.0f} %'",
      1 - share, 1 + share, colour, 100 * share);
}

// Labels that a range of less than a decade has as well.
std::string ticks(double least, double most) {
  std::string list;
  for (double decade = std::pow(10, std::floor(std::log10(least))); decade <= most; decade *= 10) {
    for (const double factor : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) {
      const double at = factor * decade;
      if (at < least || at > most) continue;
      list += fmt::format("{}'{:.12g}' {}", list.empty() ? "" : ", ", at, at);
    }
  }
  return fmt::format("set xtics ({0})\nset ytics ({0})\n", list);
}

}  // namespace

std::string plot(const Summary& summary, const std::string& metric, const std::string& title) {
  const auto systems = systems_of(summary);
  const Points points = points_of(summary, metric, systems);
  const double least = points.most > 0 ? points.least / 1.2 : 1;
  const double most = points.most > 0 ? points.most * 1.2 : 10;
  std::string script = report::preamble(kWidth, kHeight, "");
  script += fmt::format(
      "set key outside right top textcolor rgb '#3c424b'\nset logscale xy\n"
      "set xrange [{0}:{1}]\nset yrange [{0}:{1}]\nset samples 50\nset size ratio 1\n"
      "set xlabel {2}\nset ylabel {3}\n",
      least, most, report::in_quotes("measured: " + title),
      report::in_quotes("simulated: " + title));
  script += ticks(least, most) + points.blocks + "plot " + band(0.10, "#e9edf2") + ", " +
            band(0.05, "#cfd8e3") + ", x with lines linecolor rgb '#8a8f98' notitle";
  for (std::size_t s = 0; s < systems.size(); ++s) {
    script += fmt::format(
        ", $s{0} using 1:2:3:4 with xerrorbars pointtype {1} pointsize 0.7 linecolor rgb {2} "
        "title {3}",
        s, report::series_mark(s), report::in_quotes(report::series_colour(s)),
        report::in_quotes(systems[s]));
  }
  return report::render(script + "\n", metric, "simulated over measured " + title);
}

}  // namespace leanstream::validate
