// A queue kept at N requests of one size on a refined flash device (engine/platform/flash_model.h),
// in closed form. With w = s + request_overhead, L = latency, S = stream_bandwidth, r = reach(N ·
// w):
//
//   batch ≥ N   all N are a group: X = N ÷ (L + max(N · w ÷ r, w ÷ S)). Every group takes f times
//               that, so the quantiles of latency are N ÷ X times those of the log-normal f.
//   batch = 1   latency is a delay and the transfer a processor-sharing queue of rate
//               min(k · S, r) with k in it: a closed product-form network (Baskett, Chandy, Muntz
//               and Palacios, J. ACM 22, 1975). P(k) ∝ Πⱼ (N − j + 1) ÷ L · w ÷ min(j · S, r), X is
//               the mean of min(k · S, r) ÷ w, whatever the distribution of latency and transfer.
//               The quantiles are those of f again: exact for N = 1, where others' transfers
//               average out and for N large, where all share alike.
//
// The host's requests_per_s is an upper limit of X.
//
// Requests handed over together to an idle device: T(n) of flash_model.h. Its quantiles are those
// of f while all n are one group, and the mean otherwise.
//
// Pauses: one comes each pause_requests; it makes the mean longer, the median not. Of the latencies
// of a queue the 99th percentile is one with a pause in it where these are more than 1 %.
#pragma once

#include <cstdint>

#include "engine/platform/platform.h"

namespace leanstream::calibration {

inline constexpr double kNormal99 = 2.3263478740408408;  // Φ⁻¹(0.99)

struct LoopFigures {
  double requests_per_s = 0;
  double p50_s = 0;
  double p99_s = 0;
};

// `depth` ≥ 1 requests of `request_bytes` > 0. batch is 1 or at least `depth`.
LoopFigures closed_loop(const platform::Flash& flash, double request_bytes, std::int32_t depth);

// `count` ≥ 1 requests handed over together: count ÷ mean duration, and the duration's quantiles.
LoopFigures together(const platform::Flash& flash, double request_bytes, std::int32_t count);

}  // namespace leanstream::calibration
