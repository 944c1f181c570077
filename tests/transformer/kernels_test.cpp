#include "engine/transformer/kernels.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/random.h"
#include "engine/transformer/matrix.h"
#include "engine/transformer/thread_pool.h"

namespace leanstream::transformer {
namespace {

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  RandomStream random(seed, "tests.matrix");
  Matrix m(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (float& v : m[r]) v = static_cast<float>(random.next_unit() - 0.5);
  }
  return m;
}

// All remainders of tiles and vectors come by.
TEST(Kernels, AgreeWithPlainSums) {
  for (const std::int64_t n : {1, 2, 4, 7}) {
    for (const std::int64_t inner : {1, 16, 33, 100}) {
      for (const std::int64_t outputs : {1, 5, 48, 67}) {
        const Matrix x = random_matrix(n, inner, 1), w = random_matrix(outputs, inner, 2);
        const Matrix r = random_matrix(inner, outputs, 3);
        Matrix dots(n, outputs), sums = random_matrix(n, outputs, 4);
        const Matrix start = sums;
        multiply_transposed(x.view(), w.view(), dots.view());
        add_product(x.view(), r.view(), sums.view());
        for (std::int64_t t = 0; t < n; ++t) {
          for (std::int64_t o = 0; o < outputs; ++o) {
            const auto at = static_cast<std::size_t>(o);
            double dot = 0, sum = double{start[t][at]};
            for (std::int64_t i = 0; i < inner; ++i) {
              const double factor = double{x[t][static_cast<std::size_t>(i)]};
              dot += factor * double{w[o][static_cast<std::size_t>(i)]};
              sum += factor * double{r[i][at]};
            }
            ASSERT_NEAR(dots[t][at], dot, 1e-5);
            ASSERT_NEAR(sums[t][at], sum, 1e-5);
          }
        }
      }
    }
  }
}

TEST(Kernels, ChosenRowsEqualTheProductWithOnlyThem) {
  const Matrix r = random_matrix(50, 70, 1);
  const std::vector<std::int32_t> rows{49, 3, 3, 17};
  const std::vector<float> factors{1, 2, -0.5F, 3};
  std::vector<float> y(70, 1.0F);
  add_chosen_rows(factors, rows, r.view(), y);
  for (std::size_t d = 0; d < y.size(); ++d) {
    EXPECT_NEAR(y[d], 1 + r[49][d] + 1.5F * r[3][d] + 3 * r[17][d], 1e-5);
  }
}

// Vectors that lie across two lines are slower, and by chance.
TEST(Matrix, BeginsAtALineOfTheCache) {
  std::vector<Matrix> all;
  for (std::int64_t columns = 1; columns < 40'000; columns = 2 * columns + 3) {
    Matrix& m = all.emplace_back(3, columns);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.view().data) % 64, 0U) << columns;
    m.resize(16, columns);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.view().data) % 64, 0U) << columns;
  }
}

TEST(ThreadPool, DoesEachPartOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(17);
      pool.run(17, [&](std::int64_t part) { ++done[static_cast<std::size_t>(part)]; });
      for (const auto& d : done) ASSERT_EQ(d, 1);
    }
  }
}

}  // namespace
}  // namespace leanstream::transformer
