// Runs in a world that computes: what it says of importance and of tokens is used.
#include <gtest/gtest.h>

#include "engine/scheduler/selection.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::scheduler {
namespace {

bool is_head(const Command& c) {
  return c.kind == CommandKind::head;
}

bool is_prompt_layer(const Command& c) {
  return c.kind == CommandKind::end_layer && c.token == 0;
}

// Codes of the first `tokens` tokens of a layer, one after the other.
std::vector<std::uint8_t> codes_of(const SmallActivations& truth, TokenId first, TokenId tokens,
                                   LayerId layer) {
  std::vector<std::uint8_t> codes;
  for (TokenId t = first; t < first + tokens; ++t) {
    const auto row = truth.importance(t, layer);
    codes.insert(codes.end(), row.begin(), row.end());
  }
  return codes;
}

TEST(ComputedRun, ThePromptsImportanceIsTheWorldsWhereItSaysSo) {
  SmallRun run;
  run.tokens = 12, run.prompt_tokens = 6, run.slots = 16, run.cache = "lfu";
  run.run();
  SmallRun other = run;
  other.activations = std::make_shared<SmallActivations>(*run.activations);
  for (TokenId t = 0; t < run.prompt_tokens; ++t) {
    for (LayerId l = 0; l < run.layers; ++l) {
      other.activations->set(t, l, std::vector<std::uint8_t>(16, 7));
    }
  }
  other.run();
  EXPECT_NE(other.hash, run.hash) << "the prompt decides what stays";

  std::vector<std::vector<std::uint8_t>> scores;
  for (LayerId l = 0; l < run.layers; ++l) {
    scores.push_back(codes_of(*run.activations, 0, run.prompt_tokens, l));
  }
  other.computes = [&](const Command& c, Completion& done) {
    if (is_prompt_layer(c)) done.scores = scores[static_cast<std::size_t>(c.layer)];
  };
  other.run();
  EXPECT_EQ(other.hash, run.hash);
}

TEST(ComputedRun, ImportanceIsCountedOnlyWhereItIsKnown) {
  SmallRun run;
  run.tokens = 10;
  run.activations = std::make_shared<SmallActivations>(run.tokens, run.layers, run.ffn);
  run.run();
  const RunMetrics known = run.metrics;
  EXPECT_EQ(known.decode.importance_layers, known.decode.layers);

  run.activations->knows = false;
  run.run();
  EXPECT_EQ(run.metrics.decode.importance_layers, 0);
  EXPECT_EQ(run.metrics.decode.importance_share, 0);
  EXPECT_EQ(run.metrics.decode.computed_share, known.decode.computed_share);
  EXPECT_EQ(run.metrics.decode.layers, known.decode.layers);

  // Every third token is audited.
  std::vector<std::uint8_t> truth;
  run.computes = [&](const Command& c, Completion& done) {
    if (c.kind != CommandKind::end_layer || c.token < run.prompt_tokens || c.token % 3 != 0) return;
    truth = codes_of(*run.activations, c.token, 1, c.layer);
    done.scores = truth;
  };
  run.run();
  EXPECT_EQ(run.metrics.decode.importance_layers, 3 * run.layers);
  for (std::size_t i = 0; i < known.tokens.size(); ++i) {
    const TokenRow& row = run.metrics.tokens[i];
    const bool audited = row.token % 3 == 0;
    EXPECT_EQ(row.tally.importance_layers, audited ? run.layers : 0);
    EXPECT_EQ(row.tally.importance_share, audited ? known.tokens[i].tally.importance_share : 0.0);
  }
}

TEST(ComputedRun, ItEndsWithTheTokenWhoseHeadSamplesTheEnd) {
  SmallRun whole;
  whole.tokens = 9, whole.slots = 10;
  whole.run();
  for (const std::size_t heads : {1U, 2U, 5U}) {
    SmallRun run = whole;
    run.end_token = 42;
    std::size_t seen = 0;
    std::vector<float> nll;
    run.computes = [&](const Command& c, Completion& done) {
      if (!is_head(c)) return;
      done.sampled = ++seen == heads ? 42 : static_cast<std::int32_t>(seen);
      nll.assign(c.token + 1 == run.prompt_tokens ? 2 : 1, static_cast<float>(c.token));
      done.nll = nll;
    };
    run.run();
    EXPECT_EQ(run.failure, "");
    ASSERT_EQ(run.metrics.tokens.size(), heads - 1);
    for (std::size_t i = 0; i + 1 < heads; ++i) {
      EXPECT_EQ(run.metrics.tokens[i].end_ns, whole.metrics.tokens[i].end_ns);
    }
    EXPECT_EQ(run.metrics.end_ns,
              heads == 1 ? run.metrics.prefill_end_ns : run.metrics.tokens.back().end_ns);
    ASSERT_EQ(run.metrics.sampled.size(), heads);
    EXPECT_EQ(run.metrics.sampled.back(), 42);
    // Of tokens 1 and 2 by the first head, then of one each.
    ASSERT_EQ(run.metrics.nll.size(), heads + 1);
    EXPECT_EQ(run.metrics.nll[1], 1.0F);
    EXPECT_EQ(run.metrics.nll.back(), static_cast<float>(heads));
  }
}

TEST(ComputedRun, AnUnknownSampleIsNoEnd) {
  SmallRun run;
  run.end_token = kNone;
  run.run();
  EXPECT_EQ(run.metrics.tokens.size(), 4U);
  EXPECT_EQ(run.metrics.sampled, std::vector<std::int32_t>(5, kNone));
}

}  // namespace
}  // namespace leanstream::scheduler
