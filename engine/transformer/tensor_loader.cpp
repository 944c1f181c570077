#include "engine/transformer/tensor_loader.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "engine/base/error.h"

namespace leanstream::transformer {
namespace {

bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

}  // namespace

std::vector<float> TensorLoader::vector(const std::string& name, std::int64_t length) {
  std::vector<float> out(static_cast<std::size_t>(length));
  each_row(require(name, 1, length), [&](std::int64_t, std::span<const float> values) {
    std::copy(values.begin(), values.end(), out.begin());
  });
  return out;
}

Matrix TensorLoader::matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  Matrix out(rows, columns);
  each_row(require(name, rows, columns), [&](std::int64_t row, std::span<const float> values) {
    std::copy(values.begin(), values.end(), out[row].begin());
  });
  return out;
}

Matrix TensorLoader::transposed(const std::string& name, std::int64_t rows, std::int64_t columns) {
  Matrix out(rows, columns);
  const MutableRows to = out.view();
  each_row(require(name, columns, rows), [&](std::int64_t row, std::span<const float> values) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      to.data[static_cast<std::int64_t>(j) * to.stride + row] = values[j];
    }
  });
  return out;
}

StoredMatrix TensorLoader::stored(const std::string& name, std::int64_t rows,
                                  std::int64_t columns) {
  const GgufTensor& tensor = require(name, rows, columns);
  each_row(tensor, [](std::int64_t, std::span<const float>) {});
  const auto bytes = file_.bytes(tensor);
  StoredMatrix out{tensor.type, rows, columns, {bytes.begin(), bytes.end()}};
  file_.forget(tensor);
  return out;
}

const GgufTensor& TensorLoader::require(const std::string& name, std::int64_t rows,
                                        std::int64_t columns) {
  const GgufTensor& tensor = file_.tensor(name);
  read_.insert(name);
  if (tensor.row_length() != columns || tensor.rows() != rows) {
    throw UserError("{}: tensor '{}' has {} rows of {}, the metadata says {} of {}", file_.path(),
                    name, tensor.rows(), tensor.row_length(), rows, columns);
  }
  return tensor;
}

void TensorLoader::refuse_unknown() const {
  for (const GgufTensor& tensor : file_.tensors()) {
    if (!read_.contains(tensor.name)) {
      throw UserError("{}: tensor '{}' is no part of the plain llama architecture", file_.path(),
                      tensor.name);
    }
  }
}

void TensorLoader::each_row(const GgufTensor& tensor, const UseRow& use) {
  constexpr std::int64_t kRowsAtOnce = 64;
  const std::int64_t rows = tensor.rows();
  std::atomic<std::int64_t> bad{rows};  // the first row that is not finite
  pool_.run((rows + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::int64_t part) {
    std::vector<float> values(static_cast<std::size_t>(tensor.row_length()));
    const std::int64_t last = std::min(rows, (part + 1) * kRowsAtOnce);
    for (std::int64_t row = part * kRowsAtOnce; row < last; ++row) {
      file_.read_row(tensor, row, values);
      if (!finite(values)) bad = std::min(bad.load(), row);
      use(row, values);
    }
  });
  if (bad == rows) return;
  throw UserError(
      "{}: tensor '{}' (byte {}), row {}: a weight is no finite number: the file is damaged",
      file_.path(), tensor.name, tensor.offset_bytes, bad.load());
}

}  // namespace leanstream::transformer
