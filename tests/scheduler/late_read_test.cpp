// Redundant reads that are overtaken by the reads of their layer's next step, or by the end of the
// answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

// Answers everything at once, in order of tickets, but holds back one read of layer 0 that was
// asked for before its token began, until a later token's prefetch of layer 0 has arrived.
class HoldingWorld final : public backend::Backend {
 public:
  HoldingWorld(const policy::Predictor& predictor, std::int32_t ffn)
      : predictor_(predictor), codes_(static_cast<std::size_t>(ffn)) {}

  TimeNs now() override { return now_; }

  void submit(std::span<const Command> commands) override {
    for (const Command& c : commands) {
      if (c.kind == CommandKind::attention && c.layer == 0) begun_ = c.token;
      const bool ahead = c.kind == CommandKind::read && c.layer == 0 && c.token > begun_;
      if (ahead && held_.ticket == 0 && !overtaken) {
        held_ = c;
      } else {
        outstanding_.push_back(c);
      }
    }
  }

  std::span<const Completion> wait(TimeNs) override {
    batch_.clear();
    ++now_;
    const bool only_held = outstanding_.empty();
    if (!only_held) {
      const Command c = outstanding_.front();  // one a batch
      outstanding_.erase(outstanding_.begin());
      complete(c);
      overtaken = overtaken || (held_.ticket != 0 && c.kind == CommandKind::read && c.layer == 0 &&
                                c.token > held_.token);
    }
    if (held_.ticket != 0 && (overtaken || only_held)) complete(std::exchange(held_, {}));
    return batch_;
  }

  bool overtaken = false;

 private:
  void complete(const Command& c) {
    batch_.push_back({.ticket = c.ticket, .time_ns = now_});
    if (c.kind != CommandKind::predict) return;
    predictor_.predict(c.token, c.layer, c.feature, codes_);
    batch_.back().scores = codes_;
  }

  const policy::Predictor& predictor_;
  std::vector<std::uint8_t> codes_;
  TimeNs now_ = 0;
  TokenId begun_ = -1;
  std::vector<Command> outstanding_;
  std::vector<Completion> batch_;
  Command held_;
};

TEST(LateRead, ArrivesForTheStepToComeNotForOneLongOver) {
  bool overtaken = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
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
class EndingWorld final : public backend::Backend {
 public:
  static constexpr std::int32_t kEndToken = 5;

  EndingWorld(const policy::Predictor& predictor, std::int32_t ffn)
      : predictor_(predictor), codes_(static_cast<std::size_t>(ffn)) {}

  TimeNs now() override { return now_; }

  void submit(std::span<const Command> commands) override {
    for (const Command& c : commands) {
      if (c.kind == CommandKind::attention && c.layer == 0) begun_ = c.token;
      const bool ahead = c.kind == CommandKind::read && c.layer == 0 && c.token > begun_;
      (ahead && c.token == ahead_of_ ? held_ : outstanding_).push_back(c);
      if (ahead) ahead_of_ = c.token;
    }
  }

  std::span<const Completion> wait(TimeNs) override {
    batch_.clear();
    ++now_;
    const Command c = outstanding_.empty() ? pop(held_) : pop(outstanding_);
    batch_.push_back({.ticket = c.ticket, .time_ns = now_});
    if (c.kind == CommandKind::predict) {
      predictor_.predict(c.token, c.layer, c.feature, codes_);
      batch_.back().scores = codes_;
    }
    if (c.kind == CommandKind::head) {
      ended_with_reads = !held_.empty();
      batch_.back().sampled = ended_with_reads ? kEndToken : 1;
      while (!held_.empty()) batch_.push_back({.ticket = pop(held_).ticket, .time_ns = now_});
    }
    return batch_;
  }

  bool ended_with_reads = false;

 private:
  static Command pop(std::vector<Command>& from) {
    const Command c = from.front();
    from.erase(from.begin());
    return c;
  }

  const policy::Predictor& predictor_;
  std::vector<std::uint8_t> codes_;
  TimeNs now_ = 0;
  TokenId begun_ = -1, ahead_of_ = -1;
  std::vector<Command> outstanding_, held_;
  std::vector<Completion> batch_;
};

TEST(LateRead, OfATokenThatNeverComesDoesNotGoBackInTime) {
  bool met = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
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
