// How long a flash device takes for a read of many requests, in closed form.
//
// The device gives one request of s bytes `latency` and then `stream_bandwidth`; n requests in
// service together get
//
//   C(n) = min(bandwidth, link, n · stream_bandwidth, requests_per_s · s)
//
// and a queue kept full at depth D cannot turn requests over faster than their latency allows:
//
//   X = min(C(D), D · s ÷ (latency + s ÷ stream_bandwidth))
//
// N requests handed over together to an idle device, n = min(N, D):
//
//   t = latency + n·s ÷ C(n) + (N − n)·s ÷ X
//
// Requests of unequal size: every limit is linear in size (N ÷ requests_per_s; Σ(latency + sᵢ ÷
// stream) ÷ D; Σsᵢ ÷ bandwidth), so s is the mean, bytes ÷ N. Source of the terms: queue and
// service limits of engine/platform/platform.h; X is Little's law.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/types.h"
#include "engine/platform/platform.h"

namespace leanstream::sim {

// The device requests of one read command.
struct ReadLoad {
  std::int64_t requests = 0;
  Bytes bytes = 0;

  double mean_bytes() const { return static_cast<double>(bytes) / static_cast<double>(requests); }
};

// C(n), bytes/s. request_bytes > 0, in_service ≥ 1.
double capacity(const platform::Flash& flash, double request_bytes, std::int64_t in_service);

// X, bytes/s: what a queue that is kept full sustains.
double steady_rate(const platform::Flash& flash, double request_bytes);

// t − latency in seconds for a read that found the device idle.
double transfer_s(const platform::Flash& flash, const ReadLoad& load);

// The same for a read that waited in the device's queue while another was served, `in_service`
// requests outstanding with its own: one request has its latency behind it, the others follow at X.
double continued_s(const platform::Flash& flash, const ReadLoad& load, std::int64_t in_service);

// What several lanes get together, bytes/s, from the mean request size of each. Lanes share bytes
// equally, so requests_per_s allows the harmonic mean of their sizes a request.
double shared_capacity(const platform::Flash& flash, std::span<const double> request_bytes);

}  // namespace leanstream::sim
