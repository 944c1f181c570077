// Minimising without derivatives.
#pragma once

#include <functional>
#include <vector>

namespace leanstream::calibration {

using Point = std::vector<double>;

// The best point that the simplex method finds from a corner `start` with edges of `step` along
// each axis, in at most `iterations` moves (Nelder and Mead, The Computer Journal 7, 1965, with
// their coefficients 1, 2, ½, ½). `cost` is finite. Deterministic.
Point minimise(const std::function<double(const Point&)>& cost, const Point& start, double step,
               int iterations);

}  // namespace leanstream::calibration
