#include "platforms/calibration/closed_loop.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/types.h"
#include "engine/platform/flash_model.h"
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

// For each request.
double pauses(const platform::Flash& flash) {
  if (flash.pause_ns == 0 || flash.pause_requests == 0) return 0;
  return 1.0 / flash.pause_requests;
}

// Of a log-normal factor with mean 1.
double median_factor(const platform::Flash& flash) {
  return std::exp(-0.5 * flash.spread * flash.spread);
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
  const double steady = std::min(free_rate, t.most_requests);
  const double p50_s = depth / steady * median_factor(flash);
  const double p99_s = p50_s * std::exp(kNormal99 * flash.spread);
  const double pause_s = seconds(flash.pause_ns);
  const bool seen = depth * pauses(flash) > 0.01;
  return {1 / (1 / steady + pauses(flash) * pause_s), p50_s,
          seen ? std::max(p99_s, p50_s + pause_s) : p99_s};
}

LoopFigures together(const platform::Flash& flash, double request_bytes, std::int32_t count) {
  LEANSTREAM_CHECK(count >= 1 && request_bytes > 0, "{} requests of {} bytes", count,
                   request_bytes);
  const double work = request_bytes + static_cast<double>(flash.request_overhead_bytes);
  const platform::Pace pace = platform::pace_of(flash, work, count);
  const double steady_s = pace.together_s(count);
  const double its_pauses = count * pauses(flash);
  const bool one_group =
      count == 1 || (count <= flash.queue_depth && flash.batch >= flash.queue_depth);
  const double p50_s = steady_s * (one_group ? median_factor(flash) : 1);
  const double p99_s = p50_s * std::exp(one_group ? kNormal99 * flash.spread : 0);
  const double pause_s = seconds(flash.pause_ns);
  return {count / (steady_s + its_pauses * pause_s), p50_s,
          its_pauses > 0.01 ? std::max(p99_s, p50_s + pause_s) : p99_s};
}

}  // namespace leanstream::calibration
