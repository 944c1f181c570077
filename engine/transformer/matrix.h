// Row-major f32 in memory of its own.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/align/aligned_allocator.hpp>

#include "engine/transformer/kernels.h"

namespace leanstream::transformer {

class Matrix {
 public:
  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns) { resize(rows, columns); }

  // Keeps no contents; new elements are 0. Shrinking keeps the memory.
  void resize(std::int64_t rows, std::int64_t columns) {
    rows_ = rows;
    columns_ = columns;
    data_.assign(static_cast<std::size_t>(rows * columns), 0.0F);
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::span<float> operator[](std::int64_t row) { return view()[row]; }
  std::span<const float> operator[](std::int64_t row) const { return view()[row]; }
  MutableRows view() { return {data_.data(), rows_, columns_, columns_}; }
  ConstRows view() const { return {data_.data(), rows_, columns_, columns_}; }

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  // Whole lines of the cache: the widest vectors that lie across two cost a fifth of a product.
  std::vector<float, boost::alignment::aligned_allocator<float, 64>> data_;
};

}  // namespace leanstream::transformer
