// Every type and instruction set against dequantise() and sums in double.
#include "engine/transformer/block_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/transformer/matrix.h"
#include "tests/transformer/instruction_sets.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

bool is_quantised(TensorType type) {
  return row_bytes(type, kBlockWeights) < 2 * static_cast<std::size_t>(kBlockWeights);
}

Matrix random_weights(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  RandomStream random(seed, "tests.block_kernel");
  Matrix m(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (float& v : m[r]) v = static_cast<float>(2 * random.next_unit() - 1);
  }
  return m;
}

std::vector<std::byte> encode(TensorType type, const Matrix& weights) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < weights.rows(); ++r) {
    values.insert(values.end(), weights[r].begin(), weights[r].end());
  }
  const std::string bytes = encode_weights(type, values);
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

StoredMatrix random_stored(TensorType type, std::int64_t rows, std::int64_t columns) {
  return {type, rows, columns, encode(type, random_weights(rows, columns, 7))};
}

Matrix decoded(const StoredMatrix& w) {
  Matrix out(w.rows, w.columns);
  const std::size_t bytes = row_bytes(w.type, w.columns);
  for (std::int64_t r = 0; r < w.rows; ++r) {
    dequantise(w.type, std::span(w.bytes).subspan(static_cast<std::size_t>(r) * bytes, bytes),
               out[r]);
  }
  return out;
}

struct Sum {
  double value = 0, magnitude = 0;
  void add(double product) {
    value += product;
    magnitude += std::abs(product);
  }
};

Sum dot(std::span<const float> a, std::span<const float> b) {
  Sum sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum.add(double{a[i]} * double{b[i]});
  return sum;
}

TEST(MultiplyRows, AgreesWithPlainSumsForEveryTypeAndInstructionSet) {
  for_each_instruction_set([](const char* set) {
    for (const TensorType type : all_tensor_types()) {
      for (const std::int64_t columns : {32, 96, 1, 7, 47, 576}) {
        if (is_quantised(type) && columns % kBlockWeights != 0) continue;
        const StoredMatrix w = random_stored(type, 11, columns);
        const Matrix plain = decoded(w);
        for (std::int64_t n = 1; n <= 9; ++n) {
          const Matrix x = random_weights(n, columns, 3);
          Matrix y(n, 9);
          multiply_rows(w, 1, 9, x.view(), y.view());
          for (std::int64_t t = 0; t < n; ++t) {
            for (std::int64_t o = 0; o < 9; ++o) {
              const Sum sum = dot(x[t], plain[o + 1]);
              ASSERT_NEAR(y[t][static_cast<std::size_t>(o)], sum.value, 1e-6 * sum.magnitude)
                  << set << ", type " << static_cast<int>(type) << ", [" << n << ", " << columns
                  << "]";
            }
          }
        }
      }
    }
  });
}

// One weight alone in a sum comes out as dequantise() gives it, whatever the bytes.
TEST(MultiplyRows, DecodesRandomBytesToTheLastBit) {
  for_each_instruction_set([](const char* set) {
    for (const TensorType type : all_tensor_types()) {
      StoredMatrix w{type, 64, kBlockWeights, {}};
      RandomStream random(5, "tests.bytes");
      const std::size_t bytes = row_bytes(type, kBlockWeights);
      while (w.bytes.size() < 64 * bytes) {
        std::vector<std::byte> row(bytes);
        for (auto& b : row) b = static_cast<std::byte>(random.next_below(256));
        Matrix values(1, kBlockWeights);
        dequantise(type, row, values[0]);
        const auto finite = [](float v) { return std::isfinite(v); };
        if (std::all_of(values[0].begin(), values[0].end(), finite)) {
          w.bytes.insert(w.bytes.end(), row.begin(), row.end());
        }
      }
      const Matrix plain = decoded(w);
      Matrix x(kBlockWeights, kBlockWeights), y(kBlockWeights, 64);
      for (std::size_t i = 0; i < kBlockWeights; ++i) x[static_cast<std::int64_t>(i)][i] = 1;
      multiply_rows(w, 0, 64, x.view(), y.view());
      for (std::size_t i = 0; i < kBlockWeights; ++i) {
        for (std::int64_t o = 0; o < 64; ++o) {
          ASSERT_EQ(y[static_cast<std::int64_t>(i)][static_cast<std::size_t>(o)], plain[o][i])
              << set << ", type " << static_cast<int>(type);
        }
      }
    }
  });
}

TEST(MultiplyRows, NeitherTokensNorRowsAroundChangeABit) {
  for (const TensorType type : all_tensor_types()) {
    const StoredMatrix w = random_stored(type, 23, 96);
    const Matrix x = random_weights(9, 96, 3);
    Matrix all(9, 23), part(1, 1);
    multiply_rows(w, 0, 23, x.view(), all.view());
    for (std::int64_t t = 0; t < 9; ++t) {
      for (std::int64_t o = 0; o < 23; ++o) {
        multiply_rows(w, o, 1, x.view().rows_from(t, 1), part.view());
        ASSERT_EQ(part[0][0], all[t][static_cast<std::size_t>(o)]);
      }
    }
  }
}

// As stored_kernels.h promises of machines with fused multiply-add.
TEST(MultiplyRows, Avx2AndAvx512AgreeToTheLastBit) {
  for (const TensorType type : all_tensor_types()) {
    const StoredMatrix w = random_stored(type, 9, 96);
    const Matrix x = random_weights(5, 96, 3);
    std::vector<Matrix> results;
    for_each_instruction_set([&](const std::string& set) {
      if (set != "AVX2" && set != "AVX3") return;
      multiply_rows(w, 0, 9, x.view(), results.emplace_back(5, 9).view());
    });
    for (const Matrix& y : results) {
      for (std::int64_t t = 0; t < 5; ++t) {
        EXPECT_TRUE(std::equal(y[t].begin(), y[t].end(), results[0][t].begin()));
      }
    }
  }
}

TEST(AddRows, AddsWhatMultiplyRowsGives) {
  const StoredMatrix w = random_stored(TensorType::kQ4_1, 6, 64);
  const Matrix x = random_weights(3, 64, 3);
  Matrix y(3, 6), sum = random_weights(3, 6, 4);
  const Matrix start = sum;
  multiply_rows(w, 0, 6, x.view(), y.view());
  add_rows(w, 0, 6, x.view(), sum.view());
  for (std::int64_t t = 0; t < 3; ++t) {
    for (std::size_t o = 0; o < 6; ++o) EXPECT_EQ(sum[t][o], start[t][o] + y[t][o]);
  }
}

// A block as it is stored, and its matrices in f32: gate, up and down [k, hidden].
struct TestBlock {
  BlockLayout layout;
  std::vector<std::byte> bytes;
  Matrix gate, up, down;
};

Matrix transposed(const Matrix& m) {
  Matrix out(m.columns(), m.rows());
  for (std::int64_t r = 0; r < m.rows(); ++r) {
    for (std::int64_t c = 0; c < m.columns(); ++c) {
      out[c][static_cast<std::size_t>(r)] = m[r][static_cast<std::size_t>(c)];
    }
  }
  return out;
}

TestBlock random_block(TensorType in, TensorType down, bool groups, std::int32_t k,
                       std::int32_t hidden) {
  TestBlock b{{in, in, down, groups, hidden, k}, {}, {}, {}, {}};
  const StoredMatrix gate = random_stored(in, k, hidden);
  const StoredMatrix up{in, k, hidden, encode(in, random_weights(k, hidden, 8))};
  const Matrix columns = random_weights(k, hidden, 9);
  const StoredMatrix stored = groups
                                  ? StoredMatrix{down, hidden, k, encode(down, transposed(columns))}
                                  : StoredMatrix{down, k, hidden, encode(down, columns)};
  for (const auto* m : {&gate, &up, &stored}) {
    b.bytes.insert(b.bytes.end(), m->bytes.begin(), m->bytes.end());
  }
  EXPECT_EQ(b.bytes.size(), b.layout.bytes());
  b.gate = decoded(gate);
  b.up = decoded(up);
  b.down = groups ? transposed(decoded(stored)) : decoded(stored);
  return b;
}

void expect_agreement(const TestBlock& b, std::int32_t neurons, std::int64_t n, const char* set) {
  const std::int64_t hidden = b.layout.hidden;
  const Matrix x = random_weights(n, hidden, 3);
  Matrix h(n, neurons), y = random_weights(n, hidden, 4);
  const Matrix start = y;
  add_block(b.layout, b.bytes, neurons, x.view(), h.view(), y.view());
  for (std::int64_t t = 0; t < n; ++t) {
    std::vector<Sum> sums(static_cast<std::size_t>(hidden));
    for (std::int32_t j = 0; j < neurons; ++j) {
      const Sum gate = dot(x[t], b.gate[j]), up = dot(x[t], b.up[j]);
      const float own = h[t][static_cast<std::size_t>(j)];
      ASSERT_NEAR(own, gate.value / (1 + std::exp(-gate.value)) * up.value,
                  2e-6 * (gate.magnitude + 1) * (up.magnitude + 1))
          << set;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(double{own} * double{b.down[j][i]});
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(y[t][i], double{start[t][i]} + sums[i].value, 2e-6 * (1 + sums[i].magnitude))
          << set << ", type " << static_cast<int>(b.layout.down) << ", " << neurons << " of "
          << b.layout.block_neurons << ", output " << i;
    }
  }
  std::vector<float> norms(static_cast<std::size_t>(neurons));
  down_norms(b.layout, b.bytes, neurons, norms);
  for (std::int32_t j = 0; j < neurons; ++j) {
    const double norm = std::sqrt(dot(b.down[j], b.down[j]).value);
    ASSERT_NEAR(norms[static_cast<std::size_t>(j)], norm, 1e-6 * norm);
  }
}

TEST(AddBlock, AgreesWithPlainSumsForEveryTypeAndInstructionSet) {
  for_each_instruction_set([](const char* set) {
    for (const TensorType type : all_tensor_types()) {
      for (const std::int32_t k : {1, 2, 7, 40}) {
        const TestBlock block = random_block(type, type, false, k, is_quantised(type) ? 96 : 75);
        for (const std::int64_t n : {1, 3, 4, 9, 17}) expect_agreement(block, k, n, set);
        expect_agreement(block, k / 2, 5, set);
      }
      for (const std::int32_t k : {32, 64}) {
        const TestBlock block = random_block(type, type, true, k, 96);
        for (const std::int64_t n : {1, 2, 4, 9}) expect_agreement(block, k, n, set);
        expect_agreement(block, k - 5, 5, set);
      }
    }
    expect_agreement(random_block(TensorType::kQ4_0, TensorType::kF16, false, 3, 64), 3, 2, set);
    expect_agreement(random_block(TensorType::kF32, TensorType::kQ8_0, true, 32, 64), 32, 2, set);
  });
}

// What a block lacks of neurons does nothing, even where its bytes are no numbers.
TEST(AddBlock, ReadsOnlyTheNeuronsThatItIsToldTo) {
  TestBlock block = random_block(TensorType::kF16, TensorType::kF16, false, 4, 64);
  for (const std::size_t at :
       {block.layout.gate_offset(3), block.layout.up_offset(3), block.layout.down_offset(3)}) {
    std::memset(&block.bytes[at], 0xff, 2);
  }
  expect_agreement(block, 3, 2, "");
}

}  // namespace
}  // namespace leanstream::transformer
