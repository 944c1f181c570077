// A queue kept at a depth on the simulation of every request.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "tests/sim/flash_run.h"

namespace leanstream::sim {

inline constexpr double kBus = 1e15;  // never in the way

struct Loop {
  double requests_per_s = 0;
  std::vector<double> latency_s;  // rising

  double quantile(double share) const {
    return latency_s[static_cast<std::size_t>(share * static_cast<double>(latency_s.size()))];
  }
  double mean_s() const {
    return std::accumulate(latency_s.begin(), latency_s.end(), 0.0) /
           static_cast<double>(latency_s.size());
  }
};

// Keeps `depth` reads of one request under way; latencies are from their submission. The blocks of
// each come from `blocks`.
inline Loop keep(
    const platform::Flash& flash, Bytes block_bytes, int depth, std::size_t requests,
    std::uint64_t seed = 1, const std::function<int()>& blocks = [] { return 1; }) {
  Device device = device_with(flash, block_bytes);
  device.spec.seed = seed;
  FlashRun run(device, Fidelity::request, kBus);
  std::map<TicketId, double> sent_s;
  const auto send = [&] {
    std::vector<BlockId> ids(static_cast<std::size_t>(blocks()));
    std::iota(ids.begin(), ids.end(), 0);
    auto read = run.commands.with_blocks(scheduler::CommandKind::read, std::move(ids));
    read.merge_blocks = 1000;
    sent_s[run.submit(read)] = run.now_s();
  };

  const std::size_t warm = 20 * static_cast<std::size_t>(depth);
  for (int i = 0; i < depth; ++i) send();
  std::size_t ended = 0;
  double from_s = 0;
  Loop loop;
  while (loop.latency_s.size() < requests) {
    run.step();
    const std::size_t before = ended;
    for (const auto& [ticket, answer] : run.answers) {
      ++ended;
      if (ended > warm) loop.latency_s.push_back(answer.end_s - sent_s.at(ticket));
      sent_s.erase(ticket);
    }
    run.answers.clear();
    for (std::size_t i = before; i < ended; ++i) send();
    if (before < warm && ended >= warm) {
      loop.latency_s.clear();
      from_s = run.now_s();
    }
  }
  loop.requests_per_s = static_cast<double>(loop.latency_s.size()) / (run.now_s() - from_s);
  std::sort(loop.latency_s.begin(), loop.latency_s.end());
  return loop;
}

}  // namespace leanstream::sim
