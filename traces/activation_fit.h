// What a generator needs to know of a recorded trace, layer by layer (fit_trace.h measures it,
// synthesis.h draws from it), and the file that holds it: traces/README.md, "Fits".
//
// A neuron's score for one token and layer is its own constant (how hot it is) plus a moving part
// of unit variance: a random loading on the factors of that token and layer. The active set are the
// highest scores. Shares below are of the moving part's variance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "engine/config/document.h"
#include "engine/config/parameters.h"

namespace leanstream::traces {

inline constexpr int kFitVersion = 1;
inline constexpr std::size_t kHotQuantiles = 65;
inline constexpr double kPositionTokens = 48;  // the position factor falls by e in so many tokens

struct FitLayer {
  // Scores of the neurons, as kHotQuantiles equally spaced quantiles from the coldest to the
  // hottest: Φ of it is the share of the tokens in whose active set a neuron is.
  std::vector<double> hot{};
  double token = 0;               // share that the token's identity decides
  std::vector<double> lasting{};  // shares that fade by e in ActivationFit::lasting_tokens
  double position = 0;  // variance that a factor of the position adds to the first token's
  double factors = 1;   // (Σλ)² ÷ Σλ² of the factors' variances λ
  std::vector<double> magnitude{};  // importance at ActivationFit::magnitude_shares
  std::vector<double> recall{};     // [11] as in a trace; empty when not measured

  // What neither the token nor the past decides.
  double fresh() const;
};

struct ActivationFit {
  std::string name;    // of the file
  std::string model;   // whose trace was measured
  std::string source;  // the text
  TokenId tokens = 0;
  double density = 0.2;              // of the active sets
  double layer_carry = 0;            // correlation of a factor in neighbouring layers
  std::vector<double> token_shares;  // of the tokens seen twice or more, falling; others are new
  std::vector<double> lasting_tokens{1.5, 6, 24, 96};
  std::vector<double> magnitude_shares;  // of a layer's neurons that have at most `magnitude`
  std::vector<FitLayer> layers;

  // Figures of the trace itself; a reader of the file compares with them.
  double persistence = 0;
  double hot_share = 0;
  double importance_share = 0;
  std::vector<double> reuse_tokens;  // between uses of a neuron: 50th, 90th, 99th percentile
};

// Reads a parsed file and reports everything that is wrong in it; never throws.
ActivationFit read_fit(const config::Document& document, config::Diagnostics& diagnostics);

// Finds ("smollm2-135m" or a path), loads and reads. Throws UserError with all errors.
ActivationFit load_fit(const std::string& name_or_path);

// The text of the file; numbers have four digits. `tool` and `command` say what made it.
std::string fit_text(const ActivationFit& fit, const std::string& command);

// The same for another number of layers: parameters at equal relative depth, linear between layers.
ActivationFit with_layers(const ActivationFit& fit, LayerId layers);

}  // namespace leanstream::traces
