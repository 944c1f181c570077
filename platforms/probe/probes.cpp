#include "platforms/probe/probes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace leanstream::probe {

std::string read_parameters(Bytes bytes, std::int32_t together) {
  return fmt::format("bytes={} together={}", bytes, together);
}

std::string mix_parameters(const Plan& plan, std::int32_t together) {
  return fmt::format("bytes={} pieces={} together={}", plan.mix_bytes,
                     fmt::join(plan.mix_pieces, "|"), together);
}

std::string pieces_parameters(const Plan& plan, std::int32_t together) {
  return fmt::format("bytes={} pieces={} together={}", plan.piece_bytes, plan.pieces, together);
}

std::string merged_parameters(const Plan& plan, std::int32_t together) {
  return fmt::format("bytes={} pieces={} together={}", plan.piece_bytes, plan.merged, together);
}

std::string pauses_parameters(const Plan& plan) {
  return fmt::format("bytes={} depth={}", plan.read_bytes.front(), plan.depth);
}

std::string memory_parameters(bool all_processors) {
  return all_processors ? "threads=all" : "threads=1";
}

std::string shape_parameters(const Shape& shape) {
  return fmt::format("hidden={} ffn={} block={}", shape.hidden, shape.ffn, shape.block_neurons);
}

std::string decode_parameters(const Shape& shape, backend::Synchronisation synchronisation,
                              int segments, double share, Order order) {
  std::string text = shape_parameters(shape);
  for (const auto& [one, name] : kSynchronisations) {
    if (one == synchronisation) text += fmt::format(" synchronisation={}", name);
  }
  return text + fmt::format(" segments={} share={}", segments, share) +
         (order == Order::memory ? " in order" : "");
}

std::string idle_parameters(TimeNs idle_ns) {
  return fmt::format("idle_us={}", static_cast<double>(idle_ns) / 1e3);
}

std::string prediction_parameters(const PredictionSize& size) {
  return fmt::format("like={} bytes={}", size.name, size.all_bytes / size.layers);
}

std::vector<Group> all_probes(const Plan& plan, const PathOf& path) {
  // What can fail first.
  std::vector<Group> groups{wake_up_probes(plan, path), storage_probes(plan, path),
                            memory_probes(plan), step_probes(plan), prediction_probes(plan, path)};
  for (Group& group : accelerator_probes(plan, path)) groups.push_back(std::move(group));
  return groups;
}

}  // namespace leanstream::probe
