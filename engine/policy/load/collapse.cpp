#include <algorithm>
#include <optional>

#include "engine/policy/load/loader.h"

namespace leanstream::policy {
namespace {

struct CollapseParameters {
  std::optional<Bytes> gap{};
  Bytes largest_read = Bytes{1} << 20;
};

// Reads what is missing when the layer needs it, runs with small gaps between them in one request
// (Ripple's access collapse). By default a gap is read across while requests, not bytes, limit the
// device: smaller gaps first, none that costs more bytes than the request it saves, and no wider
// ones once a part's bytes take as long as its requests.
class Collapse final : public Loader {
 public:
  using Parameters = CollapseParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::quantity("gap", &Parameters::gap, config::Dimension::bytes,
                         "unwanted bytes between two wanted blocks that are always read across; by "
                         "default what the platform transfers in the time of one request, and only "
                         "while requests limit it")
            .range(0, double(Bytes{1} << 30)),
        config::quantity("largest_read", &Parameters::largest_read, config::Dimension::bytes,
                         "largest request")
            .range(512, double(Bytes{1} << 30))};
    return parameters;
  }

  Collapse(const Context& context, const Parameters& parameters)
      : context_(context),
        adapts_(!parameters.gap),
        merge_blocks_(in_blocks(parameters.largest_read)),
        widest_(std::min(in_blocks(parameters.gap.value_or(context.request_bytes)),
                         std::max<BlockId>(0, merge_blocks_ - 2))) {}

  ReadAhead read_ahead() const override { return ReadAhead::none; }
  BlockId merge_blocks() const override { return std::max<BlockId>(1, merge_blocks_); }
  BlockId widest_gap() const override { return widest_; }

  BlockId gap_blocks(BlockId blocks, std::span<const BlockId> gaps) const override {
    if (!adapts_) return widest_;
    auto bytes = static_cast<Bytes>(blocks) * context_.block_bytes;
    auto requests = static_cast<Bytes>(blocks - gaps[0]);
    BlockId widest = 0;
    for (BlockId gap = 1; gap <= widest_; ++gap) {
      const auto count = static_cast<Bytes>(gaps[static_cast<std::size_t>(gap)]);
      requests -= count;
      bytes += count * static_cast<Bytes>(gap) * context_.block_bytes;
      if (requests * context_.request_bytes < bytes) break;
      widest = gap;
    }
    return widest;
  }

 private:
  BlockId in_blocks(Bytes bytes) const {
    return static_cast<BlockId>(std::min<Bytes>(bytes / context_.block_bytes, 1 << 24));
  }

  Context context_;
  bool adapts_;
  BlockId merge_blocks_;
  BlockId widest_;
};

}  // namespace

LEANSTREAM_LOADER(Collapse, "collapse",
                  "what is missing, when the layer needs it; small gaps are read across")

}  // namespace leanstream::policy
