#include "engine/transformer/recorder.h"

#include <cmath>

#include <gtest/gtest.h>

#include "engine/transformer/tensor_type.h"
#include "tests/transformer/smollm2.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

// Keeps the input and the MLP input of every layer of one chunk.
class Inputs final : public Observer {
 public:
  void layer_input(LayerId, const Matrix& x) override { before.push_back(x); }
  void mlp(MlpStep& step) override {
    residual.push_back(step.residual);
    input.push_back(step.input);
    importance.push_back(step.importance);
  }
  std::vector<Matrix> before, residual, input, importance;
};

class TinyRecorder : public testing::Test {
 protected:
  Model model_{GgufFile(write_temporary("tiny.gguf", tiny_model())), 1};
  std::vector<std::int32_t> ids_{5, 80, 200, 17, 42};

  void expect_feature(const Recorder& recorder, LayerId layer, int slot, const Matrix& want) {
    for (std::int64_t t = 0; t < want.rows(); ++t) {
      for (std::size_t i = 0; i < 64; ++i) {
        const auto row = static_cast<std::size_t>((t * 2 + layer) * kFeatureSlots + slot);
        const float got = half_to_float(recorder.features()[row * 64 + i]);
        ASSERT_NEAR(got, want[t][i], 2e-3F * (1 + std::abs(want[t][i]))) << slot;
      }
    }
  }
};

TEST_F(TinyRecorder, FeaturesAreWhatTheirIndexSays) {
  Recorder recorder(model_, {1, 0.2, true});
  Inputs inputs;
  nll_of_text(model_, ids_, recorder);
  nll_of_text(model_, ids_, inputs);
  ASSERT_EQ(recorder.tokens(), 5);
  expect_feature(recorder, 1, 0, inputs.before[0]);
  expect_feature(recorder, 1, 1, inputs.input[1]);
  expect_feature(recorder, 1, 2, inputs.residual[0]);
  expect_feature(recorder, 1, 10, inputs.before[1]);
  for (int slot = 0; slot < kFeatureSlots; ++slot) {
    expect_feature(recorder, 0, slot, slot == 1 ? inputs.input[0] : inputs.before[0]);
  }
  for (std::size_t j = 0; j < 96; ++j) {
    EXPECT_EQ(recorder.importance()[(3 * 2 + 1) * 96 + j], inputs.importance[1][3][j]);
  }
}

TEST_F(TinyRecorder, ChunksOfOneTokenRecordTheSame) {
  Recorder whole(model_, {0.4, 0.2, true}), single(model_, {0.4, 0.2, true});
  nll_of_text(model_, ids_, whole);
  KvCache cache(2, model_.shape().kv_size(), 5);
  Matrix x;
  for (const std::int32_t& id : ids_) forward(model_, cache, std::span(&id, 1), single, x);
  EXPECT_EQ(whole.importance(), single.importance());
  EXPECT_EQ(whole.features(), single.features());
  for (std::size_t i = 0; i < whole.recall().size(); ++i) {
    EXPECT_NEAR(whole.recall()[i], single.recall()[i], 1e-6);
  }
}

class SmolLm2Recorder : public SmolLm2Test {};

// Measured on other texts: 0.575 from the input of the layer before, 0.620 after its attention,
// 0.742 after its MLP.
TEST_F(SmolLm2Recorder, RecallRisesWithTheStages) {
  const auto& s = smollm2();
  auto ids = s.tokenizer.encode(
      "In the beginning God created the heaven and the earth. And the "
      "earth was without form, and void; and darkness was upon the face "
      "of the deep. And the Spirit of God moved upon the face of the "
      "waters. And God said, Let there be light: and there was light.");
  Recorder recorder(s.model, {1, 0.2, false});
  nll_of_text(s.model, ids, recorder);
  const auto recall = recorder.recall();
  std::vector<double> mean(kFeatureSlots);
  for (std::size_t l = 1; l < 30; ++l) {
    for (std::size_t f = 0; f < mean.size(); ++f) {
      mean[f] += double{recall[l * mean.size() + f]} / 29;
    }
  }
  EXPECT_NEAR(mean[0], 0.56, 0.05);
  EXPECT_NEAR(mean[1], 1, 1e-9);
  EXPECT_NEAR(mean[2], 0.61, 0.05);
  EXPECT_NEAR(mean[10], 0.75, 0.05);
  for (std::size_t f = 3; f < mean.size(); ++f) EXPECT_GT(mean[f], mean[f - 1]);
}

}  // namespace
}  // namespace leanstream::transformer
