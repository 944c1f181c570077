#include "sim/flash_model.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::sim {

double capacity(const platform::Flash& flash, double request_bytes, std::int64_t in_service) {
  LEANSTREAM_CHECK(request_bytes > 0 && in_service >= 1, "{} requests of {} bytes", in_service,
                   request_bytes);
  return std::min({flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s,
                   static_cast<double>(in_service) * flash.stream_bandwidth_bytes_per_s,
                   flash.requests_per_s * request_bytes});
}

double steady_rate(const platform::Flash& flash, double request_bytes) {
  const double latency_s = static_cast<double>(flash.latency_ns) * 1e-9;
  const double depth = flash.queue_depth;
  const double turnover =
      depth * request_bytes / (latency_s + request_bytes / flash.stream_bandwidth_bytes_per_s);
  return std::min(capacity(flash, request_bytes, flash.queue_depth), turnover);
}

double transfer_s(const platform::Flash& flash, const ReadLoad& load) {
  LEANSTREAM_CHECK(load.requests >= 1 && load.bytes > 0, "an empty read");
  const double size = load.mean_bytes();
  const std::int64_t first = std::min<std::int64_t>(load.requests, flash.queue_depth);
  const auto rest = static_cast<double>(load.requests - first);
  return static_cast<double>(first) * size / capacity(flash, size, first) +
         rest * size / steady_rate(flash, size);
}

double continued_s(const platform::Flash& flash, const ReadLoad& load, std::int64_t in_service) {
  LEANSTREAM_CHECK(load.requests >= 1 && load.bytes > 0, "an empty read");
  const double size = load.mean_bytes();
  const std::int64_t together = std::min<std::int64_t>(in_service, flash.queue_depth);
  return size / capacity(flash, size, together) +
         static_cast<double>(load.requests - 1) * size / steady_rate(flash, size);
}

double shared_capacity(const platform::Flash& flash, std::span<const double> request_bytes) {
  if (request_bytes.empty()) return flash.bandwidth_bytes_per_s;
  double requests_per_byte = 0;
  for (const double size : request_bytes) requests_per_byte += 1.0 / size;
  const double mean = static_cast<double>(request_bytes.size()) / requests_per_byte;
  return std::min(flash.bandwidth_bytes_per_s, flash.requests_per_s * mean);
}

}  // namespace leanstream::sim
