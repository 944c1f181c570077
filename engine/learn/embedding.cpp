#include "engine/learn/embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <Eigen/Core>

#include "engine/base/random.h"

namespace leanstream::learn {
namespace {

using policy::Coactivation;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Index = Eigen::Index;

constexpr Index kTile = 128;  // rows at work, so that their products stay in the cache

// Adam (Kingma and Ba, ICLR 2015) over the rows of a matrix.
class Adam {
 public:
  explicit Adam(const Matrix& like)
      : mean_(Matrix::Zero(like.rows(), like.cols())), square_(mean_) {}

  void next(double rate) {
    mean_left_ *= kMean;
    square_left_ *= kSquare;
    step_ = static_cast<float>(rate / (1 - mean_left_));
    square_scale_ = static_cast<float>(1 / (1 - square_left_));
  }
  // Moves rows first … of `values` against `gradient`.
  void move(Index first, const Matrix& gradient, Matrix& values) {
    const Index n = gradient.rows();
    auto mean = mean_.middleRows(first, n).array();
    auto square = square_.middleRows(first, n).array();
    mean = kMean * mean + (1 - kMean) * gradient.array();
    square = kSquare * square + (1 - kSquare) * gradient.array().square();
    values.middleRows(first, n).array() -=
        step_ * mean / ((square * square_scale_).sqrt() + kSmall);
  }

 private:
  static constexpr float kMean = 0.9F, kSquare = 0.999F, kSmall = 1e-8F;

  Matrix mean_, square_;
  double mean_left_ = 1, square_left_ = 1;
  float step_ = 0, square_scale_ = 1;
};

// Contexts in random order; all of them before any comes again.
class Rounds {
 public:
  Rounds(std::int32_t count, std::int32_t at_once)
      : all_(static_cast<std::size_t>(count)),
        at_once_(static_cast<std::size_t>(std::min(at_once, count))),
        at_(all_.size()) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  std::span<const std::int32_t> next(RandomStream& random) {
    if (at_ + at_once_ > all_.size()) {
      for (std::size_t i = all_.size(); i > 1; --i) {
        std::swap(all_[i - 1], all_[random.next_below(i)]);
      }
      at_ = 0;
    }
    at_ += at_once_;
    return std::span<const std::int32_t>(all_).subspan(at_ - at_once_, at_once_);
  }

 private:
  std::vector<std::int32_t> all_;
  std::size_t at_once_;
  std::size_t at_;
};

class Embedding {
 public:
  Embedding(const Coactivation& counted, const EmbeddingRule& rule)
      : counted_(counted),
        rule_(rule),
        random_(rule.seed, "learn.embedding"),
        uses_(counted.ffn),
        z_(counted.ffn, rule.dimensions),
        adam_(z_) {
    for (Index i = 0; i < counted.ffn; ++i) {
      uses_(i) = static_cast<float>(counted.uses[static_cast<std::size_t>(i)]);
    }
    const double uses = uses_.cast<double>().sum();
    pairs_ = std::accumulate(counted.together.begin(), counted.together.end(), 0.0);
    by_chance_ = uses > 0 ? static_cast<float>(pairs_ / (uses * uses)) : 0;
    for (Index i = 0; i < z_.rows(); ++i) {
      for (Index d = 0; d < z_.cols(); ++d) {
        z_(i, d) = static_cast<float>((random_.next_unit() - 0.5) * 0.35);
      }
    }
  }

  void train() {
    if (pairs_ == 0) return;
    Rounds rounds(counted_.ffn, rule_.contexts);
    for (std::int32_t t = 0; t < rule_.iterations; ++t) {
      const double done = static_cast<double>(t + 1) / rule_.iterations;
      adam_.next(rule_.rate * (1 - 0.95 * done));
      step(rounds.next(random_));
    }
  }

  Coactivation predicted() const {
    Coactivation out = counted_;
    const auto n = static_cast<std::size_t>(counted_.ffn);
    const std::uint32_t most = *std::max_element(counted_.uses.begin(), counted_.uses.end());
    const std::uint32_t unit = std::max(1U, 65535U / std::max(1U, most));
    for (std::uint32_t& uses : out.uses) uses *= unit;
    Matrix x;
    for (Index first = 0; first < z_.rows(); first += kTile) {
      const Index rows = std::min(kTile, z_.rows() - first);
      x.noalias() = z_.middleRows(first, rows) * z_.transpose();
      x = x.array().exp();
      for (Index r = 0; r < rows; ++r) {
        const auto i = static_cast<std::size_t>(first + r);
        const float scale = by_chance_ * uses_(first + r) * static_cast<float>(unit);
        for (std::size_t j = i + 1; j < n; ++j) {
          const auto most_together = static_cast<float>(std::min(out.uses[i], out.uses[j]));
          const float both = scale * uses_(static_cast<Index>(j)) * x(r, static_cast<Index>(j));
          out.together[i * n + j] = out.together[j * n + i] =
              static_cast<std::uint16_t>(std::min(both, most_together) + 0.5F);
        }
      }
    }
    return out;
  }

 private:
  // One iteration: all neurons against these contexts.
  void step(std::span<const std::int32_t> contexts) {
    const auto count = static_cast<Index>(contexts.size());
    Matrix z(count, z_.cols());
    for (Index s = 0; s < count; ++s) z.row(s) = z_.row(contexts[static_cast<std::size_t>(s)]);
    const auto n = static_cast<float>(counted_.ffn);
    // Per pair of n², so that the rate means the same for every size and number of tokens.
    const float scale = 2 * n * n / static_cast<float>(pairs_) / static_cast<float>(count);
    Matrix x, gradient;
    for (Index first = 0; first < z_.rows(); first += kTile) {
      const Index rows = std::min(kTile, z_.rows() - first);
      x.noalias() = z_.middleRows(first, rows) * z.transpose();
      x = (1 + (-x.array()).exp()).inverse();
      for (Index r = 0; r < rows; ++r) weigh(first + r, contexts, x.row(r));
      gradient.noalias() = x * z;
      gradient *= scale;
      adam_.move(first, gradient, z_);
    }
  }

  // σ(Z_n·Z_m) becomes the derivative of what the pairs (n, m) are expected to cost.
  template <typename Row>
  void weigh(Index n, std::span<const std::int32_t> contexts, Row row) const {
    const auto together = counted_.row(static_cast<std::int32_t>(n));
    const float chance = by_chance_ * uses_(n);
    for (std::size_t s = 0; s < contexts.size(); ++s) {
      const std::int32_t m = contexts[s];
      float& x = row(static_cast<Index>(s));
      const auto positive = static_cast<float>(together[static_cast<std::size_t>(m)]);
      x = m == n ? 0 : chance * uses_(m) * x - positive * (1 - x);
    }
  }

  const Coactivation& counted_;
  EmbeddingRule rule_;
  RandomStream random_;
  Eigen::VectorXf uses_;
  Matrix z_;
  Adam adam_;
  double pairs_ = 0;     // Σ counts
  float by_chance_ = 0;  // · uses(n) · uses(m): as many in all
};

}  // namespace

Coactivation embedded(const Coactivation& counted, const EmbeddingRule& rule) {
  Embedding embedding(counted, rule);
  embedding.train();
  return embedding.predicted();
}

}  // namespace leanstream::learn
