#include <algorithm>
#include <bit>

#include "engine/base/vector_scan.h"
#include "engine/policy/cache/bit_counters.h"
#include "engine/policy/cache/cache_policy.h"

namespace leanstream::policy {
namespace {

struct ImportanceEwmaParameters {
  std::int32_t tokens = 64;
};

// Evicts the blocks with the lowest mean importance, in units of their layer's mean, over the past
// tokens, each of which weighs 1 − 1 ÷ tokens of the next. What counts is not only whether a block
// was used but by how much, and how near it came when it was not.
class ImportanceEwma final : public CachePolicy {
 public:
  using Parameters = ImportanceEwmaParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::integer("tokens", &Parameters::tokens, "tokens that the mean reaches back")
            .range(1, 1 << 16)};
    return parameters;
  }

  ImportanceEwma(const Context& context, const Parameters& parameters)
      : blocks_(static_cast<std::size_t>(context.blocks_per_layer)),
        tokens_(parameters.tokens),
        means_(static_cast<std::size_t>(context.layers) * blocks_, kOne),
        classes_(blocks_),
        order_(context.layers, context.blocks_per_layer) {}

  bool reads_scores() const override { return true; }

  void scored(LayerId layer, std::span<const std::uint32_t> units, StepId) override {
    const std::uint64_t total = vector_total(units);
    if (total == 0) return;
    const std::span<std::uint32_t> means =
        std::span(means_).subspan(static_cast<std::size_t>(layer) * blocks_, blocks_);
    for (std::size_t b = 0; b < blocks_; ++b) {
      const std::uint64_t relative = std::uint64_t{units[b]} * blocks_ * kOne / total;
      const auto now = static_cast<std::int64_t>(std::min<std::uint64_t>(relative, kMost));
      means[b] = static_cast<std::uint32_t>(means[b] + (now - means[b]) / tokens_);
    }
    for (std::size_t b = 0; b < blocks_; ++b) classes_[b] = class_of(means[b]);
    order_.assign(layer, classes_);
  }

  void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const override {
    order_.lowest(cache, count, out);
  }

 private:
  static constexpr std::uint32_t kOne = 1U << 20;  // the mean importance of a layer's blocks
  static constexpr std::uint32_t kMost = 1U << 30;

  // Never falls when the value, below 2^31, rises: 128 logarithmic steps an octave.
  static std::uint16_t class_of(std::uint32_t value) {
    if (value == 0) return 0;
    const auto bits =
        std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(value)));
    return static_cast<std::uint16_t>((bits >> 16) - (127U << 7) + 1);
  }

  std::size_t blocks_;
  std::int64_t tokens_;
  std::vector<std::uint32_t> means_;    // [layer][block]
  std::vector<std::uint16_t> classes_;  // scratch
  mutable BitCounters order_;           // the class of each block's mean
};

}  // namespace

LEANSTREAM_CACHE_POLICY(ImportanceEwma, "importance_ewma",
                        "lowest mean importance over the past tokens first")

}  // namespace leanstream::policy
