// How much of a flash device's bandwidth the bytes in flight engage.
#pragma once

#include <algorithm>

#include "engine/platform/platform.h"

namespace leanstream::platform {

// Any of the refinements that make a device serve all its requests at once.
inline bool refined(const Flash& flash) {
  return flash.span_bytes > 0 || flash.batch > 1 || flash.spread > 0;
}

// bytes/s of all transfers together while `in_flight_bytes` are in a device whose full rate is
// `peak`. Chunks of the bytes meet U equal units at random: of a closed network of U queues with c
// customers c ÷ (c + U − 1) are busy (Gordon and Newell, Operations Research 15, 1967), which is
// v ÷ (v + span) with span = U − 1 chunks. One unit alone reaches a stream's rate.
inline double reach(const Flash& flash, double peak, double in_flight_bytes) {
  if (flash.span_bytes == 0) return peak;
  const double share = in_flight_bytes / (in_flight_bytes + static_cast<double>(flash.span_bytes));
  return std::max(std::min(flash.stream_bandwidth_bytes_per_s, peak), peak * share);
}

}  // namespace leanstream::platform
