// How a flash device serves requests, and how long that takes in closed form.
//
// The device, one request of s bytes after another (sim/request_flash.h does just this):
//
//   host       takes a request from its queue every σ = 1 ÷ requests_per_s at most, and only while
//              fewer than D = queue_depth of its lane are in the device
//   latency    passes for each by itself
//   channels   m = ⌈peak ÷ stream_bandwidth⌉ of them, peak = min(bandwidth, link); a request takes
//              the next that is free, in order, and x = s ÷ min(stream_bandwidth, peak); together
//              they move `peak` bytes/s, so a request more costs y = s ÷ peak when all are busy
//
// Closed form. Let request i be taken at aᵢ and end at eᵢ, and peak = m · stream_bandwidth. Then
//
//   aᵢ = max(aᵢ₋₁ + σ, eᵢ₋D)      eᵢ = max(aᵢ + latency, eᵢ₋ₘ) + x
//
// so the end of request n − 1 is latency + x plus the longest way back to request 0 in steps of 1
// at cost σ, of m at cost x, and of D at cost latency + x. The longest takes the step that costs
// most for its length as often as it fits, and the next best for what is left over. With
// n − 1 = q · D + k · m + p, q = 0 unless (latency + x) ÷ D is more than σ and y, and k = 0 unless
// y is more than σ:
//
//   T(n) = latency + q · (latency + x) + k · m · y + p · σ + z
//
// where z = x, but max(x, (p + 1) · y) where y is more than σ: the last p + 1 requests share the
// channels, which matters when peak is no multiple of stream_bandwidth.
//
// Requests of unequal size: for one read that finds the device idle the equations themselves are
// worked out, request by request; elsewhere s is the mean, since σ and the latency do not depend
// on it and x, y are linear in it. Source of the terms: engine/platform/platform.h;
// (latency + x) ÷ D is Little's law.
//
// Refined devices. The bytes that a request transfers are s = its own + request_overhead. With a
// span, a batch or a spread:
//
//   reach      with v bytes taken and not told, the transfers get r(v) together instead of `peak`
//              (flash_reach.h); T uses v = min(n, D) · s
//   sharing    all requests whose latency is over share that equally, each up to stream_bandwidth:
//              no channels, the last p + 1 end latency + max(p · σ + x, (p + 1) · y) after the
//              turns
//   batch      requests taken one after another on a lane are a group of up to `batch`; they end
//              together when the last of those taken has, and hold their places until then. With
//              batch ≥ D the device runs empty each time: T(n) = q · T(D) + T(p + 1), n − 1 = q·D +
//              p
//   spread     latency and transfer of a group are f times the mean, f log-normal with mean 1
//
// A queue kept at N requests of one size then has closed forms (platforms/calibration).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/types.h"
#include "engine/platform/platform.h"

namespace leanstream::platform {

// The device requests of a read command.
struct ReadLoad {
  std::int64_t requests = 0;
  double bytes = 0;  // with each request's overhead

  double mean_bytes() const { return bytes / static_cast<double>(requests); }
};

// min(bandwidth, link), bytes/s.
double peak(const Flash& flash);
// m
std::int64_t channels(const Flash& flash);

// The terms above for requests of one size, in seconds.
struct Pace {
  double latency_s = 0;
  double stage_s = 0;         // σ
  double alone_s = 0;         // x
  double shared_s = 0;        // y
  std::int64_t depth = 1;     // D
  std::int64_t channels = 1;  // m
  bool shares = false;        // all requests in the device share the bandwidth
  bool gated = false;         // batch ≥ D

  // T(n), n ≥ 1: n requests handed over together to an idle device.
  double together_s(std::int64_t n) const;
};

// `request_bytes` with the overhead; `at_once`: requests in the device, of those that there are.
Pace pace_of(const Flash& flash, double request_bytes, std::int64_t at_once = 1);

// ends_s[i]: when requests 0 … i of these sizes have all ended, handed over together to an idle
// device. ends_s is as long as request_bytes.
void together_s(const Flash& flash, std::span<const double> request_bytes,
                std::vector<double>& ends_s);

}  // namespace leanstream::platform
