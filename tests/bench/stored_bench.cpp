// Products with stored weights, one thread: bytes of weights a second for each type, and a dense
// decode step of SmolLM2-135M's shape with all weights in memory.
#include <cstring>

#include <benchmark/benchmark.h>

#include "engine/base/random.h"
#include "engine/transformer/block_kernel.h"
#include "engine/transformer/decoder_parts.h"

namespace leanstream::bench {
namespace {

using namespace transformer;

constexpr std::size_t kFarBytes = std::size_t{80} << 20;    // more than the caches hold
constexpr std::size_t kNearBytes = std::size_t{200} << 10;  // of the second-level cache

// 16 bits of random weights that are small numbers: halves of |w| < 2⁻⁶, or scale, minimum and
// whatever steps of a quantised block.
std::uint16_t random_word(TensorType type, std::size_t at, RandomStream& random) {
  const auto bits = static_cast<std::uint16_t>(random.next_u64());
  const bool is_quantised = row_bytes(type, kBlockWeights) < 64;
  if (!is_quantised) return static_cast<std::uint16_t>((bits & 0x83ffU) | 0x2000U);
  if (at == 0) return float_to_half(type == TensorType::kQ8_0 ? 0.0005F : 0.01F);
  return type == TensorType::kQ4_1 && at == 2 ? float_to_half(-0.075F) : bits;
}

StoredMatrix random_stored(TensorType type, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kPeriod = 4096;  // blocks, then they repeat
  RandomStream random(1, "bench.stored");
  std::vector<std::byte> period(kPeriod * row_bytes(type, kBlockWeights));
  for (std::size_t at = 0; at < period.size(); at += 2) {
    const std::uint16_t word = random_word(type, at % row_bytes(type, kBlockWeights), random);
    std::memcpy(&period[at], &word, sizeof word);
  }
  StoredMatrix out{type, rows, columns, {}};
  out.bytes.resize(static_cast<std::size_t>(rows) * row_bytes(type, columns));
  for (std::size_t at = 0; at < out.bytes.size(); at += period.size()) {
    std::memcpy(&out.bytes[at], period.data(), std::min(period.size(), out.bytes.size() - at));
  }
  return out;
}

void set_weights_rate(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

// Arguments: type, columns, tokens, bytes.
void stored_rows(benchmark::State& state) {
  const auto type = static_cast<TensorType>(state.range(0));
  const std::int64_t columns = state.range(1), tokens = state.range(2);
  const auto rows = state.range(3) / static_cast<std::int64_t>(row_bytes(type, columns));
  const StoredMatrix w = random_stored(type, rows, columns);
  Matrix x(tokens, columns), y(tokens, rows);
  for (auto _ : state) {
    multiply_rows(w, 0, rows, x.view(), y.view());
    benchmark::DoNotOptimize(y[0][0]);
  }
  set_weights_rate(state, w.bytes.size());
}

// Arguments: type, neurons of a block, down in groups.
void stored_blocks(benchmark::State& state) {
  const auto type = static_cast<TensorType>(state.range(0));
  const auto k = static_cast<std::int32_t>(state.range(1));
  const BlockLayout layout{type, type, type, state.range(2) != 0, 576, k};
  const std::size_t count = kFarBytes / layout.bytes();
  const StoredMatrix all = random_stored(type, static_cast<std::int64_t>(3 * count) * k, 576);
  const std::span<const std::byte> bytes(all.bytes);
  Matrix x(1, 576), h(1, k), y(1, 576);
  for (auto _ : state) {
    // Not in order of memory, as slots are.
    for (std::size_t i = 0; i < count; ++i) {
      const auto block = [&](std::size_t place) {
        return bytes.subspan(place * 7919 % count * layout.bytes(), layout.bytes());
      };
      add_block(layout, block(i), k, x.view(), h.view(), y.view(), block(i + 1));
    }
    benchmark::DoNotOptimize(y[0][0]);
  }
  set_weights_rate(state, count * layout.bytes());
}

void types(benchmark::internal::Benchmark* b, const std::vector<std::vector<std::int64_t>>& rest) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16,
                                TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1}) {
    for (const auto& arguments : rest) {
      std::vector<std::int64_t> all{static_cast<std::int64_t>(type)};
      all.insert(all.end(), arguments.begin(), arguments.end());
      b->Args(all);
    }
  }
}
BENCHMARK(stored_rows)->Apply([](benchmark::internal::Benchmark* b) {
  b->ArgNames({"type", "columns", "tokens", "bytes"});
  types(b, {{576, 1, kFarBytes}, {4096, 1, kFarBytes}, {576, 1, kNearBytes}, {576, 8, kNearBytes}});
});
BENCHMARK(stored_blocks)->Apply([](benchmark::internal::Benchmark* b) {
  b->ArgNames({"type", "k", "groups"});
  types(b, {{1, 0}, {2, 0}, {32, 0}, {32, 1}});
});

// Q4_1 with a head of Q8_0, as the model file that the tests know: 98 MB a token.
class DenseModel {
 public:
  DenseModel() {
    decoder_.shape = {30, 576, 1536, 9, 3, 64, 64, 49'152, 2048, 1e5, 1e-5};
    const LlamaShape& s = decoder_.shape;
    decoder_.rope_rates = rope_rates(s);
    decoder_.embedding = random_stored(TensorType::kQ8_0, s.vocab, s.hidden);
    decoder_.final_norm.assign(576, 1.0F);
    for (LayerId l = 0; l < s.layers; ++l) {
      DecoderLayer& w = decoder_.layers.emplace_back();
      w.attention_norm = w.mlp_norm = decoder_.final_norm;
      w.query = w.output = random_stored(TensorType::kQ4_1, 576, 576);
      w.key = w.value = random_stored(TensorType::kQ4_1, s.kv_size(), 576);
      mlps_.push_back(random_stored(TensorType::kQ4_1, 3 * s.ffn, 576));
    }
  }

  const Decoder& decoder() const { return decoder_; }

  // All blocks of a layer.
  void add_mlp(LayerId l, const Matrix& input, Matrix& h, Matrix& x) const {
    const std::span<const std::byte> bytes(mlps_[static_cast<std::size_t>(l)].bytes);
    for (std::size_t at = 0; at < bytes.size(); at += layout_.bytes()) {
      const auto next = bytes.subspan(at + layout_.bytes());
      add_block(layout_, bytes.subspan(at), 32, input.view(), h.view(), x.view(), next);
    }
  }

 private:
  BlockLayout layout_{TensorType::kQ4_1, TensorType::kQ4_1, TensorType::kQ4_1, true, 576, 32};
  Decoder decoder_;
  std::vector<StoredMatrix> mlps_;
};

// Parts: 0 all, 1 attention alone, 2 MLPs alone, 3 head alone.
void dense_decode_step(benchmark::State& state) {
  static const DenseModel model;
  const Decoder& decoder = model.decoder();
  const LlamaShape& s = decoder.shape;
  const auto has = [&](std::int64_t part) { return state.range(0) == 0 || state.range(0) == part; };
  KvCache cache(s.layers, s.kv_size(), 256);
  cache.advance(128);
  AttentionPass attention(decoder);
  Matrix x(1, s.hidden), input(1, s.hidden), h(1, 32), logits(1, s.vocab);
  for (auto _ : state) {
    const std::int32_t id = 7;
    embed(decoder, std::span(&id, 1), x.view());
    for (LayerId l = 0; l < s.layers; ++l) {
      if (has(1)) attention.run(l, cache, x.view());
      mlp_input(decoder, l, x.view(), input.view());
      if (has(2)) model.add_mlp(l, input, h, x);
    }
    head_input(decoder, x.view(), input.view());
    if (has(3)) head_logits(decoder, input.view(), 0, s.vocab, logits.view());
    benchmark::DoNotOptimize(logits[0][0]);
  }
}
BENCHMARK(dense_decode_step)->ArgName("part")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace leanstream::bench
