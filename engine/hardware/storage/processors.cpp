#include "engine/hardware/storage/processors.h"

#include <algorithm>
#include <sched.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hardware/storage/disk.h"

namespace leanstream::hardware {
namespace {

// That the calling thread may run on; one is assumed where the system does not say.
std::vector<int> usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int p = 0; p < CPU_SETSIZE; ++p) {
      if (CPU_ISSET(p, &set)) processors.push_back(p);
    }
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

}  // namespace

std::string Processors::text() const {
  if (!apart()) return fmt::format("all threads on any of {}", fmt::join(all, " "));
  return fmt::format(
      "the disk interrupts {}: scheduler there, accelerator on {}, predictions on {}",
      fmt::join(scheduler, " "), fmt::join(accelerator, " "), fmt::join(predictor, " "));
}

Processors choose_processors(std::vector<int> all, std::optional<int> interrupted,
                             int accelerator_threads) {
  Processors chosen{.all = all, .scheduler = all, .accelerator = all, .predictor = all};
  const auto threads = static_cast<std::size_t>(accelerator_threads);
  if (!interrupted || std::ranges::find(all, *interrupted) == all.end() || threads >= all.size()) {
    return chosen;
  }
  chosen.scheduler = {*interrupted};
  std::erase(chosen.accelerator, *interrupted);
  chosen.predictor = threads < chosen.accelerator.size() ? chosen.accelerator : chosen.scheduler;
  return chosen;
}

Processors processors_for(const std::string& path, int accelerator_threads, bool apart) {
  return choose_processors(usable(), apart ? interrupted_processor(path) : std::nullopt,
                           accelerator_threads);
}

void keep_to(std::span<const int> processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int p : processors) CPU_SET(p, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

KeptTo::KeptTo(std::span<const int> processors) : before_(usable()) {
  keep_to(processors);
}

KeptTo::~KeptTo() {
  keep_to(before_);
}

}  // namespace leanstream::hardware
