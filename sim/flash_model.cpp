#include "sim/flash_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/check.h"
#include "sim/flow.h"

namespace leanstream::sim {

double peak(const platform::Flash& flash) {
  return std::min(flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s);
}

std::int64_t channels(const platform::Flash& flash) {
  const double exact = peak(flash) / flash.stream_bandwidth_bytes_per_s;
  return std::max<std::int64_t>(1, std::llround(std::ceil(exact - 1e-9)));
}

Pace pace_of(const platform::Flash& flash, double request_bytes) {
  LEANSTREAM_CHECK(request_bytes > 0, "requests of {} bytes", request_bytes);
  return {seconds(flash.latency_ns),
          1.0 / flash.requests_per_s,
          request_bytes / std::min(flash.stream_bandwidth_bytes_per_s, peak(flash)),
          request_bytes / peak(flash),
          flash.queue_depth,
          channels(flash)};
}

double Pace::together_s(std::int64_t n) const {
  LEANSTREAM_CHECK(n >= 1, "a read of {} requests", n);
  const double turn_s = latency_s + alone_s;
  std::int64_t rest = n - 1;
  double time_s = latency_s;
  if (turn_s > static_cast<double>(depth) * std::max(stage_s, shared_s)) {
    const std::int64_t turns = rest / depth;
    time_s += static_cast<double>(turns) * turn_s;
    rest %= depth;
  }
  if (shared_s <= stage_s) return time_s + static_cast<double>(rest) * stage_s + alone_s;
  const std::int64_t in_step = rest / channels * channels;
  time_s += static_cast<double>(in_step) * shared_s;
  rest -= in_step;
  return time_s + static_cast<double>(rest) * stage_s +
         std::max(alone_s, static_cast<double>(rest + 1) * shared_s);
}

void together_s(const platform::Flash& flash, std::span<const double> request_bytes,
                std::vector<double>& ends_s) {
  const auto used = std::min(static_cast<std::size_t>(channels(flash)), request_bytes.size());
  const auto depth = static_cast<std::size_t>(flash.queue_depth);
  const double rate =
      std::min(flash.stream_bandwidth_bytes_per_s, peak(flash) / static_cast<double>(used));
  std::array<double, 64> free_s{};  // when each channel is free
  LEANSTREAM_CHECK(used >= 1 && used <= free_s.size(), "{} channels", used);
  ends_s.clear();
  double taken_s = 0;
  for (std::size_t i = 0; i < request_bytes.size(); ++i) {
    if (i > 0) taken_s += 1.0 / flash.requests_per_s;
    if (i >= depth) taken_s = std::max(taken_s, ends_s[i - depth]);
    double* const channel = std::min_element(free_s.begin(), free_s.begin() + used);
    *channel = std::max(taken_s + seconds(flash.latency_ns), *channel) + request_bytes[i] / rate;
    ends_s.push_back(i == 0 ? *channel : std::max(ends_s.back(), *channel));
  }
}

}  // namespace leanstream::sim
