#include "experiments/run/assumed.h"

#include <algorithm>

namespace leanstream::run {
namespace {

std::string charged_predictor(CostLike like) {
  switch (like) {
    case CostLike::nothing:
      return "";
    case CostLike::stacked_hash:
      return "predictors.stacked_hash.";
    case CostLike::low_rank_mlp:
      return "predictors.low_rank_mlp.";
  }
  return "";
}

std::string segment_cost(backend::Synchronisation synchronisation) {
  switch (synchronisation) {
    case backend::Synchronisation::flags:
      return "accelerator.flags_segment";
    case backend::Synchronisation::polling:
      return "accelerator.polling_segment";
    case backend::Synchronisation::device:
      return "accelerator.device_segment";
  }
  return "";
}

// Stated for whoever reads the file: no world computes with it.
bool is_unused(const std::string& name) {
  return name == "memory.capacity" || name == "cpu.bandwidth";
}

// What every world takes from the platform, since no device tells it.
bool of_every_world(const std::string& name) {
  const auto begins = [&](const char* prefix) { return name.starts_with(prefix); };
  return begins("energy.") || begins("thermal.") || name == "flash.queue_depth" ||
         name == "flash.queues" || name == "flash.logical_block" || name == "cpu.cores" ||
         name == "cpu.read_request";
}

}  // namespace

std::vector<std::string> assumed_figures(const Cell& cell, bool follows_platform) {
  const auto synchronisation = cell.system.synchronisation;
  const std::string predictor = charged_predictor(cell.system.predict_cost);
  const bool flags = synchronisation == backend::Synchronisation::flags;
  auto names = cell.platform.assumed();
  std::erase_if(names, [&](const std::string& name) {
    if (is_unused(name)) return true;
    if (name.starts_with("predictors.")) return predictor.empty() || !name.starts_with(predictor);
    if (name == "energy.accelerator.polling") return !flags;
    if (name.ends_with("_segment")) {
      return !follows_platform || name != segment_cost(synchronisation);
    }
    return !follows_platform && !of_every_world(name);
  });
  return names;
}

}  // namespace leanstream::run
