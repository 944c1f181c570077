#include "engine/hardware/storage/lane_storage.h"

#include <cerrno>

#include "engine/base/check.h"

namespace leanstream::hardware {

LaneStorage::LaneStorage(const StorageSpec& spec, ImageFile file)
    : file_(std::move(file)),
      depth_(spec.depth),
      lanes_(static_cast<std::size_t>(spec.lanes)),
      taken_(static_cast<std::size_t>(spec.lanes) * static_cast<std::size_t>(spec.depth)) {
  for (std::uint32_t place = capacity(); place > 0; --place) free_places_.push_back(place - 1);
  results_.reserve(taken_.size());
}

bool LaneStorage::fits(const StorageRequest& request) const {
  std::uint64_t bits = request.offset_bytes;
  for (const iovec& piece : request.into) {
    bits |= reinterpret_cast<std::uintptr_t>(piece.iov_base) | piece.iov_len;
  }
  return bits % file_.alignment_bytes() == 0;
}

void LaneStorage::submit(std::span<const StorageRequest> requests) {
  for (const StorageRequest& request : requests) {
    LEANSTREAM_CHECK(request.lane >= 0 && request.lane < static_cast<std::int32_t>(lanes_.size()),
                     "lane {} of {}", request.lane, lanes_.size());
    LEANSTREAM_CHECK(!request.into.empty() && fits(request),
                     "a request of {} pieces at {} is no multiple of {} bytes", request.into.size(),
                     request.offset_bytes, file_.alignment_bytes());
    lanes_[static_cast<std::size_t>(request.lane)].waiting.push_back(request);
  }
  dispatch(steady_ns());
}

void LaneStorage::cancel(std::uint64_t first_id, std::uint64_t last_id) {
  for (Lane& lane : lanes_) {
    const std::size_t waited = lane.waiting.size();
    for (std::size_t i = 0; i < waited; ++i) {
      const StorageRequest request = lane.waiting.front();
      lane.waiting.pop_front();
      if (request.id >= first_id && request.id <= last_id) {
        results_.push_back({request.id, -ECANCELED, 0});
      } else {
        lane.waiting.push_back(request);
      }
    }
  }
}

Bytes LaneStorage::memory_bytes() const {
  Bytes bytes = own_memory_bytes() + taken_.capacity() * sizeof(Taken) +
                free_places_.capacity() * sizeof(std::uint32_t) +
                results_.capacity() * sizeof(StorageResult);
  for (const Lane& lane : lanes_) bytes += lane.waiting.capacity() * sizeof(StorageRequest);
  return bytes;
}

void LaneStorage::dispatch(TimeNs now_ns) {
  for (Lane& lane : lanes_) {
    while (!lane.waiting.empty() && lane.in_device < depth_) {
      LEANSTREAM_CHECK(!free_places_.empty(), "more reads in the device than lanes · depth");
      const std::uint32_t place = free_places_.back();
      free_places_.pop_back();
      taken_[place] = {lane.waiting.front(), now_ns};
      lane.waiting.pop_front();
      ++lane.in_device;
      start(place);
    }
  }
}

void LaneStorage::ended(std::uint32_t place, std::int64_t result) {
  LEANSTREAM_CHECK(place < capacity(), "read {} of {}", place, capacity());
  const Taken& read = taken_[place];
  --lanes_[static_cast<std::size_t>(read.request.lane)].in_device;
  results_.push_back({read.request.id, result, read.begun_ns});
  free_places_.push_back(place);
}

void LaneStorage::drain() {
  constexpr TimeNs kPatienceNs = 100'000'000;
  constexpr int kMostTries = 300;  // a device that is gone must not keep the process
  for (int i = 0; i < kMostTries && free_places_.size() < taken_.size(); ++i) {
    sleep(kPatienceNs);
    reap();
  }
}

void LaneStorage::poll(std::vector<StorageResult>& out) {
  reap();
  if (results_.empty()) return;
  const TimeNs now_ns = steady_ns();
  for (StorageResult& result : results_) {
    // Until here it is the moment at which the read began.
    if (result.latency_ns != 0) result.latency_ns = now_ns - result.latency_ns;
  }
  out.insert(out.end(), results_.begin(), results_.end());
  results_.clear();
  dispatch(now_ns);
}

void LaneStorage::wait(TimeNs at_most_ns) {
  if (results_.empty() && at_most_ns > 0 && wake_.arm()) {
    sleep(at_most_ns);
    reap();  // the ring too: who does not poll would never sleep again
  } else {
    flush();
  }
  wake_.disarm();
}

void LaneStorage::wake() {
  if (wake_.wake()) ring();
}

}  // namespace leanstream::hardware
