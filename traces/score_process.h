// The process behind a synthetic trace: a fit, changed until it shows the figures asked for.
#pragma once

#include <optional>
#include <vector>

#include "engine/config/parameters.h"
#include "traces/activation_fit.h"

namespace leanstream::traces {

// What a synthetic trace is asked to look like. What is absent is as in the fit.
struct SynthesisKnobs {
  std::optional<double> density;  // to which the three figures below refer
  std::optional<double> persistence;
  std::optional<double> hot_share;
  std::optional<double> importance_share;
  std::vector<double> recall;  // 11, for all layers; empty: as in the fit
  double error_persistence = 0;
};

const config::Table<SynthesisKnobs>& synthesis_table();

// The figures that a long trace of the process shows at a density, means over the layers.
struct ProcessFigures {
  double density = 0;
  double persistence = 0;
  double hot_share = 0;
  double importance_share = 0;
};
ProcessFigures figures_of(const ActivationFit& process, double density);

// `fit` with its layers resampled to `layers` and changed for the knobs: hot_share draws the
// neurons' constants together or apart; persistence moves variance between what lasts and what does
// not, and more of it makes what lasts last longer; importance_share raises importances to a power.
// Throws UserError, all reasons at once, when no process has the figures.
ActivationFit calibrate(const ActivationFit& fit, LayerId layers, const SynthesisKnobs& knobs);

}  // namespace leanstream::traces
