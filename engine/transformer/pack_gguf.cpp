// Blocks from the tensors of a GGUF file.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/transformer/encode.h"
#include "engine/transformer/matrix.h"
#include "engine/transformer/pack.h"

namespace leanstream::transformer {
namespace {

class GgufBlocks final : public BlockSource {
 public:
  GgufBlocks(const GgufFile& file, const LlamaShape& shape, const BlockLayout& layout)
      : file_(file),
        ffn_(shape.ffn),
        layout_(layout),
        row_(static_cast<std::size_t>(shape.hidden)) {
    if (layout.down_in_groups) {
      tile_.resize(1, ffn_);
    } else {
      column_bytes_ = row_bytes(layout.down, layout.hidden);
      columns_.resize(static_cast<std::size_t>(ffn_) * column_bytes_);
      tile_.resize(std::min<std::int64_t>(kBlockWeights, layout.hidden), ffn_);
    }
  }

  void begin_layer(LayerId layer) override {
    const auto tensor = [&](const char* part) {
      return &file_.tensor(fmt::format("blk.{}.{}.weight", layer, part));
    };
    gate_ = tensor("ffn_gate");
    up_ = tensor("ffn_up");
    down_ = tensor("ffn_down");
    for (std::int64_t o = 0; o < layout_.hidden; o += tile_.rows()) {
      const std::int64_t rows = std::min(tile_.rows(), layout_.hidden - o);
      for (std::int64_t r = 0; r < rows; ++r) read(*down_, o + r, tile_[r]);
      if (!layout_.down_in_groups) turn_tile(o, rows);
    }
  }

  void write(std::span<const std::int32_t> neurons, std::span<std::byte> block) override {
    for (std::size_t i = 0; i < neurons.size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      const std::int32_t j = neurons[i];
      put_row(*gate_, j, layout_.gate, block.subspan(layout_.gate_offset(at)));
      put_row(*up_, j, layout_.up, block.subspan(layout_.up_offset(at)));
      if (layout_.down_in_groups) continue;
      const auto column = std::span<const std::byte>(columns_).subspan(
          static_cast<std::size_t>(j) * column_bytes_, column_bytes_);
      std::ranges::copy(column, block.subspan(layout_.down_offset(at)).begin());
    }
    if (layout_.down_in_groups) put_groups(neurons, block);
  }

 private:
  void read(const GgufTensor& tensor, std::int64_t row, std::span<float> out) const {
    file_.read_row(tensor, row, out);
    if (std::ranges::all_of(out, [](float w) { return std::isfinite(w); })) return;
    throw UserError(
        "{}: tensor '{}' (byte {}), row {}: a weight is no finite number: the file is "
        "damaged",
        file_.path(), tensor.name, tensor.offset_bytes, row);
  }

  [[noreturn]] void too_large(const GgufTensor& tensor, TensorType type) const {
    throw UserError("{}: tensor '{}' has a weight too large for {}; store the weights as they are",
                    file_.path(), tensor.name,
                    find_tensor_type(static_cast<std::uint32_t>(type))->name);
  }

  std::span<const std::byte> stored_row(const GgufTensor& tensor, std::int64_t row) const {
    const std::size_t bytes = row_bytes(tensor.type, tensor.row_length());
    return file_.bytes(tensor).subspan(static_cast<std::size_t>(row) * bytes, bytes);
  }

  void put_row(const GgufTensor& tensor, std::int32_t row, TensorType type,
               std::span<std::byte> out) {
    read(tensor, row, row_);
    if (tensor.type == type) {
      std::ranges::copy(stored_row(tensor, row), out.begin());
    } else if (!encode(type, row_, out.first(row_bytes(type, layout_.hidden)))) {
      too_large(tensor, type);
    }
  }

  // Rows `first` … of the down matrix become that part of every column.
  void turn_tile(std::int64_t first, std::int64_t rows) {
    std::array<float, kBlockWeights> part{};
    const auto weights = std::span(part).first(static_cast<std::size_t>(rows));
    const std::size_t offset = row_bytes(layout_.down, first);
    const std::size_t bytes = row_bytes(layout_.down, rows);
    for (std::int64_t j = 0; j < ffn_; ++j) {
      for (std::int64_t r = 0; r < rows; ++r) {
        part[static_cast<std::size_t>(r)] = tile_[r][static_cast<std::size_t>(j)];
      }
      const auto column = std::span(columns_).subspan(static_cast<std::size_t>(j) * column_bytes_);
      if (!encode(layout_.down, weights, column.subspan(offset, bytes))) {
        too_large(*down_, layout_.down);
      }
    }
  }

  void put_groups(std::span<const std::int32_t> neurons, std::span<std::byte> block) const {
    const std::int32_t first = neurons.front();
    const auto count = static_cast<std::int32_t>(neurons.size());
    LEANSTREAM_CHECK(first % kBlockWeights == 0 && count % kBlockWeights == 0 &&
                         neurons.back() == first + count - 1,
                     "neurons {} to {} are no whole groups", first, neurons.back());
    const std::size_t from = row_bytes(layout_.down, first);
    const std::size_t bytes = row_bytes(layout_.down, count);
    for (std::int32_t o = 0; o < layout_.hidden; ++o) {
      std::ranges::copy(stored_row(*down_, o).subspan(from, bytes),
                        block.subspan(layout_.down_group_offset(o)).begin());
    }
  }

  const GgufFile& file_;
  std::int64_t ffn_;
  BlockLayout layout_;
  std::vector<float> row_;
  Matrix tile_;  // some rows of the down matrix
  std::size_t column_bytes_ = 0;
  std::vector<std::byte> columns_;  // [ffn]: the down columns of the layer as they are stored
  const GgufTensor* gate_ = nullptr;
  const GgufTensor* up_ = nullptr;
  const GgufTensor* down_ = nullptr;
};

}  // namespace

std::unique_ptr<BlockSource> gguf_blocks(const GgufFile& file, const LlamaShape& shape,
                                         const BlockLayout& layout) {
  return std::make_unique<GgufBlocks>(file, shape, layout);
}

}  // namespace leanstream::transformer
