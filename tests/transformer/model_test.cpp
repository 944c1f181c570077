#include "engine/transformer/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/generate.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

GgufFile tiny_file(const TinyOptions& options = {}) {
  return GgufFile(write_temporary("tiny.gguf", tiny_model(options)));
}

std::vector<std::int32_t> some_ids(std::int32_t count, std::uint64_t seed = 1) {
  RandomStream random(seed, "tests.ids");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (auto& id : ids) id = static_cast<std::int32_t>(random.next_below(263));
  return ids;
}

TEST(Model, OneTokenAtATimeEqualsABatchToTheLastBit) {
  const Model model(tiny_file(), 2);
  const auto ids = some_ids(37);
  Observer nothing;
  KvCache batch_cache(2, model.shape().kv_size(), 37), cache(2, model.shape().kv_size(), 37);
  Matrix batch, x;
  forward(model, batch_cache, ids, nothing, batch);
  for (std::int64_t t = 0; t < 37; ++t) {
    forward(model, cache, std::span(ids).subspan(static_cast<std::size_t>(t), 1), nothing, x);
    ASSERT_TRUE(std::equal(x[0].begin(), x[0].end(), batch[t].begin())) << t;
  }
}

TEST(Model, TheNumberOfThreadsChangesNothing) {
  const auto ids = some_ids(50);
  Observer nothing;
  EXPECT_EQ(nll_of_text(Model(tiny_file(), 1), ids, nothing),
            nll_of_text(Model(tiny_file(), 3), ids, nothing));
}

TEST(Model, AListOfNeuronsEqualsTheMaskedMlp) {
  const Model model(tiny_file(), 1);
  Matrix x, input, h;
  model.embed(some_ids(1), x);
  model.mlp_input(1, x, input);
  model.gate_up(1, input, h);
  std::vector<std::int32_t> neurons;
  for (std::int32_t j = 0; j < 96; ++j) {
    if (j % 3 == 1) {
      neurons.push_back(j);
    } else {
      h[0][static_cast<std::size_t>(j)] = 0;
    }
  }
  Matrix masked = x, listed = x;
  model.add_down(1, h, masked);
  model.add_mlp(1, input[0], neurons, listed[0]);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(masked[0][i], listed[0][i], 1e-5);
}

TEST(Model, ImportanceIsTheLengthOfWhatANeuronAdds) {
  const Model model(tiny_file(), 1);
  Matrix x, input, h, s;
  model.embed(some_ids(1), x);
  model.mlp_input(0, x, input);
  model.gate_up(0, input, h);
  model.importance(0, h, s);
  for (std::int32_t j = 0; j < 96; j += 7) {
    std::vector<float> added(64);
    model.add_mlp(0, input[0], std::span(&j, 1), added);
    const double squares = std::inner_product(added.begin(), added.end(), added.begin(), 0.0);
    EXPECT_NEAR(std::sqrt(squares), s[0][static_cast<std::size_t>(j)], 1e-5);
  }
}

// A position-free model of one token: attention gives its value back, so all can be checked by
// hand.
TEST(Model, OneTokenAgreesWithTheFormulas) {
  const Model model(tiny_file(), 1);
  const auto& w = model.layer(0);
  Matrix x, before;
  model.embed(some_ids(1), x);
  before = x;
  KvCache cache(2, model.shape().kv_size(), 1);
  model.attend(0, cache, x);
  double squares = 0;
  for (const float v : before[0]) squares += double{v} * double{v};
  const double scale = 1 / std::sqrt(squares / 64 + 1e-5);
  std::vector<double> value(32);
  for (std::int64_t o = 0; o < 32; ++o) {
    for (std::size_t i = 0; i < 64; ++i) {
      value[static_cast<std::size_t>(o)] += scale * double{before[0][i]} * double{w.value[o][i]};
    }
  }
  for (std::int64_t o = 0; o < 64; ++o) {
    double sum = double{before[0][static_cast<std::size_t>(o)]};
    for (std::size_t i = 0; i < 64; ++i) {  // heads 0, 1 share value head 0; 2, 3 share 1
      sum += value[i / 32 * 16 + i % 16] * double{w.output[o][i]};
    }
    EXPECT_NEAR(x[0][static_cast<std::size_t>(o)], sum, 1e-4);
  }
}

TEST(Model, TiedAndUntiedHeadsDiffer) {
  Observer nothing;
  const auto ids = some_ids(9);
  const Model tied(tiny_file(), 1), untied(tiny_file({TensorType::kF32, false, 1}), 1);
  EXPECT_EQ(nll_of_text(tied, ids, nothing).size(), 8U);
  EXPECT_NE(nll_of_text(tied, ids, nothing), nll_of_text(untied, ids, nothing));
}

TEST(Model, QuantisedModelsComeNearTheExactOne) {
  Observer nothing;
  const auto ids = some_ids(40);
  const auto exact = perplexity(nll_of_text(Model(tiny_file(), 1), ids, nothing), 0);
  for (const TensorType type : all_tensor_types()) {
    const Model model(tiny_file({type, true, 1}), 1);
    EXPECT_NEAR(std::log(perplexity(nll_of_text(model, ids, nothing), 0) / exact), 0, 0.6);
  }
}

TEST(Model, WrongModelsAreExplained) {
  const auto refused = [](const GgufBuilder& builder) {
    const GgufFile file(write_temporary("wrong.gguf", builder.bytes()));
    EXPECT_THROW(Model(file, 1), UserError);
  };
  refused(tiny_metadata());  // no tensors
  GgufBuilder other;
  other.add_text("general.architecture", "qwen2");
  refused(other);
  GgufBuilder scaled = tiny_metadata();
  scaled.add_text("llama.rope.scaling.type", "yarn");
  refused(scaled);
}

TEST(Generate, EqualSeedsGiveEqualTokensAndNllOfTheText) {
  const Model model(tiny_file(), 2);
  const auto prompt = some_ids(5);
  Observer nothing;
  const auto run = [&](std::uint64_t seed) {
    RandomStream random(seed, "transformer.sampling");
    return generate(model, prompt, 20, {1.0, 50, 0.95}, random, -1, nothing);
  };
  const auto first = run(1), again = run(1), other = run(2);
  EXPECT_EQ(first.ids, again.ids);
  EXPECT_NE(first.ids, other.ids);
  EXPECT_EQ(first.ids.size(), 25U);
  EXPECT_EQ(first.nll, nll_of_text(model, first.ids, nothing));
}

TEST(Generate, GreedyTakesTheLikeliestAndStopsAtTheEnd) {
  const Model model(tiny_file(), 1);
  Observer nothing;
  RandomStream random(1, "transformer.sampling");
  const auto free = generate(model, some_ids(5), 4, {}, random, -1, nothing);
  const auto stopped = generate(model, some_ids(5), 4, {}, random, free.ids[5], nothing);
  EXPECT_EQ(stopped.ids.size(), 6U);
  EXPECT_EQ(stopped.ids[5], free.ids[5]);
}

}  // namespace
}  // namespace leanstream::transformer
