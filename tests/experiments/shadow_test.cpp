// The shadow of a live run: told what a device computes, it knows what is important.
#include "experiments/run/shadow.h"

#include <gtest/gtest.h>

#include "engine/transformer/forward.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::run {
namespace {

namespace tf = leanstream::transformer;
using scheduler::Command;
using scheduler::CommandKind;

constexpr std::int32_t kLayers = 2;
constexpr std::int64_t kHidden = 64, kFfn = 96;

// All that a dense pass over a text computes: what a device would say.
class Recording final : public tf::Observer {
 public:
  struct Layer {
    std::vector<float> input, attended, importance;  // [tokens, …]
  };
  void layer_input(LayerId l, const tf::Matrix& x) override { copy(x, layers[at(l)].input); }
  void mlp(tf::MlpStep& step) override {
    copy(step.residual, layers[at(step.layer)].attended);
    copy(step.importance, layers[at(step.layer)].importance);
  }
  std::array<Layer, kLayers> layers;

 private:
  static std::size_t at(LayerId l) { return static_cast<std::size_t>(l); }
  static void copy(const tf::Matrix& from, std::vector<float>& to) {
    const auto view = from.view();
    to.assign(view.data, view.data + view.rows * view.columns);
  }
};

std::span<const float> rows(const std::vector<float>& m, std::int64_t width, std::int64_t first,
                            std::int64_t count) {
  return std::span(m).subspan(static_cast<std::size_t>(first * width),
                              static_cast<std::size_t>(count * width));
}

class ShadowTest : public testing::TestWithParam<TokenId> {
 protected:
  ShadowTest() {
    input_.ids = {104, 101, 108, 111, 32, 119, 111, 114, 108, 100};
    input_.tokens = static_cast<TokenId>(input_.ids.size());
    input_.prompt_tokens = GetParam();
    const tf::Model model(tf::GgufFile(path_), 1);
    tf::KvCache cache(kLayers, model.shape().kv_size(), input_.tokens);
    tf::Matrix x;
    tf::forward(model, cache, input_.ids, recording_, x);
  }

  void tell(Shadow& shadow, CommandKind kind, LayerId layer, TokenId token, std::int32_t tokens,
            std::span<const float> residual) const {
    Command command;
    command.kind = kind, command.layer = layer, command.token = token, command.tokens = tokens;
    shadow.ended(command, {.residual = residual});
  }
  const Recording::Layer& layer(LayerId l) const {
    return recording_.layers[static_cast<std::size_t>(l)];
  }
  std::span<const float> input(LayerId l, TokenId first, TokenId count) const {
    return rows(layer(l).input, kHidden, first, count);
  }
  std::span<const float> attended(LayerId l, TokenId first, TokenId count) const {
    return rows(layer(l).attended, kHidden, first, count);
  }
  std::vector<std::uint8_t> truth(const Shadow& shadow, TokenId token, LayerId l) const {
    std::vector<std::uint8_t> codes;
    shadow.encode(l, rows(layer(l).importance, kFfn, token, 1), codes);
    return codes;
  }
  // Neurons whose code is not the truth's, nor one beside it: sums of one token and of many differ
  // in nothing, but nothing hangs on that here.
  int wrong(Shadow& shadow, TokenId token, LayerId l) const {
    const auto codes = shadow.importance(token, l);
    const auto right = truth(shadow, token, l);
    int count = 0;
    for (std::size_t j = 0; j < right.size(); ++j) count += std::abs(codes[j] - right[j]) > 1;
    return count;
  }

  std::string path_ = tf::write_temporary("shadow.gguf", tf::tiny_model());
  LiveInput input_;
  Recording recording_;
};

TEST_P(ShadowTest, KnowsTheTruthOfALayerOnceItsInputIsKnown) {
  Shadow shadow(path_, input_);
  ASSERT_EQ(shadow.levels().size(), 2U);
  const TokenId prompt = input_.prompt_tokens;
  if (prompt > 0) {
    tell(shadow, CommandKind::attention, 0, 0, prompt, attended(0, 0, prompt));
    tell(shadow, CommandKind::end_layer, 0, 0, prompt, input(1, 0, prompt));
    tell(shadow, CommandKind::attention, 1, 0, prompt, attended(1, 0, prompt));
    tell(shadow, CommandKind::end_layer, 1, 0, prompt, {});
    tell(shadow, CommandKind::head, kNone, prompt - 1, 1, input(0, prompt, 1));
    EXPECT_EQ(wrong(shadow, prompt - 1, 1), 0) << "of the prompt's last token";
  }
  for (TokenId t = prompt; t < input_.tokens; ++t) {
    SCOPED_TRACE(t);
    EXPECT_EQ(wrong(shadow, t, 0), 0) << "from the embedding";
    const int guessed = wrong(shadow, t, 1);
    EXPECT_GT(guessed, 5) << "the layer before is still to come";
    tell(shadow, CommandKind::attention, 0, t, 1, attended(0, t, 1));
    EXPECT_EQ(wrong(shadow, t, 0), 0);
    // Half of what the layer adds.
    std::vector<float> half(static_cast<std::size_t>(kHidden));
    for (std::size_t i = 0; i < half.size(); ++i) {
      half[i] = (attended(0, t, 1)[i] + input(1, t, 1)[i]) / 2;
    }
    tell(shadow, CommandKind::release, 0, t, 1, half);
    EXPECT_GT(wrong(shadow, t, 1), 0);
    tell(shadow, CommandKind::end_layer, 0, t, 1, input(1, t, 1));
    EXPECT_EQ(wrong(shadow, t, 1), 0) << "with keys and values of its own";
    tell(shadow, CommandKind::attention, 1, t, 1, attended(1, t, 1));
    EXPECT_EQ(wrong(shadow, t, 1), 0);
    tell(shadow, CommandKind::end_layer, 1, t, 1, {});
    if (t + 1 == input_.tokens) break;
    tell(shadow, CommandKind::head, kNone, t, 1, input(0, t + 1, 1));
    EXPECT_EQ(wrong(shadow, t, 1), 0) << "of the token before";
  }
}

INSTANTIATE_TEST_SUITE_P(Prompts, ShadowTest, testing::Values(0, 1, 4));

}  // namespace
}  // namespace leanstream::run
