// A read command as a whole, by the closed form of engine/platform/flash_model.h.
//
// Reads of a lane are served in order, one flow at a time: the latency as its delay, then its bytes
// at the mean rate of its requests. A read of n requests that was submitted at `from` (with the
// workers' overhead when its lane was empty) ends at
//
//   max(from + T(n), end of the read before + T(c + n) − T(c))
//
// the second only behind another read: c requests of its lane were served before it without a gap,
// and it goes on from there. It is a gap when the first is larger. Where T has steps (m requests
// end together) the bytes follow at the device's bandwidth, some of them after the read's end.
//
// At the time v of its service (as if alone; slower while others share the way) as many requests
// have ended as fit this formula; the device has begun those, D more, and no more than one each σ
// since the stage was free for it. A cancel leaves what has begun.
//
// Lanes get equal requests per second, up to the rate of each: of the flash's bandwidth and of
// requests_per_s. So that lanes whose requests are taken in turn slow each other from the first,
// the bytes of n requests move for n · σ at least, where the latency leaves room for it.
//
// A request that is late makes its read end so much after the request's own end, when that is
// later; the reads behind do not wait for it.
#pragma once

#include <array>
#include <vector>

#include "engine/base/ring.h"
#include "sim/flash.h"

namespace leanstream::sim {

class SegmentFlash final : public Flash {
 public:
  explicit SegmentFlash(const backend::WorldSpec& spec);

 protected:
  void enqueue(Read& read, double now_s) override;
  void take_back(TicketId target, double now_s) override;
  double device_demand() const override;
  void set_device_share(double bytes_per_s, double now_s) override;
  double requests_per_s(double bytes_per_s) const override;
  double next_device_s() const override;
  void advance_device(double now_s) override;

 private:
  struct Queued {
    Read* read = nullptr;
    Pace pace;
    double stage_s = 0;        // its first request can be taken from then on
    std::int64_t at_once = 1;  // requests of the lane in the device while it is served
  };
  struct Lane {
    Ring<Queued> queue;        // the front is in service while busy
    std::int64_t before = 0;   // c of the front; 0 after a gap
    std::int64_t late = 0;     // reads that end later, out of the queue
    std::int64_t at_once = 0;  // most requests in the device since the lane was idle
    double owed = 0;           // bytes left over from the reads before the front
    double still_owed = 0;     // what the front will leave
    double since_s = 0;        // the front's service began
    double service_s = 0;      // its length, alone
    double transfer_s = 0;     // the part of it in which bytes move
    Transfer transfer;
  };
  struct Late {
    double end_s;
    Read* read;
    bool operator<(const Late& other) const { return end_s > other.end_s; }  // for a heap
  };

  void set_ends(Read& read);
  static double together_of(const Queued& queued, std::int64_t requests);
  double service_s(const Lane& lane, std::int64_t requests) const;
  double served_s(const Lane& lane, double now_s) const;
  std::int64_t ended(const Lane& lane, double now_s) const;
  std::int64_t begun(const Lane& lane, std::size_t at, double now_s) const;
  void start(Lane& lane, std::int64_t before, double now_s);
  void pop(Lane& lane, double now_s);
  void end_front(Lane& lane, double now_s);
  void shorten(Lane& lane, std::size_t at, std::int64_t requests, double now_s);
  double in_flight_bytes() const;
  double level(double bytes_per_s) const;
  template <typename Visit>
  void for_each_moving(Visit&& visit) const;

  double overhead_s_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t busy_ = 0;  // lanes with reads
  std::vector<Late> late_;
  mutable std::vector<Claim> by_bytes_, by_requests_;  // scratch
  std::vector<double> sizes_;                          // scratch
};

}  // namespace leanstream::sim
