// Plots as SVG text, drawn by gnuplot. Sizes are in pixels of the SVG; the page scales it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leanstream::report {

// The same system has the same colour and mark in every plot.
std::string series_colour(std::size_t index);
int series_mark(std::size_t index);

struct Series {
  std::string label;
  std::string colour;
  int mark = 7;  // gnuplot's point type
  int dash = 1;  // gnuplot's dash type
  double thickness = 2;
  std::vector<std::pair<double, double>> points;
};

struct Tick {
  double at = 0;
  std::string label;
};

// Where the name of each line stands: in the right margin, beside its last point, or nowhere (the
// page has a legend).
enum class LineNames { in_margin, beside_last_point, none };

struct LinePlot {
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  std::vector<Tick> x_ticks;        // empty: chosen
  bool x_from_zero = true;          // otherwise the range of the points
  std::optional<double> y_most;     // the top of the axis; otherwise from the points
  bool may_be_logarithmic = false;  // when the points span more than a factor of 20, and says so
  std::string corner;               // small grey text: where the figures come from
  int width = 760;
  int height = 400;
  LineNames names = LineNames::in_margin;
};

struct Bar {
  std::string label;
  std::vector<std::optional<double>> parts;  // one for each BarPlot::colours, stacked
  std::string end_label;                     // printed behind the bar
};

// Horizontal bars, the first on top.
struct BarPlot {
  std::string x_label;
  std::vector<std::string> colours;
  std::vector<Bar> bars;
  std::optional<double> x_most;
  std::string corner;
  int width = 760;
};

// Each returns one <svg> element that has `alt` as its accessible name and ids that begin with
// `id`. Throws UserError when gnuplot is missing, fails or takes longer than 20 s.
std::string draw(const LinePlot& plot, std::string_view id, std::string_view alt);
std::string draw(const BarPlot& plot, std::string_view id, std::string_view alt);

// The end of an axis from 0 that holds `most`, and the step of its ticks: 1, 2, 2.5 or 5 × 10ⁿ.
struct Axis {
  double end = 1;
  double step = 0.2;
};
Axis axis_for(double most);

}  // namespace leanstream::report
