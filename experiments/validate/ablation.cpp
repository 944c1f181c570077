#include "experiments/validate/ablation.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/platform/platform_file.h"

namespace leanstream::validate {
namespace {

using config::Json;

struct Change {
  const char* parameter;  // of a platform
  const char* off;        // the value at which it does nothing
};
struct Row {
  const char* name;
  std::vector<Change> changes;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"latency of flash", {{"flash.latency", "1 ns"}}},
      {"limit of requests", {{"flash.requests", "1000000 MIOPS"}}},
      {"overhead of a request", {{"flash.request_overhead", "0 B"}}},
      {"bandwidth grows with bytes in flight", {{"flash.span", "0 B"}}},
      {"ends told together", {{"flash.batch", "1"}}},
      {"spread of latency and transfer", {{"flash.spread", "0"}}},
      {"pauses of flash", {{"flash.pause", "0 us"}}},
      {"places in memory that a request fills", {{"flash.piece", "0 B"}}},
      {"neighbours as one request", {{"flash.merge", "0 B"}}},
      {"cost of a merged request", {{"flash.merge_overhead", "0 B"}}},
      {"overhead of an I/O segment", {{"flash.io_segment_overhead", "0 us"}}},
      {"bus sharing", {{"memory.bandwidth", "1000000 GB/s"}}},
      {"limit of operations",
       {{"accelerator.compute", "1000000 TFLOPS"}, {"accelerator.mlp_compute", "1000000 TFLOPS"}}},
      {"operations of a block", {{"accelerator.block_operations", "0"}}},
      {"synchronisation of a segment",
       {{"accelerator.flags_segment", "0 us"},
        {"accelerator.polling_segment", "0 us"},
        {"accelerator.device_segment", "0 us"}}},
      {"start of the accelerator", {{"accelerator.start", "0 us"}}},
      {"cost of a command", {{"accelerator.command", "0 us"}}},
      {"blocks that do not follow each other",
       {{"accelerator.jump", "0 ns"}, {"accelerator.jump_vectors", "0 B"}}},
      {"cost of a row of weights", {{"accelerator.row", "0 ns"}}},
      {"cost of an attention's heads", {{"accelerator.attention_head", "0 us"}}},
      {"queues that lanes share", {{"flash.queues", "0"}}},
      {"time of predictions",
       {{"predictors.stacked_hash.time", "1 ns"}, {"predictors.low_rank_mlp.time", "1 ns"}}},
      {"wake-up of the processor", {{"cpu.wake_up", "0 us"}}},
      {"from thread to thread", {{"cpu.hand_over", "0 us"}}},
      {"time of a scheduling step", {{"cpu.step", "0 us"}}}};
  return all;
}

}  // namespace

std::vector<Effect> effects() {
  const auto parameters = config::parameter_rows(platform::table().describe());
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(parameters, [&](const Json& p) { return p["parameter"] == name; });
  };
  std::vector<Effect> all{{"single requests (fidelity)", {"fidelity=segment"}}};
  for (const Row& row : rows()) {
    Effect effect{row.name, {}};
    for (const Change& change : row.changes) {
      if (!is_known(change.parameter)) continue;
      effect.off.push_back(fmt::format("platform_changes.{}={}", change.parameter, change.off));
    }
    if (!effect.off.empty()) all.push_back(effect);
  }
  return all;
}

bool differ(const std::vector<run::Cell>& with, const std::vector<run::Cell>& without) {
  return !std::ranges::equal(with, without, [](const run::Cell& a, const run::Cell& b) {
    return a.spec.experiment.fidelity == b.spec.experiment.fidelity &&
           platform::table().write(a.platform.platform) ==
               platform::table().write(b.platform.platform);
  });
}

}  // namespace leanstream::validate
