#include "engine/policy/load/loader.h"

namespace leanstream::policy {
namespace {

// Reads what is missing once the layer's final prediction exists; nothing ahead.
class OnDemand final : public Loader {
 public:
  using Parameters = NoParameters;
  static const config::Table<Parameters>& table() { return NoParameters::table(); }

  OnDemand(const Context&, const Parameters&) {}

  ReadAhead read_ahead() const override { return ReadAhead::none; }
};

}  // namespace

LEANSTREAM_LOADER(OnDemand, "on_demand", "what is missing, when the layer needs it")

}  // namespace leanstream::policy
