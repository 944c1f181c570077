#include "experiments/run/audit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "engine/backend/log_text.h"
#include "engine/base/random.h"
#include "engine/config/parameter_info.h"

namespace leanstream::run {

std::vector<std::size_t> audited_cells(std::size_t cells, double share, std::uint64_t seed) {
  const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(cells)));
  const std::size_t count = std::clamp<std::size_t>(wanted, 1, cells);
  std::vector<std::size_t> order(cells);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream random(seed, "experiments.audit");
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + random.next_below(cells - i)]);
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::string repeat_difference(const Repeat& first, const Repeat& second) {
  const backend::Sides sides{"in the first run", "in the second"};
  if (first.outcome.ended != second.outcome.ended ||
      first.outcome.status != second.outcome.status) {
    return fmt::format("the first run ended with status {}, the second with {}",
                       first.outcome.status, second.outcome.status);
  }
  if (!first.outcome.ended) return "";  // failed twice alike
  const std::string event = backend::first_difference(first.log, second.log, sides);
  if (!event.empty()) return event;
  const auto a = config::Json::parse(first.outcome.text);
  const auto b = config::Json::parse(second.outcome.text);
  for (const char* part : {"result", "tokens", "failure"}) {
    if (a[part] == b[part]) continue;
    return fmt::format("the same events, but {} {} {}, {} {}", part, a[part].dump(), sides.first,
                       b[part].dump(), sides.second);
  }
  return "";
}

}  // namespace leanstream::run
