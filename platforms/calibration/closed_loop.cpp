#include "platforms/calibration/closed_loop.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/types.h"
#include "engine/platform/flash_reach.h"

namespace leanstream::calibration {
namespace {

struct Terms {
  double latency_s;
  double work_bytes;     // w
  double stream;         // S, bytes/s
  double together;       // r, bytes/s
  double most_requests;  // per second
};

Terms terms_of(const platform::Flash& flash, double request_bytes, std::int32_t depth) {
  const double peak = std::min(flash.bandwidth_bytes_per_s, flash.link_bandwidth_bytes_per_s);
  const double work = request_bytes + static_cast<double>(flash.request_overhead_bytes);
  return {seconds(flash.latency_ns), work, std::min(flash.stream_bandwidth_bytes_per_s, peak),
          platform::reach(flash, peak, work * static_cast<double>(depth)), flash.requests_per_s};
}

double batch_rate(const Terms& t, std::int32_t depth) {
  const auto n = static_cast<double>(depth);
  return n / (t.latency_s + std::max(n * t.work_bytes / t.together, t.work_bytes / t.stream));
}

double product_form_rate(const Terms& t, std::int32_t depth) {
  double weight = 1;  // of k in the transfer, relative
  double sum = 1;
  double rate = 0;  // Σ weight · rate
  for (std::int32_t k = 1; k <= depth; ++k) {
    const double served = std::min(static_cast<double>(k) * t.stream, t.together) / t.work_bytes;
    weight *= static_cast<double>(depth - k + 1) / (t.latency_s * served);
    sum += weight;
    rate += weight * served;
    if (sum < 1e100) continue;  // as only ratios count
    weight /= sum;
    rate /= sum;
    sum = 1;
  }
  return rate / sum;
}

}  // namespace

LoopFigures closed_loop(const platform::Flash& flash, double request_bytes, std::int32_t depth) {
  LEANSTREAM_CHECK(depth >= 1 && request_bytes > 0, "{} requests of {} bytes", depth,
                   request_bytes);
  LEANSTREAM_CHECK(flash.batch == 1 || flash.batch >= depth, "batch {} at depth {}", flash.batch,
                   depth);
  const Terms t = terms_of(flash, request_bytes, depth);
  const double free_rate =
      flash.batch >= depth ? batch_rate(t, depth) : product_form_rate(t, depth);
  const double rate = std::min(free_rate, t.most_requests);
  const double p50_s = depth / rate * std::exp(-0.5 * flash.spread * flash.spread);
  return {rate, p50_s, p50_s * std::exp(kNormal99 * flash.spread)};
}

}  // namespace leanstream::calibration
