// Buffers that are lent out until the next reset and keep their memory: no allocation once a run
// has seen its largest batch.
#pragma once

#include <cstddef>
#include <vector>

namespace leanstream::backend {

template <typename T>
class BufferPool {
 public:
  // An empty buffer; its elements stay where they are when more are taken.
  std::vector<T>& take() {
    auto& buffer = next();
    buffer.clear();
    return buffer;
  }
  // One of `size` elements, whatever they are.
  std::vector<T>& take(std::size_t size) {
    auto& buffer = next();
    buffer.resize(size);
    return buffer;
  }
  void reset() { used_ = 0; }

 private:
  std::vector<T>& next() {
    if (used_ == buffers_.size()) buffers_.emplace_back();
    return buffers_[used_++];
  }

  std::vector<std::vector<T>> buffers_;  // growing moves the vectors, not their elements
  std::size_t used_ = 0;
};

}  // namespace leanstream::backend
