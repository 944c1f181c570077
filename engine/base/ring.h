// A queue that keeps its memory: no allocation once it has grown to the size it is used at.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace leanstream {

template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return items_.size(); }
  T& operator[](std::size_t i) { return items_[(first_ + i) & (items_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return items_[(first_ + i) & (items_.size() - 1)]; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }

  void push_back(T item) {
    if (size_ == items_.size()) grow();
    ++size_;
    (*this)[size_ - 1] = std::move(item);
  }
  void pop_front() {
    first_ = (first_ + 1) & (items_.size() - 1);
    --size_;
  }
  // Later items move up.
  void erase(std::size_t i) {
    for (; i + 1 < size_; ++i) (*this)[i] = std::move((*this)[i + 1]);
    --size_;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());  // a power of two
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    items_.swap(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace leanstream
