// Order, lifetime and cost of what the accelerator answers; what it refuses.
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/hardware/accelerator/faulty_accelerator.h"
#include "engine/hardware/accelerator/part_queue.h"
#include "engine/hardware/accelerator/registry.h"
#include "tests/hardware/accelerator/rig.h"

namespace leanstream::hardware::test {
namespace {

using backend::Synchronisation;
using scheduler::Command;
using scheduler::CommandKind;

constexpr TokenId kFewTokens = 6;

Cuts some_cuts(TokenId tokens = kFewTokens) {
  RandomStream random(21, "tests.cuts");
  return random_cuts(tokens, 1, random);
}

TEST(CpuAccelerator, AResidualStaysUntilTheNextButOneLayerBegins) {
  struct Kept {
    std::span<const float> residual;
    std::vector<float> copy;
    std::int64_t layer;  // counted over all tokens
  };
  // Looks at what is polled, and keeps it while it has to stay.
  class Looking final : public Accelerator {
   public:
    explicit Looking(std::unique_ptr<Accelerator> real) : real_(std::move(real)) {}
    void submit(const Command& command) override {
      if (command.kind == CommandKind::attention) {
        ++layer_;
        std::erase_if(kept_, [&](const Kept& k) { return k.layer + 2 <= layer_; });
      }
      real_->submit(command);
    }
    void poll(std::vector<Ended>& out) override {
      real_->poll(out);
      for (const Ended& ended : out) {
        kept_.push_back({ended.residual, {ended.residual.begin(), ended.residual.end()}, layer_});
        ++seen;
      }
      for (const Kept& k : kept_) {
        ASSERT_TRUE(std::equal(k.copy.begin(), k.copy.end(), k.residual.begin()));
      }
    }
    std::span<const float> nll() const override { return real_->nll(); }
    std::vector<std::pair<std::string, Bytes>> memory() const override { return {}; }
    int seen = 0;

   private:
    std::unique_ptr<Accelerator> real_;
    std::vector<Kept> kept_;
    std::int64_t layer_ = 0;
  };
  Rig rig(kFewTokens);
  rig.spec.threads = 2;
  Looking looking(make_accelerator("cpu", rig.spec));
  const auto answers = rig.drive(looking, {.prompt = 2, .tokens = kFewTokens, .cuts = some_cuts()});
  EXPECT_EQ(static_cast<std::size_t>(looking.seen), answers.size());
}

TEST(CpuAccelerator, ReleasesOfAPromptCarryNoResidualAllElseDoes) {
  Rig rig(kFewTokens);
  for (const Answer& a : rig.drive({.prompt = 3, .tokens = kFewTokens, .cuts = some_cuts()})) {
    const auto hidden = static_cast<std::size_t>(rig.spec.layout.hidden);
    const bool of_prompt = a.command.kind == CommandKind::release && a.command.tokens > 1;
    const bool none = of_prompt || a.command.kind == CommandKind::begin_layer;
    EXPECT_EQ(a.residual.size(), none ? 0 : hidden * static_cast<std::size_t>(a.command.tokens));
  }
}

TEST(CpuAccelerator, WakesItsOwnerForEveryAnswerThatIsWaitedFor) {
  for (const auto how : {Synchronisation::flags, Synchronisation::device}) {
    std::mutex mutex;
    std::condition_variable changed;
    bool woken = false;
    Rig rig(kFewTokens);
    rig.spec.threads = 2;
    rig.spec.synchronisation = how;
    rig.spec.wake = [&] {
      const std::lock_guard lock(mutex);
      woken = true;
      changed.notify_one();
    };
    const auto accelerator = make_accelerator("cpu", rig.spec);
    const auto submit = [&](TicketId ticket, CommandKind kind) {
      accelerator->submit({.ticket = ticket, .kind = kind, .layer = 0, .token = 0, .tokens = 1});
    };
    const auto command = [&](TicketId ticket, CommandKind kind) {
      submit(ticket, kind);
      std::vector<Ended> ended;
      while (ended.empty() || ended.back().ticket < ticket) {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(20), [&] { return woken; }));
        woken = false;
        accelerator->poll(ended);
      }
      EXPECT_EQ(ended.back().ticket, ticket);
    };
    command(1, CommandKind::attention);
    submit(2, CommandKind::begin_layer);
    command(3, CommandKind::end_layer);
    command(4, CommandKind::head);
  }
}

TEST(CpuAccelerator, WorkIsNoMoreThanTheTimeThatPasses) {
  for (const int threads : {1, 3}) {
    Rig rig(kFewTokens);
    rig.spec.threads = threads;
    const TimeNs begin = steady_ns();
    TimeNs work_ns = 0;
    for (const Answer& a : rig.drive({.tokens = kFewTokens, .cuts = some_cuts()})) {
      EXPECT_GE(a.work_ns, 0);
      EXPECT_TRUE(a.work_ns > 0 || a.command.kind != CommandKind::head);
      work_ns += a.work_ns;
    }
    EXPECT_LE(work_ns, steady_ns() - begin);
  }
}

TimeNs processor_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(CpuAccelerator, SleepsWhileItHasNothingToDo) {
  for (const auto how :
       {Synchronisation::flags, Synchronisation::polling, Synchronisation::device}) {
    Rig rig(kFewTokens);
    rig.spec.threads = 2;
    rig.spec.synchronisation = how;
    const auto accelerator = make_accelerator("cpu", rig.spec);
    rig.drive(*accelerator, {.tokens = kFewTokens, .cuts = some_cuts()});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const TimeNs before = processor_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_LT(processor_ns() - before, 10'000'000);
  }
}

TEST(CpuAccelerator, CanBeLeftInTheMiddleOfItsWork) {
  for (int polls = 0; polls < 60; ++polls) {
    Rig rig(kFewTokens);
    rig.spec.threads = 1 + polls % 3;
    rig.drive({.tokens = kFewTokens, .cuts = some_cuts(), .after_poll = [left = polls]() mutable {
                 return --left > 0;
               }});
  }
}

TEST(CpuAccelerator, StatesItsMemory) {
  const auto of = [](const std::vector<std::pair<std::string, Bytes>>& parts, const char* name) {
    for (const auto& [part, bytes] : parts) {
      if (part == name) return bytes;
    }
    ADD_FAILURE() << name;
    return Bytes{0};
  };
  Rig rig(kFewTokens);
  const auto accelerator = make_accelerator("cpu", rig.spec);
  rig.drive(*accelerator, {.prompt = 4, .tokens = kFewTokens, .cuts = some_cuts()});
  const auto parts = accelerator->memory();
  EXPECT_EQ(of(parts, "key/value cache"), Bytes{2 * 2 * 32 * 4} * kFewTokens);
  EXPECT_EQ(of(parts, "partial results"), Bytes{8 * 4 * 64 * 4});  // 8 rows, 4 tokens
  // At least the importance of the prompt and the logits of its tokens.
  EXPECT_GE(of(parts, "activations"), Bytes{4 * (96 + 263) * 4});
}

TEST(FaultyAccelerator, EndsNothingAfterItsDate) {
  for (const TimeNs dies_ns : {TimeNs{0}, TimeNs{40}, kNever}) {
    Rig rig(kFewTokens);
    TimeNs now_ns = 0;  // a poll a nanosecond
    bool dead = false;
    const Drive drive{.tokens = kFewTokens, .cuts = some_cuts(), .after_poll = [&] {
                        dead = ++now_ns >= dies_ns;
                        return !dead || now_ns < dies_ns + 100;
                      }};
    FaultyAccelerator accelerator(make_accelerator("cpu", rig.spec),
                                  {.accelerator_dies_ns = dies_ns}, [&] { return now_ns; });
    const auto answers = rig.drive(accelerator, drive);
    EXPECT_TRUE(dies_ns > 0 || answers.empty());
    EXPECT_EQ(dead, dies_ns != kNever);
    EXPECT_EQ(answers.empty() || answers.back().command.token < kFewTokens - 1, dead);
  }
}

TEST(AcceleratorRegistry, KnowsItsNames) {
  EXPECT_EQ(accelerators().at(0).name, "cpu");
  try {
    make_accelerator("cuda ", Rig(1).spec);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no accelerator 'cuda '; it has: cpu"));
  }
}

class CpuAcceleratorDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CpuAcceleratorDeathTest, RefusesWhatNoSchedulerMayAsk) {
  const auto run = [](const std::vector<Command>& commands) {
    Rig rig(kFewTokens);
    const auto accelerator = make_accelerator("cpu", rig.spec);
    TicketId ticket = 0;
    for (Command command : commands) {
      command.ticket = ++ticket;
      accelerator->submit(command);
    }
  };
  const std::vector<BlockId> block = {3}, twice = {3, 3};
  const std::vector<SlotId> slot = {0}, two = {0, 1}, beyond = {40};
  const auto of = [](CommandKind kind) { return Command{.kind = kind, .layer = 0}; };
  const auto release = [&](std::span<const BlockId> blocks, std::span<const SlotId> slots) {
    return Command{.kind = CommandKind::release, .layer = 0, .blocks = blocks, .slots = slots};
  };
  const Command attention = of(CommandKind::attention), begin = of(CommandKind::begin_layer);
  EXPECT_DEATH(run({attention, begin, release(twice, two)}), "block 3 of layer 0 released");
  EXPECT_DEATH(run({attention, begin, release(block, beyond)}), "released in slot 40");
  EXPECT_DEATH(run({attention, release(block, slot)}), "release of layer 0 after attention");
  EXPECT_DEATH(run({attention, begin, attention}), "attention of layer 0 after begin_layer");
}

}  // namespace
}  // namespace leanstream::hardware::test
