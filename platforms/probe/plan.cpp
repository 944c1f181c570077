#include "platforms/probe/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace leanstream::probe {
namespace {

constexpr Bytes kKib = 1024;

std::vector<Bytes> kib(std::vector<Bytes> sizes) {
  for (Bytes& size : sizes) size *= kKib;
  return sizes;
}

}  // namespace

std::string Shape::text() const {
  return fmt::format("{} x {}", hidden, ffn);
}

std::string Plan::files_text() const {
  return files.empty() ? fmt::format("a file of {} MiB", size_mib)
                       : fmt::format("{}", fmt::join(files, " and "));
}

std::string Plan::text() const {
  std::vector<std::string> names;
  for (const Shape& shape : shapes) {
    names.push_back(fmt::format("{} by {}", shape.text(), shape.block_neurons));
  }
  return fmt::format(
      "{} by {}; {} at once; {} reads of {} B together and {} mixed of {} B, {} "
      "places of {} B "
      "for {} s, pauses for {} s; {} MiB of "
      "memory for {} s; {} threads, {}; shapes {}; {} segments; shares {}; {} layers; {} tokens",
      files_text(), engine, depth, fmt::join(bursts, " "), fmt::join(read_bytes, " "),
      fmt::join(mix_bursts, " "), mix_bytes, pieces, piece_bytes, read_seconds, pause_seconds,
      memory_bytes >> 20, memory_seconds, threads, processors.text(), fmt::join(names, " and "),
      fmt::join(segments, " "), fmt::join(shares, " "), layer_samples, prompt);
}

Plan full_plan() {
  Plan plan;
  plan.read_bytes = kib({4, 12, 20, 40, 80, 160, 320, 640, 1280});
  plan.bursts = {1, 2, 4, 8, 16, 32, 128};
  plan.mix_bursts = {4, 16, 64};
  plan.repetitions = 5;
  plan.read_seconds = 0.6;
  plan.shapes = {{768, 2304, 12, 4, 32'000, 24, 2}, {768, 2304, 12, 4, 32'000, 24, 8},
                 {1536, 4608, 24, 8, 24'000, 8, 2}, {1536, 4608, 24, 8, 24'000, 8, 8},
                 {3072, 9216, 24, 8, 16'000, 2, 2}, {3072, 9216, 24, 8, 16'000, 2, 8}};
  plan.segments = {1, 4, 16};
  plan.shares = {0.25, 1};
  return plan;
}

Plan quick_plan() {
  Plan plan = full_plan();
  plan.repetitions = 3;
  plan.read_bytes = kib({4, 20, 80, 320, 1280});
  plan.bursts = {1, 4, 16, 128};
  plan.mix_bursts = {16};
  plan.read_seconds = 0.3;
  plan.pause_seconds = 1;
  plan.layer_samples = 12;
  plan.prompt = 16;
  plan.memory_seconds = 0.3;
  plan.segments = {1, 16};
  plan.shares = {0.25};
  plan.wakes = 40;
  plan.predictions = 10;
  return plan;
}

Plan tiny_plan() {
  Plan plan = quick_plan();
  plan.repetitions = 2;
  plan.size_mib = 16;
  plan.read_bytes = kib({4, 12, 40});
  plan.bursts = {1, 4};
  plan.mix_bursts = {4};
  plan.read_seconds = 0.01;
  plan.pause_seconds = 0.01;
  plan.memory_bytes = Bytes{1} << 20;
  plan.memory_seconds = 0.01;
  plan.shapes = {{64, 128, 4, 2, 512, 2, 2}, {128, 256, 4, 2, 512, 2, 4}};
  plan.layer_samples = 4;
  plan.prompt = 4;
  plan.idle_ns = plan.start_idle_ns = {200'000};
  plan.wakes = 3;
  plan.predictions = 1;
  return plan;
}

}  // namespace leanstream::probe
