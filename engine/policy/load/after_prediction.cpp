#include "engine/policy/load/loader.h"

namespace leanstream::policy {
namespace {

// Reads a final set as soon as it is known, in flash order.
class AfterPrediction final : public Loader {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  AfterPrediction(const Context&, const Parameters&) {}

  ReadAhead read_ahead() const override { return ReadAhead::final_set; }
};

}  // namespace

LEANSTREAM_LOADER(AfterPrediction, "after_prediction",
                  "a final set as soon as it is predicted, in flash order")

}  // namespace leanstream::policy
