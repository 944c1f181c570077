// Takes the tensors of a model out of a GGUF file, checked.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/transformer/decoder.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/matrix.h"
#include "engine/transformer/thread_pool.h"

namespace leanstream::transformer {

// Remembers which tensors it has read, so that what is left over can be refused. Everything throws
// UserError when a tensor is missing or of a wrong shape, and what reads values when one is not
// finite.
class TensorLoader {
 public:
  TensorLoader(const GgufFile& file, ThreadPool& pool) : file_(file), pool_(pool) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }

  std::vector<float> vector(const std::string& name, std::int64_t length);
  Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t columns);
  // [rows, columns], whose rows are the tensor's columns.
  Matrix transposed(const std::string& name, std::int64_t rows, std::int64_t columns);
  // In the file's own type.
  StoredMatrix stored(const std::string& name, std::int64_t rows, std::int64_t columns);
  // Is there and counts as read; no value is looked at.
  const GgufTensor& require(const std::string& name, std::int64_t rows, std::int64_t columns);

  void refuse_unknown() const;

 private:
  using UseRow = std::function<void(std::int64_t row, std::span<const float> values)>;
  void each_row(const GgufTensor& tensor, const UseRow& use);

  const GgufFile& file_;
  ThreadPool& pool_;
  std::set<std::string> read_;
};

}  // namespace leanstream::transformer
