#include "experiments/validate/calibrated.h"

#include <algorithm>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "experiments/run/cell_activations.h"

namespace leanstream::validate {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name") || line.starts_with("Hardware")) {
      const auto from = line.find(": ");
      if (from != line.npos) return line.substr(from + 2);
    }
  }
  return "unknown processor";
}

}  // namespace

std::optional<Calibrated> calibration_of(const platform::LoadedPlatform&) {
  return std::nullopt;  // no platform file can say it yet
}

std::string machine() {
  utsname system{};
  ::uname(&system);
  const double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return fmt::format("{}, {} cores, {:.0f} GiB, {} {}", processor(),
                     std::thread::hardware_concurrency(), bytes / (1 << 30), system.sysname,
                     system.release);
}

std::vector<Bytes> read_sizes(const run::Cell& cell) {
  const run::CellActivations activations(cell);
  const run::CellPolicies policies(cell, activations.view());
  const auto merged = static_cast<Bytes>(
      std::clamp(policies.view().loader->merge_blocks(), 1, cell.geometry.blocks_per_layer));
  std::vector<Bytes> sizes{cell.geometry.block_bytes};
  if (merged > 1) sizes.push_back(merged * cell.geometry.block_bytes);
  return sizes;
}

std::vector<std::string> seen_in_calibration(const Calibrated& calibrated,
                                             const std::vector<run::Cell>& cells) {
  std::vector<std::string> sentences;
  for (const run::Cell& cell : cells) {
    const auto shape = fmt::format("{} x {}", cell.model.shape.hidden, cell.model.shape.ffn);
    if (std::ranges::find(calibrated.shapes, shape) != calibrated.shapes.end()) {
      sentences.push_back(fmt::format("{}: MLPs of {} were calibrated", run::label(cell), shape));
    }
    for (const Bytes bytes : read_sizes(cell)) {
      if (std::ranges::find(calibrated.read_sizes, bytes) == calibrated.read_sizes.end()) continue;
      sentences.push_back(
          fmt::format("{}: reads of {} bytes were calibrated", run::label(cell), bytes));
    }
  }
  return sentences;
}

}  // namespace leanstream::validate
