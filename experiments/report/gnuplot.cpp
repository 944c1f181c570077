#include "experiments/report/gnuplot.h"

#include <array>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "experiments/report/plot.h"
#include "experiments/report/process.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

constexpr std::chrono::seconds time_limit{20};

// Distinct also for colour-blind readers, dark enough on white; marks differ as well.
constexpr std::array palette = {"#0063a8", "#d1490c", "#00825f", "#a3458a", "#b07d00",
                                "#3d9fd8", "#1c2128", "#8a5a2b", "#6a7d00", "#5b4bb0"};
constexpr std::array marks = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string series_colour(std::size_t index) {
  return palette[index % palette.size()];
}

int series_mark(std::size_t index) {
  return marks[index % marks.size()];
}

Axis axis_for(double most) {
  if (!(most > 0)) return {};
  const double raw = most / 5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  return {step * std::ceil(most / step * (1 - 1e-9)), step};
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string preamble(int width, int height, std::string_view corner) {
  std::string script = fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} dynamic noenhanced font 'sans-serif,13' linewidth 1\n"
      "set border 1 linecolor rgb '#8a8f98'\n"
      "set tics nomirror scale 0.4 textcolor rgb '#3c424b'\n"
      "set key off\n",
      width, height);
  if (!corner.empty()) {
    script += fmt::format(
        "set label 1000 {} at screen 0.995, screen {:.4f} right font 'sans-serif,11' "
        "textcolor rgb '#6b7280'\n",
        in_quotes(corner), 1 - 11.0 / height);
  }
  return script;
}

std::string render(const std::string& script, std::string_view id, std::string_view alt) {
  const ProcessResult result = run_process({"gnuplot", "-d", "-"}, script, time_limit);
  if (result.end == ProcessResult::End::not_found || result.status == 127) {
    throw UserError("the report needs gnuplot, which was not found: packages/install.sh build");
  }
  if (result.end == ProcessResult::End::timed_out) {
    throw UserError("gnuplot did not finish a plot within {} s", time_limit.count());
  }
  const std::size_t begin = result.out.find("<svg");
  if (result.status != 0 || begin == std::string::npos) {
    throw UserError("gnuplot failed (status {}): {}", result.status, result.error);
  }
  std::string svg = result.out.substr(begin);
  // Several plots stand in one page: names must differ, and its own title says nothing.
  replace_all(svg, "id=\"", fmt::format("id=\"{}-", id));
  replace_all(svg, "id='", fmt::format("id='{}-", id));
  replace_all(svg, "url(#", fmt::format("url(#{}-", id));
  replace_all(svg, "href='#", fmt::format("href='#{}-", id));
  const std::size_t title = svg.find("<title>");
  const std::size_t title_end = svg.find("</title>");
  if (title != std::string::npos && title_end != std::string::npos) {
    svg.replace(title, title_end - title, "<title>" + escape(alt));
  }
  const std::size_t note = svg.find("<desc>");
  const std::size_t note_end = svg.find("</desc>");
  if (note != std::string::npos && note_end != std::string::npos) {
    svg.erase(note, note_end + 7 - note);
  }
  svg.insert(4, fmt::format(" role=\"img\" aria-label=\"{}\"", escape(alt)));
  return svg;
}

}  // namespace leanstream::report
