// Redundant reads that are overtaken by the reads of their layer's next step, or by the end of the
// answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

// Answers commands in order of tickets.
class OrderlyWorld : public backend::Backend {
 public:
  OrderlyWorld(const policy::Predictor& predictor, std::int32_t ffn)
      : predictor_(predictor), codes_(static_cast<std::size_t>(ffn)) {}

  TimeNs now() override { return now_; }

 protected:
  // The next batch, empty, one nanosecond later.
  void begin_batch() {
    batch_.clear();
    ++now_;
  }
  Completion& complete(const Command& c) {
    batch_.push_back({.ticket = c.ticket, .time_ns = now_});
    if (c.kind == CommandKind::predict) {
      predictor_.predict(c.token, c.layer, c.feature, codes_);
      batch_.back().scores = codes_;
    }
    return batch_.back();
  }
  static Command pop(std::vector<Command>& from) {
    const Command c = from.front();
    from.erase(from.begin());
    return c;
  }
  // A read of layer 0 for a token that has not begun.
  bool is_ahead(const Command& c) {
    if (c.kind == CommandKind::attention && c.layer == 0) begun_ = c.token;
    return c.kind == CommandKind::read && c.layer == 0 && c.token > begun_;
  }

  std::vector<Command> outstanding_;
  std::vector<Completion> batch_;

 private:
  const policy::Predictor& predictor_;
  std::vector<std::uint8_t> codes_;
  TimeNs now_ = 0;
  TokenId begun_ = -1;
};

// A budget and rules under which a layer's prefetch is many single reads.
SmallRun tight_run(std::uint64_t seed) {
  SmallRun run;
  run.seed = seed;
  run.layers = 3;
  run.tokens = 8;
  run.prompt_tokens = 0;
  run.slots = 8 + static_cast<SlotId>(seed % 5);
  run.queue_depth = 3;
  run.io_segment_sync = IoSegmentSync::none;
  run.publish = Publish::block;
  run.cache = "lru";
  return run;
}

// Answers everything at once, in order of tickets, but holds back one read of layer 0 that was
// asked for before its token began, until a later token's prefetch of layer 0 has arrived.
class HoldingWorld final : public OrderlyWorld {
 public:
  using OrderlyWorld::OrderlyWorld;

  void submit(std::span<const Command> commands) override {
    for (const Command& c : commands) {
      if (is_ahead(c) && held_.ticket == 0 && !overtaken) {
        held_ = c;
      } else {
        outstanding_.push_back(c);
      }
    }
  }

  std::span<const Completion> wait(TimeNs) override {
    begin_batch();
    const bool only_held = outstanding_.empty();
    if (!only_held) {
      const Command c = pop(outstanding_);  // one a batch
      complete(c);
      overtaken = overtaken || (held_.ticket != 0 && c.kind == CommandKind::read && c.layer == 0 &&
                                c.token > held_.token);
    }
    if (held_.ticket != 0 && (overtaken || only_held)) complete(std::exchange(held_, {}));
    return batch_;
  }

  bool overtaken = false;

 private:
  Command held_;
};

TEST(LateRead, ArrivesForTheStepToComeNotForOneLongOver) {
  bool overtaken = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SmallRun run = tight_run(seed);
    std::optional<HoldingWorld> world;
    run.run_in([&](const policy::Predictor& predictor) -> backend::Backend& {
      return world.emplace(predictor, run.ffn);
    });
    EXPECT_EQ(run.failure, "");
    overtaken = overtaken || world->overtaken;
  }
  EXPECT_TRUE(overtaken) << "no run had the case";
}

// Answers at once, one command a batch in order of tickets; but of the reads for a token that has
// not begun all but the first are held back, and arrive with a head that ends the answer.
class EndingWorld final : public OrderlyWorld {
 public:
  static constexpr std::int32_t kEndToken = 5;
  using OrderlyWorld::OrderlyWorld;

  void submit(std::span<const Command> commands) override {
    for (const Command& c : commands) {
      const bool ahead = is_ahead(c);
      (ahead && c.token == ahead_of_ ? held_ : outstanding_).push_back(c);
      if (ahead) ahead_of_ = c.token;
    }
  }

  std::span<const Completion> wait(TimeNs) override {
    begin_batch();
    const Command c = pop(outstanding_.empty() ? held_ : outstanding_);
    Completion& done = complete(c);
    if (c.kind == CommandKind::head) {
      ended_with_reads = !held_.empty();
      done.sampled = ended_with_reads ? kEndToken : 1;
      while (!held_.empty()) complete(pop(held_));
    }
    return batch_;
  }

  bool ended_with_reads = false;

 private:
  TokenId ahead_of_ = -1;
  std::vector<Command> held_;
};

TEST(LateRead, OfATokenThatNeverComesDoesNotGoBackInTime) {
  bool met = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SmallRun run = tight_run(seed);
    run.end_token = EndingWorld::kEndToken;
    std::optional<EndingWorld> world;
    run.run_in([&](const policy::Predictor& predictor) -> backend::Backend& {
      return world.emplace(predictor, run.ffn);
    });
    EXPECT_EQ(run.failure, "");
    met = met || world->ended_with_reads;
  }
  EXPECT_TRUE(met) << "no run had the case";
}

}  // namespace
}  // namespace leanstream::scheduler
