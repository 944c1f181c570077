// What the plots share: gnuplot's language and its child process.
#pragma once

#include <string>
#include <string_view>

namespace leanstream::report {

// A gnuplot string constant.
std::string in_quotes(std::string_view text);

// Terminal, fonts, borders. Plot areas are placed by `at screen` margins afterwards.
std::string preamble(int width, int height, std::string_view corner);

// Runs a script that writes one SVG to stdout and makes it fit for an HTML page.
std::string render(const std::string& script, std::string_view id, std::string_view alt);

}  // namespace leanstream::report
