// The random process behind a synthetic trace, and its inversion: from figures that a trace shows
// to the parameters that make it show them.
//
// A neuron's score for (token, layer) has unit variance over the neurons of a layer and is a sum:
//
//   fixed      the neuron's own, the same for all tokens        hot and cold neurons
//   lasting    AR(1) over tokens with coefficient `carry`       persistence between tokens
//   token      random loading × one factor of the token         all layers of a token change alike
//   layer      random loading × one factor of (token, layer)    one layer of a token changes
//   fresh      independent noise
//
// Importance is exp(spread · score). Scores of one layer at two tokens are then jointly normal over
// the neurons, given the factors, so the overlap of their top sets is a quadrant probability and
// the share of importance in a top set a value of Φ; both are averaged over the factors.
#pragma once

#include <vector>

#include "engine/config/parameters.h"
#include "engine/policy/predict/score_model.h"

namespace leanstream::traces {

inline constexpr double kKnobDensity = 0.2;  // to which the knobs below refer

// What a synthetic trace is asked to look like.
struct SynthesisKnobs {
  double persistence = 0.345;
  double hot_share = 0.398;
  double importance_share = 0.604;
  double token_factor = 0.2;
  double layer_factor = 0.16;
  std::vector<double> recall{policy::kMeasuredRecall.begin(), policy::kMeasuredRecall.end()};
  double error_persistence = 0;
};

const config::Table<SynthesisKnobs>& synthesis_table();

// Variances of the parts (their sum is 1), and the two constants above.
struct ScoreProcess {
  double fixed = 0;
  double lasting = 0;
  double carry = 0;
  double token = 0;
  double layer = 0;
  double fresh = 1;
  double spread = 1;
};

// The process whose long-run persistence, hot share and importance share at kKnobDensity are those
// asked for; the quadrature over the factors is good to about 0.002. Throws UserError when no
// process has them: hot neurons and factors keep more than `persistence`, or a knob is out of
// range.
ScoreProcess calibrate(const SynthesisKnobs& knobs);

}  // namespace leanstream::traces
