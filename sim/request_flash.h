// Every single device request, as engine/platform/flash_model.h describes the device.
//
// The controller takes from the lanes in turn (round robin, as NVMe arbitrates its queues), each
// up to queue_depth requests in the device. A read that finds its lane empty pays the workers'
// overhead first. Channels share what the flash gets of the bus equally, each up to
// stream_bandwidth, and take requests in the order in which the device took them.
//
// A refined device (engine/platform/flash_model.h) serves all requests whose latency is over, and
// tells the ends of a group together.
//
// Taking is no event of its own: with a slot free, its date is known before it comes and matters
// only the least latency later, or when a read is submitted or cancelled. A request costs two
// events, O(m) each, and no allocation.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/base/ring.h"
#include "sim/flash.h"
#include "sim/spread.h"

namespace leanstream::sim {

class RequestFlash final : public Flash {
 public:
  explicit RequestFlash(const backend::WorldSpec& spec);

 protected:
  void enqueue(Read& read, double now_s) override;
  void take_back(TicketId target, double now_s) override;
  double device_demand() const override;
  void set_device_share(double bytes_per_s, double now_s) override;
  double requests_per_s(double bytes_per_s) const override;
  double next_device_s() const override;
  void advance_device(double now_s) override;

 private:
  struct Group;
  struct Cursor {  // a read whose requests the device has not all taken
    Read* read = nullptr;
    std::size_t request = 0;  // the next
  };
  struct Lane {
    Ring<Cursor> waiting;
    std::int64_t reads = 0;      // not ended
    std::int32_t in_device = 0;  // requests
    double slot_s = 0;           // when it last had no slot free
    Group* open = nullptr;       // takes in what is taken next
  };
  struct Request {
    Read* read = nullptr;
    std::size_t number = 0;
    double bytes = 0;  // with the overhead
    double taken_s = 0;
    double ready_s = 0;      // its latency is over
    double work = 0;         // bytes that it has to transfer: `bytes` times its factor
    Group* group = nullptr;  // none where ends are told one by one
  };
  struct Group {
    std::int32_t taken = 0;
    double factor = 1;
    std::vector<Request> done;  // not told
  };
  struct Channel {
    Request request;
    Transfer transfer;
  };
  struct Late {  // its bytes are there, its answer is not
    double end_s;
    Request request;
    bool operator<(const Late& other) const { return end_s > other.end_s; }  // for a heap
  };

  double takable_s(const Lane& lane) const;
  std::int32_t next_lane(double& taken_s) const;
  void take_until(double now_s);
  void take(std::int32_t lane, double taken_s);
  double factor_of(Request& request, Lane& lane);
  void make_ready(const Request& request);
  void finish(const Request& request, double now_s);
  void tell(const Request& request, double now_s);
  void end_if_done(Read& read);
  void mark(std::int32_t lane);

  double latency_s_, stage_s_, overhead_s_;
  std::size_t channel_count_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t takable_ = 0;   // lanes with a waiting read and a free slot
  std::int32_t last_lane_ = 0;  // taken from last
  double stage_free_s_ = 0;
  Ring<Request> ready_;  // by ready_s
  std::vector<Channel> channels_;
  std::vector<Late> late_;
  double in_flight_bytes_ = 0;  // of requests taken and not told
  Spread spread_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<Group*> free_groups_;
};

}  // namespace leanstream::sim
