#include "platforms/calibration/simplex.h"

#include <algorithm>
#include <cstddef>

namespace leanstream::calibration {
namespace {

struct Corner {
  double cost;
  Point at;
};

// The middle of all corners but the worst, moved from the worst by `reach` times their distance.
Point across(const std::vector<Corner>& corners, double reach) {
  const Point& worst = corners.back().at;
  Point moved(worst.size());
  for (std::size_t axis = 0; axis < worst.size(); ++axis) {
    double middle = 0;
    for (std::size_t i = 0; i + 1 < corners.size(); ++i) middle += corners[i].at[axis];
    middle /= static_cast<double>(corners.size() - 1);
    moved[axis] = middle + reach * (middle - worst[axis]);
  }
  return moved;
}

}  // namespace

Point minimise(const std::function<double(const Point&)>& cost, const Point& start, double step,
               int iterations) {
  std::vector<Corner> corners{{cost(start), start}};
  for (std::size_t axis = 0; axis < start.size(); ++axis) {
    Point at = start;
    at[axis] += step;
    corners.push_back({cost(at), at});
  }
  const auto by_cost = [](const Corner& a, const Corner& b) { return a.cost < b.cost; };
  const auto try_at = [&](double reach) {
    Point at = across(corners, reach);
    const double its_cost = cost(at);
    return Corner{its_cost, std::move(at)};
  };
  for (int i = 0; i < iterations; ++i) {
    std::stable_sort(corners.begin(), corners.end(), by_cost);
    Corner& worst = corners.back();
    Corner reflected = try_at(1);
    if (reflected.cost < corners.front().cost) {
      Corner expanded = try_at(2);
      worst = expanded.cost < reflected.cost ? expanded : reflected;
    } else if (reflected.cost < corners[corners.size() - 2].cost) {
      worst = reflected;
    } else {
      Corner contracted = try_at(reflected.cost < worst.cost ? 0.5 : -0.5);
      if (contracted.cost < std::min(reflected.cost, worst.cost)) {
        worst = contracted;
        continue;
      }
      for (std::size_t k = 1; k < corners.size(); ++k) {
        for (std::size_t axis = 0; axis < start.size(); ++axis) {
          corners[k].at[axis] = 0.5 * (corners[k].at[axis] + corners[0].at[axis]);
        }
        corners[k].cost = cost(corners[k].at);
      }
    }
  }
  return std::min_element(corners.begin(), corners.end(), by_cost)->at;
}

}  // namespace leanstream::calibration
