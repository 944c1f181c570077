// Random reads, and how fast a thread wakes up that sleeps for them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "engine/base/check.h"
#include "engine/base/median.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/hardware/storage/image_file.h"
#include "engine/hardware/storage/reader_loop.h"
#include "platforms/probe/interlude.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using hardware::steady_ns;

double quantile(std::vector<TimeNs>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return seconds(values[static_cast<std::size_t>(at)]);
}

std::vector<double> bursts(const hardware::LoopSpec& spec, const std::string& engine,
                           const std::vector<std::int32_t>& pieces, std::int32_t requests,
                           Interlude& interlude) {
  hardware::LoopResult result =
      hardware::ReaderLoop(spec, engine, pieces).run_bursts(requests, [&] { interlude.pass(); });
  const auto count = static_cast<double>(result.reads);
  return {count / result.wall_s, quantile(result.latency_ns, 0.5),
          quantile(result.latency_ns, 0.99), result.cpu_s / count};
}

// Where a full queue is answered every few hundred microseconds at the latest: what is longer than
// three times that is a pause.
std::vector<double> pauses(const hardware::LoopSpec& spec, const std::string& engine) {
  hardware::LoopResult result = hardware::ReaderLoop(spec, engine).run();
  const double usual_s = quantile(result.gap_ns, 0.9);
  double paused_s = 0;
  double count = 0;
  for (const TimeNs gap_ns : result.gap_ns) {
    if (seconds(gap_ns) <= 3 * usual_s) continue;
    paused_s += seconds(gap_ns) - usual_s;
    ++count;
  }
  if (count == 0) return {0, 0};
  return {(result.wall_s - paused_s) / count, paused_s / count};
}

// A thread that sleeps in the storage, and another that wakes it after a while; the mean of the
// times at which it slept. On a busy machine it may not get to sleep before it is woken.
double wake_up_s(const hardware::StorageSpec& spec, const hardware::Processors& processors,
                 TimeNs idle_ns, int times) {
  const auto storage = hardware::open_storage(spec);
  std::atomic<int> asked{0};  // wakes that the sleeper is ready for
  std::atomic<TimeNs> called_ns{0};
  std::vector<double> asleep, all;
  std::thread caller = hardware::thread_on(processors.accelerator, [&] {
    for (int i = 1; i <= times; ++i) {
      while (asked.load() < i) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::nanoseconds(idle_ns));
      called_ns.store(steady_ns());
      storage->wake();
    }
  });
  for (int i = 1; i <= times; ++i) {
    called_ns.store(0);
    asked.store(i);
    TimeNs entered_ns = 0;
    while (called_ns.load() == 0) {
      entered_ns = steady_ns();
      storage->wait(kNever);  // which may end sooner
    }
    const TimeNs woken_ns = steady_ns();
    all.push_back(seconds(woken_ns - called_ns.load()));
    if (called_ns.load() - entered_ns > idle_ns / 2) asleep.push_back(all.back());
  }
  caller.join();
  return mean(asleep.empty() ? all : asleep);
}

}  // namespace

Group storage_probes(const Plan& plan, const PathOf& path) {
  Group group;
  const auto interlude = std::make_shared<Interlude>(plan.processors.accelerator);
  const auto add = [&](const char* what, std::string parameters, Bytes bytes, std::int32_t requests,
                       const std::vector<std::int32_t>& pieces, bool apart = false) {
    group.push_back({what,
                     std::move(parameters),
                     {{"rate", "1/s"}, {"p50", "s"}, {"p99", "s"}, {"cpu", "s"}},
                     [=, &plan](int repetition) {
                       return bursts({.path = path(repetition),
                                      .read_bytes = bytes,
                                      .depth = plan.depth,
                                      .seconds = plan.read_seconds,
                                      .seed = static_cast<std::uint64_t>(repetition),
                                      .apart = apart},
                                     plan.engine, pieces, requests, *interlude);
                     }});
  };
  for (const Bytes bytes : plan.read_bytes) {
    for (const std::int32_t n : plan.bursts) {
      add(kStorage, read_parameters(bytes, n), bytes, n, {1});
    }
  }
  for (const std::int32_t n : plan.mix_bursts) {
    add(kMix, mix_parameters(plan, n), plan.mix_bytes, n, plan.mix_pieces);
    add(kPieces, pieces_parameters(plan, n), plan.piece_bytes, n, {plan.pieces});
    add(kMerged, merged_parameters(plan, n), plan.piece_bytes, n, {plan.merged}, true);
  }
  group.push_back({kPauses,
                   pauses_parameters(plan),
                   {{"every", "s"}, {"length", "s"}},
                   [=, &plan](int repetition) {
                     return pauses({.path = path(repetition),
                                    .read_bytes = plan.read_bytes.front(),
                                    .depth = plan.depth,
                                    .seconds = plan.pause_seconds,
                                    .seed = static_cast<std::uint64_t>(repetition)},
                                   plan.engine);
                   }});
  group.push_back({kDevice, "", {{"alignment", "B"}}, [path](int repetition) {
                     return std::vector<double>{static_cast<double>(
                         hardware::ImageFile(path(repetition)).alignment_bytes())};
                   }});
  return group;
}

Group wake_up_probes(const Plan& plan, const PathOf& path) {
  Group group;
  for (const TimeNs idle_ns : plan.idle_ns) {
    group.push_back(
        {kWakeUp, idle_parameters(idle_ns), {{"time", "s"}}, [=, &plan](int repetition) {
           const hardware::StorageSpec spec{.path = path(repetition), .engine = plan.engine};
           return std::vector<double>{wake_up_s(spec, plan.processors, idle_ns, plan.wakes)};
         }});
  }
  return group;
}

}  // namespace leanstream::probe
