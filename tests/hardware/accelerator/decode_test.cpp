// What the accelerator computes is what the model computes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/hardware/accelerator/registry.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/generate.h"
#include "tests/hardware/accelerator/rig.h"

namespace leanstream::hardware::test {
namespace {

using scheduler::CommandKind;
using transformer::KvCache;
using transformer::Matrix;

constexpr TokenId kTokens = 16;

void expect_near(std::span<const float> actual, std::span<const float> right,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), right.size()) << what;
  float most = 1;
  for (const float v : right) most = std::max(most, std::abs(v));
  for (std::size_t i = 0; i < right.size(); ++i) {
    ASSERT_NEAR(actual[i], right[i], 2e-5F * most) << what << ", element " << i;
  }
}

// The same commands on the model, one token at a time; every residual is compared.
void expect_as_model(const std::vector<Answer>& answers, const Cuts& cuts,
                     std::span<const std::int32_t> ids, std::span<const float> nll) {
  const transformer::Model& model = tiny_flash().model;
  KvCache cache(model.shape().layers, model.shape().kv_size(), kTokens);
  Matrix x, input, logits;
  auto answer = answers.begin();
  for (TokenId t = 0; t < kTokens; ++t) {
    model.embed(ids.subspan(static_cast<std::size_t>(t), 1), x);
    for (LayerId l = 0; l < model.shape().layers; ++l) {
      const std::string where = fmt::format("token {} layer {}", t, l);
      model.attend(l, cache, x);
      expect_near(answer++->residual, x[0], where + " attention");
      ASSERT_EQ(answer++->command.kind, CommandKind::begin_layer);
      model.mlp_input(l, x, input);
      for (const auto& segment : cuts.at({t, l})) {
        model.add_mlp(l, input[0], tiny_flash().neurons(l, segment), x[0]);
        expect_near(answer++->residual, x[0], where + " release");
      }
      ASSERT_EQ(answer->command.kind, CommandKind::end_layer);
      expect_near(answer++->residual, x[0], where + " end");
    }
    cache.advance(1);
    model.head(x, logits);
    const auto next = static_cast<std::size_t>(t) + 1;
    if (next < ids.size()) {
      EXPECT_EQ(answer->sampled, ids[next]);
      EXPECT_NEAR(nll[next - 1], transformer::nll_of_row(logits[0], ids[next]), 1e-4);
    }
    ++answer;
  }
  EXPECT_EQ(answer, answers.end());
}

class Accelerators : public testing::TestWithParam<int> {};

TEST_P(Accelerators, DecodeAsTheModelWhateverTheBlocksAndSegments) {
  RandomStream random(11, "tests.cuts");
  for (const double share : {1.0, 0.4}) {
    Rig rig(kTokens);
    rig.spec.threads = GetParam();
    const auto accelerator = make_accelerator("cpu", rig.spec);
    const Drive drive{.cuts = random_cuts(kTokens, share, random)};
    const auto answers = rig.drive(*accelerator, drive);
    ASSERT_EQ(accelerator->nll().size(), kTokens - 1);
    expect_as_model(answers, drive.cuts, rig.spec.feed.ids, accelerator->nll());
  }
}

TEST_P(Accelerators, APromptTogetherIsItsTokensOneByOne) {
  // More tokens than share a partial result, and a prompt of one token.
  for (const TokenId prompt : {1, 7, 21}) {
    RandomStream random(12, "tests.cuts");
    Rig rig(24);
    rig.spec.threads = GetParam();
    const Cuts cuts = random_cuts(24, 1, random);
    const auto together = make_accelerator("cpu", rig.spec);
    const auto single = make_accelerator("cpu", rig.spec);
    const auto answers = rig.drive(*together, {.prompt = prompt, .tokens = 24, .cuts = cuts});
    const auto right = rig.drive(*single, {.prompt = 1, .tokens = 24, .cuts = cuts});
    expect_near(together->nll(), single->nll(), "likelihoods");
    expect_near(answers.back().residual, right.back().residual, "the last residual");
    std::vector<float> last_layer;  // of the prompt's tokens
    for (const Answer& answer : right) {
      if (answer.command.kind == CommandKind::end_layer && answer.command.layer == 1 &&
          answer.command.token < prompt) {
        last_layer.insert(last_layer.end(), answer.residual.begin(), answer.residual.end());
      }
    }
    const auto end = std::find_if(answers.begin(), answers.end(), [](const Answer& answer) {
      return answer.command.kind == CommandKind::end_layer && answer.command.layer == 1;
    });
    expect_near(end->residual, last_layer, "residuals of the prompt");
  }
}

TEST_P(Accelerators, ImportanceOfAPromptIsInTheOrderOfTheModel) {
  for (const TokenId prompt : {1, 19}) {
    RandomStream random(13, "tests.cuts");
    Rig rig(20);
    rig.spec.threads = GetParam();
    const auto answers =
        rig.drive({.prompt = prompt, .tokens = 20, .cuts = random_cuts(20, 1, random)});
    const transformer::Model& model = tiny_flash().model;
    KvCache cache(2, model.shape().kv_size(), 20);
    Matrix x, input, h, importance;
    model.embed(std::span(rig.spec.feed.ids).first(static_cast<std::size_t>(prompt)), x);
    for (const Answer& answer : answers) {
      if (answer.command.kind != CommandKind::end_layer) continue;
      if (answer.command.token > 0) {
        EXPECT_TRUE(answer.importance.empty());
        continue;
      }
      const LayerId l = answer.command.layer;
      model.attend(l, cache, x);
      model.mlp_input(l, x, input);
      model.gate_up(l, input, h);
      model.importance(l, h, importance);
      expect_near(answer.importance,
                  {importance.view().data, static_cast<std::size_t>(prompt * model.shape().ffn)},
                  fmt::format("importance of layer {}", l));
      model.add_down(l, h, x);
    }
  }
}

TEST_P(Accelerators, GoOnWithTheLikeliestTokensBeyondTheGivenOnes) {
  RandomStream random(14, "tests.cuts");
  Rig rig(kTokens);
  rig.spec.threads = GetParam();
  rig.spec.feed.ids.resize(5);
  rig.spec.keep_nll = false;
  const auto answers =
      rig.drive({.prompt = 5, .tokens = kTokens, .cuts = random_cuts(kTokens, 1, random)});
  transformer::Observer nothing;
  RandomStream unused(1, "tests.sampling");
  const auto right = transformer::generate(tiny_flash().model, rig.spec.feed.ids, kTokens - 5, {},
                                           unused, -1, nothing);
  std::vector<std::int32_t> ids = rig.spec.feed.ids;
  for (const Answer& answer : answers) {
    if (answer.command.kind == CommandKind::head) ids.push_back(answer.sampled);
  }
  ids.pop_back();  // after the last token of the run
  EXPECT_EQ(ids, right.ids);
}

INSTANTIATE_TEST_SUITE_P(Threads, Accelerators, testing::Values(1, 2, 4));

// To the last bit; NaN is equal to nothing.
void expect_equal(const std::vector<Answer>& a, const std::vector<Answer>& b,
                  const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].sampled, b[i].sampled) << what << ", answer " << i;
    ASSERT_TRUE(a[i].residual == b[i].residual) << what << ", answer " << i;
    ASSERT_EQ(a[i].importance, b[i].importance) << what << ", answer " << i;
  }
}

TEST(CpuAccelerator, EqualSegmentsGiveEqualBitsWhateverTheThreadsAndTheSynchronisation) {
  RandomStream random(15, "tests.cuts");
  Rig rig(kTokens);
  rig.spec.feed.sampling = {.temperature = 0.8};
  rig.spec.feed.ids.resize(9);
  const Drive drive{.prompt = 4, .cuts = random_cuts(kTokens, 1, random)};
  const auto right = rig.drive(drive);
  for (const int threads : {1, 2, 4}) {
    for (const auto how : {backend::Synchronisation::flags, backend::Synchronisation::polling,
                           backend::Synchronisation::device}) {
      rig.spec.threads = threads;
      rig.spec.synchronisation = how;
      expect_equal(rig.drive(drive), right, fmt::format("{} threads", threads));
    }
  }
}

// Some hundreds of runs; prefill, decode, delays, cuts and threads of each by its seed.
TEST(CpuAccelerator, NeitherDeadlocksNorDependsOnTheMoment) {
  constexpr TokenId kFew = 4;
  const int runs = 300;
  for (int run = 0; run < runs; ++run) {
    RandomStream random(static_cast<std::uint64_t>(run), "tests.stress");
    Rig rig(kFew);
    const Drive right_drive{.prompt = 1 + static_cast<TokenId>(random.next_below(3)),
                            .tokens = kFew,
                            .cuts = random_cuts(kFew, run % 3 == 0 ? 0.3 : 1, random)};
    const auto right = rig.drive(right_drive);
    Drive drive = right_drive;
    drive.delays = &random;
    rig.spec.threads = 1 + run % 3;
    rig.spec.synchronisation = static_cast<backend::Synchronisation>(random.next_below(3));
    const auto answers = rig.drive(drive);
    expect_equal(answers, right, fmt::format("run {}", run));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace leanstream::hardware::test
