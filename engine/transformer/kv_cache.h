// Keys and values of the tokens so far.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/types.h"
#include "engine/transformer/matrix.h"

namespace leanstream::transformer {

class KvCache {
 public:
  // Room for `capacity` tokens; kv_size = kv heads · head size.
  KvCache(std::int32_t layers, std::int32_t kv_size, std::int64_t capacity)
      : capacity_(capacity),
        keys_(static_cast<std::size_t>(layers), Matrix(capacity, kv_size)),
        values_(static_cast<std::size_t>(layers), Matrix(capacity, kv_size)) {}

  std::int64_t length() const { return length_; }
  std::int64_t capacity() const { return capacity_; }

  // Rows of all positions; those at and above length() are what the current pass writes.
  MutableRows keys(LayerId l) { return keys_[static_cast<std::size_t>(l)].view(); }
  MutableRows values(LayerId l) { return values_[static_cast<std::size_t>(l)].view(); }
  ConstRows keys(LayerId l) const { return keys_[static_cast<std::size_t>(l)].view(); }
  ConstRows values(LayerId l) const { return values_[static_cast<std::size_t>(l)].view(); }

  void advance(std::int64_t tokens) {
    LEANSTREAM_CHECK(tokens >= 0 && tokens <= capacity_ - length_, "{} + {} of {} tokens", length_,
                     tokens, capacity_);
    length_ += tokens;
  }
  void clear() { length_ = 0; }

 private:
  std::int64_t capacity_;
  std::int64_t length_ = 0;
  std::vector<Matrix> keys_;  // [capacity, kv_size] for each layer, after rotation
  std::vector<Matrix> values_;
};

}  // namespace leanstream::transformer
