// Decoder and stored blocks against Model, which computes the same in f32 matrices.
#include "engine/transformer/decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/transformer/block_kernel.h"
#include "engine/transformer/decoder_parts.h"
#include "engine/transformer/forward.h"
#include "tests/transformer/smollm2.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

// The MLPs of a file, block by block, all weights as they are stored.
class Blocks {
 public:
  Blocks(const GgufFile& file, const LlamaShape& shape, std::int32_t k) : ffn_(shape.ffn) {
    const auto tensor = [&](LayerId l, const char* part) -> const GgufTensor& {
      return file.tensor(fmt::format("blk.{}.ffn_{}.weight", l, part));
    };
    for (LayerId l = 0; l < shape.layers; ++l) {
      const GgufTensor &gate = tensor(l, "gate"), &up = tensor(l, "up"), &down = tensor(l, "down");
      auto& layer = layers_.emplace_back();
      layer.layout = {gate.type, up.type, down.type, true, shape.hidden, k};
      for (std::int32_t first = 0; first < ffn_; first += k) {
        auto& block = layer.blocks.emplace_back(layer.layout.bytes());
        for (std::int32_t j = 0; j < std::min(k, ffn_ - first); ++j) {
          copy_row(file, gate, first + j, 0, shape.hidden, &block[layer.layout.gate_offset(j)]);
          copy_row(file, up, first + j, 0, shape.hidden, &block[layer.layout.up_offset(j)]);
        }
        for (std::int32_t o = 0; o < shape.hidden; ++o) {
          copy_row(file, down, o, first, std::min(k, ffn_ - first),
                   &block[layer.layout.down_group_offset(o)]);
        }
      }
    }
  }

  void add_mlp(LayerId l, ConstRows input, MutableRows x) const {
    const auto& layer = layers_[static_cast<std::size_t>(l)];
    const std::int32_t k = layer.layout.block_neurons;
    for (std::size_t b = 0; b < layer.blocks.size(); ++b) {
      const std::int32_t neurons = std::min(k, ffn_ - static_cast<std::int32_t>(b) * k);
      Matrix h(input.rows, neurons);
      add_block(layer.layout, layer.blocks[b], neurons, input, h.view(), x);
    }
  }

 private:
  // `count` weights of a row from weight `first` on.
  static void copy_row(const GgufFile& file, const GgufTensor& tensor, std::int64_t row,
                       std::int64_t first, std::int64_t count, std::byte* to) {
    const std::size_t from =
        static_cast<std::size_t>(row) * row_bytes(tensor.type, tensor.row_length()) +
        row_bytes(tensor.type, first);
    std::ranges::copy(file.bytes(tensor).subspan(from, row_bytes(tensor.type, count)), to);
  }

  struct Layer {
    BlockLayout layout;
    std::vector<std::vector<std::byte>> blocks;
  };
  std::int32_t ffn_;
  std::vector<Layer> layers_;
};

// −ln p(ids[i + 1] | ids[0 … i]), `chunk` tokens at a time.
std::vector<float> nll_of_text(const Decoder& decoder, const Blocks& blocks,
                               std::span<const std::int32_t> ids, std::size_t chunk) {
  const LlamaShape& s = decoder.shape;
  KvCache cache(s.layers, s.kv_size(), static_cast<std::int64_t>(ids.size()));
  AttentionPass attention(decoder);
  std::vector<float> nll;
  for (std::size_t first = 0; first < ids.size(); first += chunk) {
    const auto part = ids.subspan(first, std::min(chunk, ids.size() - first));
    const auto n = static_cast<std::int64_t>(part.size());
    Matrix x(n, s.hidden), input(n, s.hidden), logits(n, s.vocab);
    embed(decoder, part, x.view());
    for (LayerId l = 0; l < s.layers; ++l) {
      attention.run(l, cache, x.view());
      mlp_input(decoder, l, x.view(), input.view());
      blocks.add_mlp(l, input.view(), x.view());
    }
    cache.advance(n);
    head_input(decoder, x.view(), input.view());
    head_logits(decoder, input.view(), 0, s.vocab, logits.view());
    for (std::size_t t = 0; t < part.size() && first + t + 1 < ids.size(); ++t) {
      nll.push_back(nll_of_row(logits[static_cast<std::int64_t>(t)], ids[first + t + 1]));
    }
  }
  return nll;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << "token " << i;
}

std::vector<std::int32_t> some_ids(std::size_t count) {
  RandomStream random(1, "tests.ids");
  std::vector<std::int32_t> ids(count);
  for (auto& id : ids) id = static_cast<std::int32_t>(random.next_below(263));
  return ids;
}

TEST(Decoder, AgreesWithTheModelForEveryType) {
  const auto ids = some_ids(40);
  Observer nothing;
  for (const TensorType type : all_tensor_types()) {
    for (const bool tied : {false, true}) {
      const GgufFile file(write_temporary("decoder.gguf", tiny_model({type, tied, 1})));
      const Decoder decoder = read_decoder(file);
      const auto truth = nll_of_text(Model(file, 1), ids, nothing);
      for (const std::int32_t k : {32, 64}) {  // of 96 neurons: the last block may be half full
        const Blocks blocks(file, decoder.shape, k);
        expect_near(nll_of_text(decoder, blocks, ids, 1), truth, 1e-4);
        expect_near(nll_of_text(decoder, blocks, ids, 7), truth, 1e-4);
      }
    }
  }
}

TEST(Decoder, AChunkGivesTheBitsOfSingleTokens) {
  const GgufFile file(write_temporary("bits.gguf", tiny_model({TensorType::kQ4_1, true, 1})));
  const Decoder decoder = read_decoder(file);
  const Blocks blocks(file, decoder.shape, 32);
  const auto ids = some_ids(40);
  EXPECT_EQ(nll_of_text(decoder, blocks, ids, 1), nll_of_text(decoder, blocks, ids, 13));
}

TEST(Decoder, PartsMayBeSplitAnywhere) {
  const GgufFile file(write_temporary("split.gguf", tiny_model({TensorType::kQ8_0, true, 1})));
  const Decoder decoder = read_decoder(file);
  const LlamaShape& s = decoder.shape;
  const auto ids = some_ids(6);
  Matrix whole(6, s.hidden), split(6, s.hidden);
  embed(decoder, ids, whole.view());
  embed(decoder, ids, split.view());
  KvCache whole_cache(s.layers, s.kv_size(), 6), split_cache(s.layers, s.kv_size(), 6);
  AttentionPass(decoder).run(1, whole_cache, whole.view());
  AttentionPass pass(decoder);
  pass.begin(1, split_cache, split.view());
  const std::int64_t rows = pass.projected_rows();
  EXPECT_EQ(rows, s.query_size() + 2 * s.kv_size());
  for (std::int64_t r = rows; r > 0; r -= std::min<std::int64_t>(r, 5)) {
    const std::int64_t first = std::max<std::int64_t>(0, r - 5);
    pass.project(first, r - first);
  }
  pass.rotate();
  for (std::int32_t head = s.heads; head-- > 0;) pass.attend(head, 1);
  for (std::int64_t o = 0; o < s.hidden; o += 3) {
    pass.add_output(o, std::min<std::int64_t>(3, s.hidden - o), split.view());
  }
  for (std::int64_t t = 0; t < 6; ++t) {
    EXPECT_TRUE(std::equal(whole[t].begin(), whole[t].end(), split[t].begin())) << t;
  }
}

TEST(Decoder, CountsItsBytesAndKeepsTheTypes) {
  const GgufFile file(write_temporary("types.gguf", tiny_model({TensorType::kQ4_1, true, 1})));
  const Decoder decoder = read_decoder(file);
  EXPECT_EQ(decoder.layers[1].value.type, TensorType::kQ4_1);
  EXPECT_EQ(decoder.head.rows, 0);
  const std::int64_t weights = 263 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64);
  EXPECT_EQ(decoder.bytes(), weights / 32 * 20 + 5 * 64 * 4);
}

TEST(Decoder, WrongFilesAreExplained) {
  const auto refused = [](const GgufBuilder& builder, const std::string& part) {
    const GgufFile file(write_temporary("refused.gguf", builder.bytes()));
    try {
      read_decoder(file);
      ADD_FAILURE() << "nothing said of " << part;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  std::vector<float> embedding(64 * 263, 1.0F);
  GgufBuilder no_norm = tiny_metadata();
  no_norm.add_tensor("token_embd.weight", {64, 263}, TensorType::kF16, embedding);
  refused(no_norm, "output_norm.weight");
  GgufBuilder narrow = tiny_metadata();
  narrow.add_tensor("token_embd.weight", {32, 526}, TensorType::kF16, embedding);
  refused(narrow, "'token_embd.weight' has 526 rows of 32");
  GgufBuilder broken = tiny_metadata();
  embedding[64 * 100] = std::numeric_limits<float>::infinity();
  broken.add_tensor("token_embd.weight", {64, 263}, TensorType::kF16, embedding);
  refused(broken, "row 100: a weight is no finite number");
}

TEST(RandomDecoder, HasTheVarianceAndRepeatsItself) {
  LlamaShape shape = read_shape(GgufFile(write_temporary("shape.gguf", tiny_model())));
  shape.layers = 1;
  for (const TensorType type : {TensorType::kF16, TensorType::kQ8_0}) {
    const Decoder decoder = random_decoder(shape, type, 1);
    EXPECT_EQ(decoder.embedding.bytes, random_decoder(shape, type, 1).embedding.bytes);
    EXPECT_NE(decoder.embedding.bytes, random_decoder(shape, type, 2).embedding.bytes);
    EXPECT_NE(decoder.layers[0].query.bytes, decoder.layers[0].output.bytes);
    std::vector<float> values(263 * 64);
    dequantise(type, decoder.head.bytes, values);
    double sum = 0, squares = 0;
    for (const float v : values) {
      sum += double{v};
      squares += double{v} * double{v};
    }
    EXPECT_NEAR(sum / 263, 0, 0.2);       // deviation of a row's mean sum: 1 ÷ √263
    EXPECT_NEAR(squares / 263, 1, 3e-2);  // 64 weights of variance 1 ÷ 64
  }
}

class SmolLm2Decoder : public SmolLm2Test {};

TEST_F(SmolLm2Decoder, AgreesWithTheModelTokenByToken) {
  const auto all = smollm2().tokenizer.encode(read_file(reference_path("text.txt")));
  const auto ids = std::span(all).first(64);
  Observer nothing;
  const Decoder decoder = read_decoder(smollm2().file);
  const Blocks blocks(smollm2().file, decoder.shape, 32);
  expect_near(nll_of_text(decoder, blocks, ids, 1), nll_of_text(smollm2().model, ids, nothing),
              2e-3);
}

}  // namespace
}  // namespace leanstream::transformer
