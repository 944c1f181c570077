// How fast one thread, and all processors together, read a buffer that no cache holds.
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <thread>

#include "engine/hardware/accelerator/part_queue.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using hardware::steady_ns;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t kUnrolled = 8;
std::atomic<std::uint64_t> result_of_sums;  // so that they are computed

void sum(std::span<const std::uint64_t> words) {
  std::uint64_t sums[kUnrolled] = {};
  for (std::size_t i = 0; i + kUnrolled <= words.size(); i += kUnrolled) {
    for (std::size_t j = 0; j < kUnrolled; ++j) sums[j] += words[i + j];
  }
  std::uint64_t all = 0;
  for (const std::uint64_t one : sums) all += one;
  result_of_sums.fetch_xor(all, std::memory_order_relaxed);
}

// Bytes a second: each thread reads a part of its own over and over, all for the same time.
double bandwidth(const Words& words, int threads, const Plan& plan) {
  const std::size_t part = words.size() / static_cast<std::size_t>(threads);
  std::atomic<int> ready{0};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> all;
  std::atomic<TimeNs> last_ns{0};
  std::atomic<TimeNs> from_ns{0};
  for (int t = 0; t < threads; ++t) {
    all.push_back(hardware::thread_on(plan.processors.all, [&, t] {
      const auto mine = std::span(words).subspan(static_cast<std::size_t>(t) * part, part);
      if (++ready == threads) from_ns.store(steady_ns());
      while (from_ns.load() == 0) std::this_thread::yield();
      const TimeNs until_ns =
          from_ns.load() + static_cast<TimeNs>(plan.memory_seconds * kNsPerSecond);
      do {
        sum(mine);
        ++rounds;
      } while (steady_ns() < until_ns);
      const TimeNs ended_ns = steady_ns();
      for (TimeNs seen = last_ns.load(); seen < ended_ns;) {
        if (last_ns.compare_exchange_weak(seen, ended_ns)) break;
      }
    }));
  }
  for (std::thread& thread : all) thread.join();
  const double bytes = static_cast<double>(rounds.load()) * static_cast<double>(part) * 8;
  return bytes / seconds(last_ns.load() - from_ns.load());
}

}  // namespace

Group memory_probes(const Plan& plan) {
  const auto words = std::make_shared<Words>();
  const auto buffer = [words, &plan]() -> const Words& {
    if (words->empty()) words->assign(plan.memory_bytes / sizeof(std::uint64_t), 1);
    return *words;
  };
  const auto processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Group group;
  for (const bool all : {false, true}) {
    group.push_back({kMemory, memory_parameters(all), {{"rate", "B/s"}}, [=, &plan](int) {
                       return std::vector<double>{bandwidth(buffer(), all ? processors : 1, plan)};
                     }});
  }
  return group;
}

}  // namespace leanstream::probe
