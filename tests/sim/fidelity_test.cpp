// The closed form of a whole read against the simulation of its requests.
#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/sim/flash_run.h"

namespace leanstream::sim {
namespace {

// Dates of segment over request fidelity, less one.
double difference(const Device& device, double bus, double accelerator,
                  const std::function<double(FlashRun&)>& run) {
  double dates[2];
  for (const Fidelity fidelity : kFidelities) {
    FlashRun flash(device, fidelity, bus, accelerator);
    dates[static_cast<int>(fidelity)] = run(flash);
  }
  return dates[0] / dates[1] - 1;
}

const std::pair<const char*, platform::Flash> kDevices[] = {{"orin", orin_flash()},
                                                            {"round", round_device().flash}};
struct Surrounding {
  const char* name;
  double bus, accelerator;
  double most;  // difference
};
// The last of a few large requests do not feel the bus that the mean rate of all meets.
const Surrounding kSurroundings[] = {{"alone", 186e9, 0, 0.001},
                                     {"beside an accelerator", 186e9, 150e9, 0.001},
                                     {"sharing a bus of 10 GB/s", 10e9, 10e9, 0.16}};

TEST(Fidelity, OneReadAgrees) {
  std::vector<double> all;
  for (const auto& [name, flash] : kDevices) {
    for (const auto& [where, bus, accelerator, most] : kSurroundings) {
      for (const Bytes block : {7'168, 17'500, 49'152, 1'048'576}) {
        for (const int n : {1, 2, 3, 5, 8, 31, 33, 64, 100, 500, 2000}) {
          const double d =
              difference(device_with(flash, block), bus, accelerator, [n](FlashRun& run) {
                run.submit(run.commands.read(n));
                return run.run(1);
              });
          EXPECT_LT(std::abs(d), most) << name << " " << where << ": " << n << " of " << block;
          all.push_back(std::abs(d));
        }
      }
    }
  }
  std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
  EXPECT_LT(all[all.size() / 2], 1e-6);
}

// Runs of 1 … 100 neighbours, merged: requests of unequal size.
TEST(Fidelity, UnequalRequestsAgree) {
  for (const auto& [name, flash] : kDevices) {
    for (const int requests : {2, 3, 7, 50, 150}) {
      const double d = difference(device_with(flash, 16'384), 186e9, 0, [requests](FlashRun& run) {
        RandomStream random(5, "test.fidelity");
        std::vector<BlockId> blocks;
        for (int i = 0; i < requests; ++i) {
          const auto length = 1 + static_cast<BlockId>(random.next_below(100));
          for (BlockId b = 0; b < length; ++b) blocks.push_back(200 * (i % 10) + b);
        }
        auto read = run.commands.with_blocks(scheduler::CommandKind::read, blocks);
        read.merge_blocks = 64;
        run.submit(read);
        return run.run(1);
      });
      EXPECT_LT(std::abs(d), 0.02) << name << ", " << requests << " runs";
    }
  }
}

struct Stream {
  int reads, requests;
  double gap_s;  // between the submissions of two reads
};
const Stream kStreams[] = {{2, 1, 0},       {8, 1, 0},      {31, 1, 0},      {64, 1, 0},
                           {3'000, 1, 0},   {200, 1, 5e-6}, {200, 1, 15e-6}, {200, 1, 25e-6},
                           {200, 1, 70e-6}, {50, 4, 0},     {50, 4, 50e-6},  {20, 31, 0},
                           {20, 33, 0},     {5, 100, 0},    {50, 8, 100e-6}, {50, 8, 300e-6}};

TEST(Fidelity, ReadsQueuedBehindOthersAgree) {
  for (const auto& [name, flash] : kDevices) {
    for (const Bytes block : {4'096, 7'168, 17'500, 49'152, 1'048'576}) {
      for (const auto& [reads, requests, gap_s] : kStreams) {
        const double d = difference(device_with(flash, block), 186e9, 0,
                                    [&, n = requests, m = reads, gap = gap_s](auto& run) {
                                      for (int i = 0; i < m; ++i) {
                                        run.run_until(i * gap);
                                        run.submit(run.commands.read(n));
                                      }
                                      return run.run(static_cast<std::size_t>(m));
                                    });
        EXPECT_LT(std::abs(d), 0.05)
            << name << ", " << reads << " reads of " << requests << " times " << block;
      }
    }
  }
}

// A read for each that ends: the queue is kept at a depth.
TEST(Fidelity, AQueueKeptAtADepthAgrees) {
  for (const auto& [name, flash] : kDevices) {
    for (const Bytes block : {7'168, 49'152, 300'000}) {
      for (const std::size_t depth : {1, 2, 4, 16, 32, 64}) {
        const double d = difference(device_with(flash, block), 186e9, 0, [depth](FlashRun& run) {
          std::size_t sent = 0;
          for (; sent < depth; ++sent) run.submit(run.commands.read(1));
          for (std::size_t done = 1; done <= 1'000; ++done) {
            run.run(std::max(done, run.answers.size()));
            for (; sent < run.answers.size() + depth; ++sent) {
              run.submit(run.commands.read(1));
            }
          }
          return run.now_s();
        });
        EXPECT_LT(std::abs(d), 0.05) << name << ", depth " << depth << " of " << block;
      }
    }
  }
}

// A part dealt to idle lanes, as the scheduler does between two barriers.
TEST(Fidelity, APartDealtToLanesAgrees) {
  for (const auto& [name, flash] : kDevices) {
    for (const Bytes block : {7'168, 49'152}) {
      for (const int lanes : {2, 4}) {
        for (const int each : {1, 2, 4, 8, 25, 100, 500}) {
          const double d =
              difference(device_with(flash, block), 186e9, 0, [each, lanes](FlashRun& run) {
                for (int i = 0; i < lanes; ++i) run.submit(run.commands.read(each, i));
                return run.run(static_cast<std::size_t>(lanes));
              });
          EXPECT_LT(std::abs(d), 0.06)
              << name << ", " << each << " in each of " << lanes << " lanes, " << block;
        }
      }
    }
  }
}

TEST(Fidelity, LanesThatReadMuchAgree) {
  for (const auto& [name, flash] : kDevices) {
    for (const Bytes block : {7'168, 49'152, 300'000}) {
      for (const int lanes : {2, 4}) {
        const double d = difference(device_with(flash, block), 186e9, 0, [lanes](FlashRun& run) {
          for (int i = 0; i < 5 * lanes; ++i) {
            run.submit(run.commands.read(150 + 10 * i, i % lanes));
          }
          return run.run(static_cast<std::size_t>(5 * lanes));
        });
        EXPECT_LT(std::abs(d), 0.05) << name << ", " << lanes << " lanes of " << block;
      }
    }
  }
}

// Devices with overhead, span and batch. The spread is too small to be seen, but makes the device
// serve all its requests at once.
struct Refined {
  const char* name;
  platform::Flash flash;
  double most;
};
std::vector<Refined> refined_devices(double spread) {
  platform::Flash flash = round_device().flash;
  flash.request_overhead_bytes = 30'000;
  flash.spread = spread;
  std::vector<Refined> all{{"one by one", flash, 0.03}};
  flash.span_bytes = 2'000'000;
  all.push_back({"with a span", flash, 0.05});
  flash.batch = 32;
  all.push_back({"in batches", flash, 0.05});
  return all;
}

TEST(Fidelity, RefinedDevicesAgree) {
  for (const auto& [name, flash, most] : refined_devices(1e-9)) {
    for (const Bytes block : {7'168, 49'152, 300'000}) {
      for (const int n : {1, 4, 16, 32, 100, 500}) {
        const double d = difference(device_with(flash, block), 186e9, 0, [n](FlashRun& run) {
          run.submit(run.commands.read(n));
          return run.run(1);
        });
        EXPECT_LT(std::abs(d), most) << name << ": " << n << " of " << block;
      }
    }
  }
}

TEST(Fidelity, QueuedReadsOfRefinedDevicesAgree) {
  for (const auto& [name, flash, most] : refined_devices(1e-9)) {
    for (const Bytes block : {7'168, 49'152, 300'000}) {
      for (const auto& [reads, n, lanes] : {std::tuple{40, 1, 1}, std::tuple{20, 8, 1},
                                            std::tuple{10, 50, 1}, std::tuple{8, 100, 4}}) {
        const double d = difference(device_with(flash, block), 186e9, 0,
                                    [m = reads, n = n, lanes = lanes](FlashRun& run) {
                                      for (int i = 0; i < m; ++i) {
                                        run.submit(run.commands.read(n, i % lanes));
                                      }
                                      return run.run(static_cast<std::size_t>(m));
                                    });
        EXPECT_LT(std::abs(d), 0.16) << name << ", " << lanes << " lanes: " << reads << " reads of "
                                     << n << " times " << block;
      }
    }
  }
}

// The mean of many seeds. A read ends with its slowest request, which segment does not see.
TEST(Fidelity, SpreadDevicesAgreeInTheMean) {
  constexpr int kSeeds = 60;
  for (const auto& [name, flash, ignored] : refined_devices(0.2)) {
    for (const int n : {1, 4, 32, 500}) {
      double dates[2] = {0, 0};
      for (int seed = 0; seed < kSeeds; ++seed) {
        Device device = device_with(flash, 49'152);
        device.spec.seed = static_cast<std::uint64_t>(seed);
        for (const Fidelity fidelity : kFidelities) {
          FlashRun run(device, fidelity);
          run.submit(run.commands.read(n));
          dates[static_cast<int>(fidelity)] += run.run(1);
        }
      }
      const double d = dates[0] / dates[1] - 1;
      EXPECT_LT(std::abs(d), 0.2) << name << ": " << n;
    }
  }
}

}  // namespace
}  // namespace leanstream::sim
