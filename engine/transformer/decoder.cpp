#include "engine/transformer/decoder.h"

#include <array>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/transformer/block_layout.h"
#include "engine/transformer/layer_parts.h"
#include "engine/transformer/tensor_loader.h"

namespace leanstream::transformer {
namespace {

// Uniform over −127 … 127 steps, 0 twice as often: one random byte a weight, the deviation of which
// is √(127 · 128 · 255 ÷ 3 ÷ 256) steps.
class RandomWeights {
 public:
  RandomWeights(TensorType type, std::uint64_t seed)
      : type_(type), random_(seed, "transformer.random_decoder") {
    LEANSTREAM_CHECK(type == TensorType::kF16 || type == TensorType::kQ8_0, "random weights of {}",
                     static_cast<std::uint32_t>(type));
  }

  StoredMatrix matrix(std::int64_t rows, std::int64_t columns) {
    const double deviation = std::sqrt(127.0 * 128 * 255 / 3 / 256);
    const auto step = static_cast<float>(1 / (deviation * std::sqrt(static_cast<double>(columns))));
    StoredMatrix out{type_, rows, columns, {}};
    out.bytes.resize(static_cast<std::size_t>(rows) * row_bytes(type_, columns));
    if (type_ == TensorType::kF16) {
      fill_halves(step, out.bytes);
    } else {
      fill_blocks(float_to_half(step), out.bytes);
    }
    return out;
  }

 private:
  std::int8_t next() {
    if (left_ == 0) {
      word_ = random_.next_u64();
      left_ = 8;
    }
    const auto byte = static_cast<std::int8_t>(word_ >> 8 * --left_ & 255);
    return byte == -128 ? std::int8_t{0} : byte;
  }

  void fill_halves(float step, std::span<std::byte> out) {
    std::array<std::uint16_t, 256> halves;
    for (int q = -128; q < 128; ++q) {
      halves[static_cast<std::size_t>(q + 128)] = float_to_half(step * static_cast<float>(q));
    }
    for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint16_t)) {
      std::memcpy(&out[at], &halves[static_cast<std::size_t>(next() + 128)], sizeof(std::uint16_t));
    }
  }

  void fill_blocks(std::uint16_t scale, std::span<std::byte> out) {
    const std::size_t block = row_bytes(TensorType::kQ8_0, kBlockWeights);
    for (std::size_t at = 0; at < out.size(); at += block) {
      std::memcpy(&out[at], &scale, sizeof scale);
      for (std::size_t i = sizeof scale; i < block; ++i) {
        out[at + i] = static_cast<std::byte>(next());
      }
    }
  }

  TensorType type_;
  RandomStream random_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

Bytes bytes_of(const StoredMatrix& matrix) {
  return static_cast<Bytes>(matrix.bytes.size());
}

Bytes bytes_of(const std::vector<float>& vector) {
  return static_cast<Bytes>(vector.size() * sizeof(float));
}

}  // namespace

Bytes Decoder::bytes() const {
  Bytes sum = bytes_of(embedding) + bytes_of(head) + bytes_of(final_norm);
  for (const DecoderLayer& l : layers) {
    sum += bytes_of(l.attention_norm) + bytes_of(l.mlp_norm);
    sum += bytes_of(l.query) + bytes_of(l.key) + bytes_of(l.value) + bytes_of(l.output);
  }
  return sum;
}

Decoder read_decoder(const GgufFile& file) {
  ThreadPool pool(ThreadPool::sensible_threads());
  TensorLoader loader(file, pool);
  Decoder out;
  out.shape = read_shape(file);
  const auto& s = out.shape;
  out.embedding = loader.stored("token_embd.weight", s.vocab, s.hidden);
  if (loader.has("output.weight")) out.head = loader.stored("output.weight", s.vocab, s.hidden);
  out.final_norm = loader.vector("output_norm.weight", s.hidden);
  out.rope_rates = rope_rates(s);
  for (LayerId l = 0; l < s.layers; ++l) {
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}.weight", l, part); };
    DecoderLayer& w = out.layers.emplace_back();
    w.attention_norm = loader.vector(name("attn_norm"), s.hidden);
    w.query = loader.stored(name("attn_q"), s.query_size(), s.hidden);
    w.key = loader.stored(name("attn_k"), s.kv_size(), s.hidden);
    w.value = loader.stored(name("attn_v"), s.kv_size(), s.hidden);
    w.output = loader.stored(name("attn_output"), s.hidden, s.query_size());
    w.mlp_norm = loader.vector(name("ffn_norm"), s.hidden);
    loader.require(name("ffn_gate"), s.ffn, s.hidden);
    loader.require(name("ffn_up"), s.ffn, s.hidden);
    loader.require(name("ffn_down"), s.hidden, s.ffn);
  }
  loader.refuse_unknown();
  return out;
}

LlamaShape llama_shape(const model::ModelShape& shape, TokenId context) {
  LlamaShape llama;
  llama.layers = shape.layers;
  llama.hidden = shape.hidden;
  llama.ffn = shape.ffn;
  llama.heads = shape.heads;
  llama.kv_heads = shape.kv_heads;
  llama.head_size = llama.rope_size = shape.head_dim();
  llama.vocab = shape.vocab;
  llama.context = context;
  llama.rope_base = 10'000;
  llama.norm_epsilon = 1e-5;
  return llama;
}

Decoder random_decoder(const LlamaShape& shape, TensorType type, std::uint64_t seed) {
  RandomWeights random(type, seed);
  const std::vector<float> ones(static_cast<std::size_t>(shape.hidden), 1.0F);
  Decoder out;
  out.shape = shape;
  out.embedding = random.matrix(shape.vocab, shape.hidden);
  out.head = random.matrix(shape.vocab, shape.hidden);
  out.final_norm = ones;
  out.rope_rates = rope_rates(shape);
  for (LayerId l = 0; l < shape.layers; ++l) {
    DecoderLayer& w = out.layers.emplace_back();
    w.attention_norm = w.mlp_norm = ones;
    w.query = random.matrix(shape.query_size(), shape.hidden);
    w.key = random.matrix(shape.kv_size(), shape.hidden);
    w.value = random.matrix(shape.kv_size(), shape.hidden);
    w.output = random.matrix(shape.hidden, shape.query_size());
  }
  return out;
}

}  // namespace leanstream::transformer
