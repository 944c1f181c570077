#include "engine/platform/flash_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/base/check.h"
#include "engine/platform/flash_reach.h"

namespace leanstream::platform {

double peak(const Flash& flash) {
  return std::min(flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s);
}

namespace {

// Streams of `stream` bytes/s that fit `rate`.
std::int64_t streams(double rate, double stream) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(rate / stream - 1e-9)));
}

// bytes/s of all transfers with so many requests of that size in the device.
double rate_of(const Flash& flash, double request_bytes, std::int64_t at_once) {
  const std::int64_t taken = std::min<std::int64_t>(at_once, flash.queue_depth);
  return reach(flash, peak(flash), static_cast<double>(taken) * request_bytes);
}

}  // namespace

std::int64_t channels(const Flash& flash) {
  return streams(peak(flash), flash.stream_bandwidth_bytes_per_s);
}

Pace pace_of(const Flash& flash, double request_bytes, std::int64_t at_once) {
  LEANSTREAM_CHECK(request_bytes > 0, "requests of {} bytes", request_bytes);
  const double rate = rate_of(flash, request_bytes, at_once);
  return {seconds(flash.latency_ns),
          1.0 / flash.requests_per_s,
          request_bytes / std::min(flash.stream_bandwidth_bytes_per_s, rate),
          request_bytes / rate,
          flash.queue_depth,
          streams(rate, flash.stream_bandwidth_bytes_per_s),
          refined(flash),
          flash.batch > 1 && flash.batch >= flash.queue_depth};
}

double Pace::together_s(std::int64_t n) const {
  LEANSTREAM_CHECK(n >= 1, "a read of {} requests", n);
  if (gated && n > depth) {
    const std::int64_t turns = (n - 1) / depth;
    return static_cast<double>(turns) * together_s(depth) + together_s((n - 1) % depth + 1);
  }
  const double turn_s = latency_s + alone_s;
  std::int64_t rest = n - 1;
  double time_s = latency_s;
  if (!gated && turn_s > static_cast<double>(depth) * std::max(stage_s, shared_s)) {
    const std::int64_t turns = rest / depth;
    time_s += static_cast<double>(turns) * turn_s;
    rest %= depth;
  }
  if (shares) {
    const auto others = static_cast<double>(rest);
    return time_s + std::max(others * stage_s + alone_s, (others + 1) * shared_s);
  }
  if (shared_s <= stage_s) return time_s + static_cast<double>(rest) * stage_s + alone_s;
  const std::int64_t in_step = rest / channels * channels;
  time_s += static_cast<double>(in_step) * shared_s;
  rest -= in_step;
  return time_s + static_cast<double>(rest) * stage_s +
         std::max(alone_s, static_cast<double>(rest + 1) * shared_s);
}

void together_s(const Flash& flash, std::span<const double> request_bytes,
                std::vector<double>& ends_s) {
  const auto n = static_cast<std::int64_t>(request_bytes.size());
  const double bytes = std::accumulate(request_bytes.begin(), request_bytes.end(), 0.0);
  const double together = rate_of(flash, bytes / static_cast<double>(n), n);
  const double stream = flash.stream_bandwidth_bytes_per_s;
  const auto used = static_cast<std::size_t>(std::min(streams(together, stream), n));
  const auto depth = static_cast<std::size_t>(flash.queue_depth);
  const bool gated = flash.batch > 1 && flash.batch >= flash.queue_depth;
  const double rate = std::min(stream, together / static_cast<double>(used));
  std::array<double, 64> free_s{};  // when each channel is free
  LEANSTREAM_CHECK(used >= 1 && used <= free_s.size(), "{} channels", used);
  ends_s.clear();
  double taken_s = 0;
  for (std::size_t i = 0; i < request_bytes.size(); ++i) {
    if (i > 0) taken_s += 1.0 / flash.requests_per_s;
    if (i >= depth) taken_s = std::max(taken_s, ends_s[gated ? i / depth * depth - 1 : i - depth]);
    double* const channel = std::min_element(free_s.begin(), free_s.begin() + used);
    *channel = std::max(taken_s + seconds(flash.latency_ns), *channel) + request_bytes[i] / rate;
    ends_s.push_back(i == 0 ? *channel : std::max(ends_s.back(), *channel));
  }
}

}  // namespace leanstream::platform
