#include "experiments/validate/probe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/base/random.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/image_file.h"
#include "experiments/validate/errors.h"

namespace leanstream::validate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Bytes kReadBytes = Bytes{128} << 10;
constexpr int kReads = 16;
constexpr std::size_t kWords = std::size_t{4} << 20;  // 16 MiB of floats
constexpr int kPasses = 4;
constexpr int kParts = 5;  // of which the median counts: a hiccup of one is no drift

template <typename Work>
double milliseconds(const Work& work) {
  std::vector<double> parts;
  for (int part = 0; part < kParts; ++part) {
    const auto from = Clock::now();
    work(part);
    parts.push_back(std::chrono::duration<double, std::milli>(Clock::now() - from).count());
  }
  return median(parts);
}

void read(const hardware::ImageFile& image, int part) {
  const Bytes unit = image.alignment_bytes();
  const Bytes size = std::min(kReadBytes, image.size_bytes() / unit * unit);
  if (size == 0) throw UserError("{}: smaller than a block of its device", image.path());
  const Bytes places = (image.size_bytes() - size) / unit + 1;
  const auto memory = hardware::aligned_memory(size, unit);
  // The same places in every probe: the work is fixed.
  RandomStream random(static_cast<std::uint64_t>(part), "validate.probe");
  for (int i = 0; i < kReads; ++i) {
    const auto offset = static_cast<off_t>(random.next_below(places) * unit);
    const ssize_t got = ::pread(image.fd(), memory.get(), size, offset);
    if (got == static_cast<ssize_t>(size)) continue;
    throw UserError("{}: cannot be read: {}", image.path(),
                    got < 0 ? std::strerror(errno) : "it ends early");
  }
}

void compute(const std::vector<float>& words) {
  volatile float sink = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    float sums[8]{};
    for (std::size_t i = 0; i < words.size(); i += 8) {
      for (std::size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
    }
    sink = sink + sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
  }
}

}  // namespace

Probe probe(const std::string& image) {
  const hardware::ImageFile file(image);
  static const std::vector<float> words(kWords, 1.0F);
  Probe result;
  result.read_ms = milliseconds([&](int part) { read(file, part); });
  result.compute_ms = milliseconds([&](int) { compute(words); });
  return result;
}

Probe mean(const Probe& a, const Probe& b) {
  return {(a.read_ms + b.read_ms) / 2, (a.compute_ms + b.compute_ms) / 2};
}

std::vector<double> drifts(const std::vector<Probe>& probes) {
  std::vector<double> reads, computes, all;
  for (const Probe& p : probes) {
    reads.push_back(p.read_ms);
    computes.push_back(p.compute_ms);
  }
  if (probes.empty()) return all;
  const double read_ms = median(reads);
  const double compute_ms = median(computes);
  for (const Probe& p : probes) {
    all.push_back(
        std::max(std::abs(p.read_ms / read_ms - 1), std::abs(p.compute_ms / compute_ms - 1)));
  }
  return all;
}

}  // namespace leanstream::validate
