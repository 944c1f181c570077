// Blocks of random weights, made as fast as flash takes them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/normal.h"
#include "engine/base/random.h"
#include "engine/transformer/pack.h"

namespace leanstream::transformer {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

// Fills rows of one type and standard deviation.
class Weights {
 public:
  Weights(TensorType type, double deviation) : type_(type) {
    LEANSTREAM_CHECK(type == TensorType::kF16 || type == TensorType::kQ8_0, "random weights as {}",
                     static_cast<std::uint32_t>(type));
    for (std::size_t i = 0; i < halves_.size(); ++i) {
      const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(halves_.size());
      halves_[i] = float_to_half(static_cast<float>(deviation * normal_quantile(p)));
    }
    scale_ = float_to_half(static_cast<float>(deviation / kByteDeviation));
  }

  void fill(RandomStream& random, std::span<std::byte> row) const {
    return type_ == TensorType::kF16 ? fill_f16(random, row) : fill_q8_0(random, row);
  }

 private:
  // Of −127 … 127 drawn from a byte, 0 twice: √(2·(1² + … + 127²) ÷ 256).
  static constexpr double kByteDeviation = 73.4677;

  // 256 quantiles of the normal distribution, one for each random byte.
  void fill_f16(RandomStream& random, std::span<std::byte> row) const {
    std::array<std::uint16_t, kWordBytes> out{};
    for (std::size_t at = 0; at < row.size(); at += sizeof out) {
      const auto bytes = std::bit_cast<std::array<std::uint8_t, kWordBytes>>(random.next_u64());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = halves_[bytes[i]];
      std::memcpy(row.data() + at, out.data(), std::min(sizeof out, row.size() - at));
    }
  }

  void fill_q8_0(RandomStream& random, std::span<std::byte> row) const {
    for (std::size_t at = 0; at < row.size();) {
      std::memcpy(row.data() + at, &scale_, sizeof scale_);
      at += sizeof scale_;
      for (std::size_t words = kBlockWeights / kWordBytes; words > 0; --words, at += kWordBytes) {
        auto bytes = std::bit_cast<std::array<std::int8_t, kWordBytes>>(random.next_u64());
        for (auto& b : bytes) b = b == -128 ? std::int8_t{0} : b;
        std::memcpy(row.data() + at, bytes.data(), kWordBytes);
      }
    }
  }

  TensorType type_;
  std::array<std::uint16_t, 256> halves_{};
  std::uint16_t scale_ = 0;
};

class RandomBlocks final : public BlockSource {
 public:
  RandomBlocks(const BlockLayout& layout, std::int32_t ffn, std::uint64_t seed)
      : layout_(layout),
        gate_(layout.gate, 1 / std::sqrt(layout.hidden)),
        up_(layout.up, 1 / std::sqrt(layout.hidden)),
        down_(layout.down, 1 / std::sqrt(ffn)),
        seed_(seed) {}

  void begin_layer(LayerId layer) override { layer_ = layer; }

  void write(std::span<const std::int32_t> neurons, std::span<std::byte> block) override {
    const std::size_t gate_bytes = row_bytes(layout_.gate, layout_.hidden);
    const std::size_t up_bytes = row_bytes(layout_.up, layout_.hidden);
    const std::size_t down_bytes = row_bytes(layout_.down, layout_.hidden);
    for (std::size_t i = 0; i < neurons.size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      const auto neuron = static_cast<std::uint64_t>(neurons[i]);
      RandomStream random(mix(mix(seed_, static_cast<std::uint64_t>(layer_)), neuron),
                          "transformer.random_mlp");
      gate_.fill(random, block.subspan(layout_.gate_offset(at), gate_bytes));
      up_.fill(random, block.subspan(layout_.up_offset(at), up_bytes));
      down_.fill(random, block.subspan(layout_.down_offset(at), down_bytes));
    }
  }

 private:
  BlockLayout layout_;
  Weights gate_, up_, down_;
  std::uint64_t seed_;
  LayerId layer_ = 0;
};

}  // namespace

std::unique_ptr<BlockSource> random_blocks(const BlockLayout& layout, std::int32_t ffn,
                                           std::uint64_t seed) {
  return std::make_unique<RandomBlocks>(layout, ffn, seed);
}

}  // namespace leanstream::transformer
