// Logs of worlds that compute: they hold scores themselves, so nothing has to make them again.
#include <gmock/gmock.h>

#include "engine/backend/log_text.h"
#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "tests/backend/small_log.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::SmallRun;
using testing::HasSubstr;

// A run whose world says what is important and which token comes next.
class ScoresTest : public LogTest {
 protected:
  ScoresTest() {
    run_.tokens = 12, run_.prompt_tokens = 4, run_.slots = 14, run_.cache = "lfu";
    run_.activations =
        std::make_shared<scheduler::SmallActivations>(run_.tokens, run_.layers, run_.ffn);
    run_.end_token = 9;
    SmallRun computed = run_;
    computed.computes = [this](const Command& c, Completion& done) { answer(c, done); };
    log_ = record(computed, "whole.log", KeepScores::whole);
    run_.activations->knows = false;
  }

  void answer(const Command& c, Completion& done) {
    if (c.kind == CommandKind::head) {
      done.sampled = c.token == 9 ? 9 : 1;
      nll_.assign(1, 0.5F * static_cast<float>(c.token));
      done.nll = nll_;
    }
    if (c.kind != CommandKind::end_layer || c.token % 4 != 0) return;
    codes_.clear();
    for (TokenId t = c.token; t < c.token + c.tokens; ++t) {
      const auto row = run_.activations->importance(t, c.layer);
      codes_.insert(codes_.end(), row.begin(), row.end());
    }
    done.scores = codes_;
  }

  SmallRun run_;
  std::string log_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> nll_;
};

TEST_F(ScoresTest, ReplaysWithoutThePredictorAndTheTruth) {
  // The prompt's truth is no longer to be had either.
  for (TokenId t = 0; t < run_.prompt_tokens; ++t) {
    for (LayerId l = 0; l < run_.layers; ++l) {
      run_.activations->set(t, l, std::vector<std::uint8_t>(16, 3));
    }
  }
  SmallScheduler small(run_);
  WorldSpec spec = small.world_spec(log_);
  spec.predictor = nullptr;
  EXPECT_EQ(replay_in(small, spec, log_), "");
  const auto& metrics = small.scheduler().metrics();
  ASSERT_EQ(metrics.tokens.size(), 6U) << "tokens 4 … 9";
  EXPECT_EQ(metrics.decode.importance_layers, 2 * run_.layers) << "tokens 4 and 8";
  EXPECT_EQ(metrics.sampled, (std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 9}));
  EXPECT_EQ(metrics.nll, (std::vector<float>{1.5F, 2, 2.5F, 3, 3.5F, 4, 4.5F}));
}

TEST_F(ScoresTest, AreAmongWhatIsCompared) {
  LogReader reader(log_);
  LogBatch batch;
  std::int64_t of_layer = -1, of_prediction = -1;
  for (std::int64_t i = 0; reader.next(batch); ++i) {
    for (const Completion& c : batch.completions) {
      if (c.scores.size() == 16 && of_prediction < 0) of_prediction = i;
      if (c.scores.size() == 64 && of_layer < 0) of_layer = i;
    }
  }
  ASSERT_GE(of_layer, 0);
  ASSERT_GE(of_prediction, 0);
  const auto other_codes = [](LogBatch& changed) {
    for (std::size_t i = 0; i < changed.completions.size(); ++i) {
      Completion& c = changed.completions[i];
      if (c.scores.empty()) continue;
      auto& codes = changed.codes.take();
      codes.assign(c.scores.size(), 5);
      c.scores = codes;
      changed.scores_hash[i] = hash64(std::as_bytes(c.scores));
    }
  };
  for (const std::int64_t at : {of_layer, of_prediction}) {
    const std::string changed = edit(
        log_, "changed.log",
        [&](std::int64_t i, LogBatch& b) {
          if (i == at) other_codes(b);
        },
        KeepScores::whole);
    EXPECT_THAT(replay_by_scores(run_, changed), HasSubstr("differs from")) << at;
    EXPECT_THAT(first_difference(log_, changed, {"before", "after"}),
                HasSubstr("the hash of the scores"));
  }
}

TEST_F(ScoresTest, ThatNoWorldGivesAreRefused) {
  const auto refusal = [&](KeepScores keep, const auto& change) -> std::string {
    const std::string changed = edit(
        log_, "changed.log",
        [&](std::int64_t, LogBatch& b) {
          for (Completion& c : b.completions) change(c);
        },
        keep);
    try {
      return "not refused: " + replay_by_scores(run_, changed);
    } catch (const UserError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refusal(KeepScores::hash, [](Completion&) {}),
              HasSubstr("0 scores of a command end_layer"));
  EXPECT_THAT(refusal(KeepScores::whole, [](Completion& c) { c.scores = c.scores.first(0); }),
              HasSubstr("0 scores of a command end_layer"));
  EXPECT_THAT(refusal(KeepScores::whole,
                      [](Completion& c) {
                        if (!c.scores.empty()) c.scores = c.scores.first(7);
                      }),
              HasSubstr("scores that do not have their hash"));
}

}  // namespace
}  // namespace leanstream::backend
