// The meter over commands and completions that are added up by hand, and over whole runs.
#include "engine/energy/meter.h"

#include <gtest/gtest.h>

#include "tests/energy/device.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::energy {
namespace {

using backend::Synchronisation;
using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;

// Hands commands and answers to a meter by hand.
class Script {
 public:
  explicit Script(Meter& meter) : meter_(meter) {}

  TicketId submit(CommandKind kind, const std::vector<BlockId>& blocks = {}) {
    Command command;
    command.ticket = ++last_;
    command.kind = kind;
    command.token = 9;
    command.blocks = blocks;
    meter_.submitted({&command, 1});
    return last_;
  }
  void end(TicketId ticket, TimeNs at, TimeNs work = 0, const std::vector<BlockId>& lost = {}) {
    const Completion completion{.ticket = ticket, .time_ns = at, .work_ns = work, .not_read = lost};
    meter_.completed({&completion, 1});
  }

 private:
  Meter& meter_;
  TicketId last_ = 0;
};

// One layer and its head:
//   µs   0 … 200   attention, 190 of them work; a prediction until 60
//      100 … 300   two requests of flash, of which one block of three is not read
//      200         the kernel begins; it waits for the read
//      300 … 400   a segment of two blocks, 80 µs of work
//      400 … 420   the sum
//      420 … 520   the head
void one_token(Script& s) {
  const auto attention = s.submit(CommandKind::attention);
  const auto prediction = s.submit(CommandKind::predict);
  s.end(prediction, 60'000);
  const auto begin = s.submit(CommandKind::begin_layer);
  s.end(s.submit(CommandKind::cancel), 100'000);
  const auto read = s.submit(CommandKind::read, {4, 8, 9});
  s.end(attention, 200'000, 190'000);
  s.end(begin, 200'000);
  s.end(read, 300'000, 0, {9});
  const auto segment = s.submit(CommandKind::release, {4, 8});
  const auto sum = s.submit(CommandKind::end_layer);
  s.end(segment, 400'000, 80'000);
  s.end(sum, 420'000);
  s.end(s.submit(CommandKind::head), 520'000, 100'000);
}

Stretch metered(const platform::Platform& platform, Synchronisation synchronisation) {
  auto spec = spec_for(platform);
  spec.synchronisation = synchronisation;
  Meter meter(spec, false);
  Script script(meter);
  one_token(script);
  EXPECT_EQ(meter.stretches().size(), 1U);
  return meter.stretches().front();
}

TEST(Meter, ATokenByHand) {
  const auto platform = round_platform();
  const Stretch s = metered(platform, Synchronisation::flags);
  EXPECT_EQ(s.use.time_ns, 520'000);
  EXPECT_EQ(s.use.accelerator_ns, 190'000 + 80'000 + 100'000);
  EXPECT_EQ(s.use.polling_ns, 100'000 + 20'000 + 20'000) << "the kernel's 220 µs less its work";
  EXPECT_EQ(s.use.prediction_ns, 60'000);
  EXPECT_EQ(s.use.flash_ns, 200'000);
  EXPECT_EQ(s.use.requests, 3) << "no two of the blocks may be read at once";
  EXPECT_EQ(s.use.flash_bytes, 2U * 12'288);
  EXPECT_EQ(s.use.memory_bytes,
            2 * 12'288 + 8'000'000 + 10 * 4'000 + 1'000'000 + 4 * 6'000 + 5000 * 1000 * 2);
  // The host looks for 10 of the first 60 µs, of 40 and of 100, not in the 100 without any command
  // that it awaits, all the 100 of the segment, 10 of 20, and 10 of the head's 100.
  EXPECT_EQ(s.use.host_ns, 1000 * (10 + 10 + 10 + 0 + 100 + 10 + 10));

  const double t = 520e-6;
  const double cores = 60e-6 + 150e-6 + 3 * 2e-6;
  EXPECT_DOUBLE_EQ(core_s(s.use, platform.cpu), cores);
  EXPECT_DOUBLE_EQ(s.joules.board, 2 * t);
  EXPECT_NEAR(s.joules.accelerator, t + 10 * 370e-6 + 3 * 140e-6, 1e-15);
  EXPECT_NEAR(s.joules.cpu, 0.5 * t + 1.5 * cores, 1e-15);
  EXPECT_NEAR(s.joules.flash, 0.25 * t + 3 * 200e-6 + 24'576e-9, 1e-15);
  EXPECT_NEAR(s.joules.memory, 0.75 * t + 4e-11 * 19'088'576, 1e-15);
}

TEST(Meter, SynchronisationDecidesWhoPolls) {
  const auto platform = round_platform();
  const Stretch flags = metered(platform, Synchronisation::flags);
  const Stretch polling = metered(platform, Synchronisation::polling);
  const Stretch device = metered(platform, Synchronisation::device);
  EXPECT_EQ(polling.use.polling_ns, 0);
  EXPECT_EQ(device.use.polling_ns, 0);
  EXPECT_EQ(polling.use.host_ns, flags.use.host_ns);
  EXPECT_EQ(device.use.host_ns, flags.use.host_ns - 90'000) << "it sleeps while a segment runs";
  EXPECT_LT(device.joules.sum(), polling.joules.sum());
  EXPECT_LT(polling.joules.sum(), flags.joules.sum());
}

TEST(Meter, TemperaturesFollowTheMeanPowerOfEachLayer) {
  const auto platform = round_platform();
  const Stretch s = metered(platform, Synchronisation::device);
  const double layer_w = 1 + 10 * 270.0 / 420;  // attention and segment in 420 µs
  double c = temperature_c(20, layer_w, 420e-6, 20, platform.thermal->accelerator);
  c = temperature_c(c, 11, 100e-6, 20, platform.thermal->accelerator);
  EXPECT_NEAR(s.end.accelerator_c, c, 1e-12);
}

TEST(Meter, AThrottledUnitDrawsLess) {
  const auto platform = round_platform();
  auto spec = spec_for(platform);
  spec.synchronisation = Synchronisation::flags;
  spec.heat.start_c = 70;
  Meter meter(spec, true);
  EXPECT_EQ(meter.throttled(), (Throttled{1, 1, 1}));
  Script script(meter);
  one_token(script);
  const Stretch& s = meter.stretches().front();
  EXPECT_EQ(s.throttled_ns, 520'000);
  EXPECT_NEAR(s.joules.accelerator, 520e-6 + 0.25 * (10 * 370e-6 + 3 * 140e-6), 1e-15);
  EXPECT_NEAR(s.joules.flash, 0.25 * 520e-6 + 0.25 * 3 * 200e-6 + 24'576e-9, 1e-15);
}

TEST(Meter, WithoutPowersThereIsOnlyUse) {
  auto platform = round_platform();
  platform.energy.reset();
  platform.thermal.reset();
  const Stretch s = metered(platform, Synchronisation::flags);
  EXPECT_EQ(s.use.accelerator_ns, 370'000);
  EXPECT_EQ(s.joules.sum(), 0);
}

// More of anything never takes less, and nothing takes a negative amount.
TEST(Joules, AreMonotone) {
  const auto platform = round_platform();
  const Use base{.time_ns = 1'000'000,
                 .accelerator_ns = 300'000,
                 .polling_ns = 100'000,
                 .prediction_ns = 50'000,
                 .host_ns = 80'000,
                 .flash_ns = 400'000,
                 .requests = 7,
                 .flash_bytes = 1'000'000,
                 .memory_bytes = 5e6};
  const double before = joules(base, platform).sum();
  const auto grows = [&](auto member, auto by) {
    Use more = base;
    more.*member += by;
    EXPECT_GT(joules(more, platform).sum(), before);
  };
  grows(&Use::time_ns, 1'000);
  for (const auto member : {&Use::accelerator_ns, &Use::polling_ns, &Use::prediction_ns,
                            &Use::host_ns, &Use::flash_ns}) {
    grows(member, 1'000);
  }
  grows(&Use::requests, 1);
  grows(&Use::flash_bytes, 512);
  grows(&Use::memory_bytes, 64.0);
}

TEST(Joules, CoresAreNoMoreThanThereAre) {
  const auto platform = round_platform();
  const Use use{.time_ns = 1'000, .prediction_ns = 1'000, .host_ns = 1'000, .requests = 1'000};
  EXPECT_DOUBLE_EQ(core_s(use, platform.cpu), 4e-6);
}

struct Policies {
  const char* predictor;
  const char* cache;
  const char* controller;
};

// What the meter adds up over a run is what the scheduler has counted by its own rules.
TEST(Meter, AgreesWithTheSchedulersTallies) {
  const auto platform = round_platform();
  for (const Policies& policies :
       {Policies{"oracle", "lru", "{policy: static, omega_io: 2, omega_gpu: 2}"},
        Policies{"previous_token", "lfu", "{policy: static, omega_io: 1, omega_gpu: 4}"},
        Policies{"all", "pinned", "{policy: static, omega_io: 1, omega_gpu: 1}"}}) {
    SCOPED_TRACE(policies.predictor);
    scheduler::SmallRun run;
    run.predictor = policies.predictor;
    run.cache = policies.cache;
    run.controller = policies.controller;
    auto spec = spec_for(platform);
    spec.geometry = run.spec().geometry;
    Meter meter(spec, false);
    std::optional<scheduler::VirtualWorld> world;
    std::optional<MeteredBackend> metered;
    run.run_in([&](const policy::Predictor& made) -> backend::Backend& {
      world.emplace(run.costs, made, run.ffn);
      return metered.emplace(*world, meter);
    });
    ASSERT_EQ(run.failure, "");
    ASSERT_EQ(meter.stretches().size(), run.metrics.tokens.size() + 1);
    for (std::size_t i = 0; i < run.metrics.tokens.size(); ++i) {
      const Use& use = meter.stretches()[i + 1].use;
      const scheduler::TokenRow& row = run.metrics.tokens[i];
      EXPECT_EQ(use.time_ns, row.end_ns - row.start_ns);
      EXPECT_EQ(use.accelerator_ns, row.tally.accelerator_work_ns);
      EXPECT_EQ(use.flash_ns, row.tally.io_busy_ns);
      EXPECT_EQ(use.prediction_ns, row.tally.prediction_ns);
      EXPECT_LE(use.host_ns, use.time_ns);
      EXPECT_LE(use.accelerator_ns + use.polling_ns, use.time_ns);
    }
  }
}

}  // namespace
}  // namespace leanstream::energy
