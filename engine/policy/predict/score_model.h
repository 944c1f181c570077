// The score model behind synthetic predictions (engine/README.md, "Synthetic prediction"): a
// neuron's predicted score is its true normal score + the final error + the error not yet removed,
// scaled back to unit variance.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/random.h"
#include "engine/base/types.h"

namespace leanstream::policy {

inline constexpr std::size_t kRecalls = 11;   // of features −2, −1, 0 … 8
inline constexpr std::size_t kOwnRecall = 1;  // feature −1, the layer's own MLP input
inline constexpr std::size_t kFinalRecall = 10;

// Recall at density 0.2, mean over layers of SmolLM2-135M: exact weights on features of the layer
// before (stages 3, 5, 7 interpolated). With exact weights −1 would be exact; 0.85 is assumed.
inline constexpr std::array<double, kRecalls> kMeasuredRecall = {
    0.575, 0.85, 0.620, 0.685, 0.702, 0.712, 0.721, 0.727, 0.733, 0.738, 0.742};

// P(Φ(b) ≥ 1 − d | Φ(a) ≥ 1 − d) for normal scores a, b with the given correlation: the recall of
// the top share d. Numerical integration, error below 1e-4.
double recall_of_correlation(double correlation, double density);

// Its inverse, within 1e-5 of the correlation. recall is clamped to [density, 1].
double correlation_of_recall(double recall, double density);

// Weights of the three parts of a score, in units of 2^-10.
struct ScoreWeights {
  std::int32_t truth = 1024;
  std::int32_t final_error = 0;
  std::int32_t stage_error = 0;
};

// For a feature whose prediction correlates with the truth by `stage`, of a family whose final
// prediction correlates by `final`. The error that the final prediction has too is shared; a
// feature better than the final one has no error of its own.
ScoreWeights score_weights(double stage, double final);

// How long each neuron keeps its error: for a period of its own, and then it draws anew. Periods P
// follow a Gamma law of shape 2 and start at random phases, because ∫ max(0, 1 − Δ/P) over that law
// is e^(−Δ ÷ scale): over the neurons the correlation between errors Δ tokens apart is exactly
// persistence^Δ, and yet any token can be asked in any order, at one multiplication a neuron.
class ErrorPeriods {
 public:
  // 0 < persistence < 1. `random` decides periods and phases; layers share them.
  ErrorPeriods(double persistence, std::int32_t neurons, const RandomStream& random);

  // In units of 2^-32 renewals a token; padded to a multiple of kScoreGroup.
  const std::uint32_t* rates() const { return rates_.data(); }
  const std::uint32_t* phases() const { return phases_.data(); }

 private:
  std::vector<std::uint32_t> rates_;
  std::vector<std::uint32_t> phases_;
};

// Where the errors of one layer come from. Without periods `key` is of (token, layer), and every
// token draws anew; with them it is of the layer alone.
struct ErrorSource {
  std::uint64_t key = 0;
  TokenId token = 0;
  const ErrorPeriods* periods = nullptr;
};

// Makes the tables that all predictions share, which takes milliseconds: before a run, so that it
// is not a part of its first prediction.
void prepare_scores();

// Predicts one layer of one token: codes[j] gets the code that the neuron's predicted score has in
// the distribution of the true codes, so that predicted and true importance are distributed alike.
void predict_codes(std::span<const std::uint8_t> truth, ScoreWeights weights,
                   const ErrorSource& errors, std::span<std::uint8_t> codes);

}  // namespace leanstream::policy
