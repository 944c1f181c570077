#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {

// Reads tensors and remembers which, so that what is left over can be refused.
class Model::Loader {
 public:
  Loader(const GgufFile& file, ThreadPool& pool) : file_(file), pool_(pool) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  std::vector<float> vector(const std::string& name, std::int64_t length) {
    const GgufTensor& tensor = require(name, length, 1);
    std::vector<float> out(static_cast<std::size_t>(length));
    file_.read_row(tensor, 0, out);
    check_finite(tensor, 0, out);
    return out;
  }

  Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    const GgufTensor& tensor = require(name, columns, rows);
    Matrix out(rows, columns);
    each_row(tensor, [&](std::int64_t row, std::span<const float> values) {
      std::copy(values.begin(), values.end(), out[row].begin());
    });
    return out;
  }

  // The matrix whose rows are the tensor's columns.
  Matrix transposed(const std::string& name, std::int64_t rows, std::int64_t columns) {
    const GgufTensor& tensor = require(name, rows, columns);
    Matrix out(rows, columns);
    const MutableRows to = out.view();
    each_row(tensor, [&](std::int64_t row, std::span<const float> values) {
      for (std::size_t j = 0; j < values.size(); ++j) {
        to.data[static_cast<std::int64_t>(j) * to.stride + row] = values[j];
      }
    });
    return out;
  }

  void refuse_unknown() const {
    for (const GgufTensor& tensor : file_.tensors()) {
      if (!read_.contains(tensor.name)) {
        throw UserError("{}: tensor '{}' is no part of the plain llama architecture", file_.path(),
                        tensor.name);
      }
    }
  }

 private:
  const GgufTensor& require(const std::string& name, std::int64_t row_length, std::int64_t rows) {
    const GgufTensor& tensor = file_.tensor(name);
    read_.insert(name);
    if (tensor.row_length() != row_length || tensor.rows() != rows) {
      throw UserError("{}: tensor '{}' has {} rows of {}, the metadata says {} of {}", file_.path(),
                      name, tensor.rows(), tensor.row_length(), rows, row_length);
    }
    return tensor;
  }

  template <typename Use>
  void each_row(const GgufTensor& tensor, const Use& use) {
    constexpr std::int64_t kRowsAtOnce = 64;
    const std::int64_t rows = tensor.rows();
    std::atomic<std::int64_t> bad{rows};  // the first row that is not finite
    pool_.run((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t part) {
      std::vector<float> values(static_cast<std::size_t>(tensor.row_length()));
      const std::int64_t last = std::min(rows, (part + 1) * kRowsAtOnce);
      for (std::int64_t row = part * kRowsAtOnce; row < last; ++row) {
        file_.read_row(tensor, row, values);
        if (!finite(values)) {
          bad = std::min(bad.load(), row);
        }
        use(row, values);
      }
    });
    if (bad < rows) not_finite(tensor, bad);
  }

  static bool finite(std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  }
  void check_finite(const GgufTensor& tensor, std::int64_t row, std::span<const float> values) {
    if (!finite(values)) not_finite(tensor, row);
  }
  [[noreturn]] void not_finite(const GgufTensor& tensor, std::int64_t row) const {
    throw UserError(
        "{}: tensor '{}' (byte {}), row {}: a weight is no finite number: the file is "
        "damaged",
        file_.path(), tensor.name, tensor.offset_bytes, row);
  }

  const GgufFile& file_;
  ThreadPool& pool_;
  std::set<std::string> read_;
};

Model::Model(const GgufFile& file, int threads)
    : shape_(read_shape(file)), pool_(std::make_unique<ThreadPool>(threads)) {
  Loader loader(file, *pool_);
  const auto& s = shape_;
  embedding_ = loader.matrix("token_embd.weight", s.vocab, s.hidden);
  if (loader.has("output.weight")) head_ = loader.matrix("output.weight", s.vocab, s.hidden);
  final_norm_ = loader.vector("output_norm.weight", s.hidden);
  for (LayerId l = 0; l < s.layers; ++l) {
    const auto name = [&](const char* part) { return fmt::format("blk.{}.{}.weight", l, part); };
    LayerWeights& w = layers_.emplace_back();
    w.attention_norm = loader.vector(name("attn_norm"), s.hidden);
    w.query = loader.matrix(name("attn_q"), s.query_size(), s.hidden);
    w.key = loader.matrix(name("attn_k"), s.kv_size(), s.hidden);
    w.value = loader.matrix(name("attn_v"), s.kv_size(), s.hidden);
    w.output = loader.matrix(name("attn_output"), s.hidden, s.query_size());
    w.mlp_norm = loader.vector(name("ffn_norm"), s.hidden);
    w.gate = loader.matrix(name("ffn_gate"), s.ffn, s.hidden);
    w.up = loader.matrix(name("ffn_up"), s.ffn, s.hidden);
    w.down = loader.transposed(name("ffn_down"), s.ffn, s.hidden);
    for (std::int64_t j = 0; j < s.ffn; ++j) {
      double squares = 0;
      for (const float v : w.down[j]) squares += double{v} * double{v};
      w.down_norm.push_back(static_cast<float>(std::sqrt(squares)));
    }
  }
  loader.refuse_unknown();
  for (std::int32_t i = 0; i < s.rope_size / 2; ++i) {
    rope_rates_.push_back(std::pow(s.rope_base, -2.0 * i / s.rope_size));
  }
}

}  // namespace leanstream::transformer
