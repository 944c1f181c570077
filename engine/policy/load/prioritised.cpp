#include "engine/policy/load/loader.h"

namespace leanstream::policy {
namespace {

// Reads the most important blocks first, for the next layer by its newest prediction.
class Prioritised final : public Loader {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  Prioritised(const Context&, const Parameters&) {}

  ReadAhead read_ahead() const override { return ReadAhead::speculative; }
  ReadOrder order() const override { return ReadOrder::priority; }
};

}  // namespace

LEANSTREAM_LOADER(Prioritised, "prioritised",
                  "the most important first, ahead by the newest prediction")

}  // namespace leanstream::policy
