// Where the choices of a random case come from: a random stream in tests, the fuzzer's bytes there.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>

namespace leanstream::scheduler {

class Choices {
 public:
  using Draw = std::function<std::uint64_t(std::uint64_t)>;  // bound ≥ 1 in, 0 … bound − 1 out

  explicit Choices(Draw draw) : draw_(std::move(draw)) {}

  std::uint64_t below(std::uint64_t bound) { return draw_(bound); }
  bool one_in(std::uint64_t n) { return below(n) == n - 1; }
  std::int32_t from_to(std::int32_t first, std::int32_t last) {
    return first + static_cast<std::int32_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  template <typename T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }

 private:
  Draw draw_;
};

}  // namespace leanstream::scheduler
