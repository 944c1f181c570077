#include "sim/fabric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/Exception.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include "engine/base/check.h"

namespace leanstream::sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A flow's share of a link is 1 ÷ (latency of its route), so every route has one second of it, and
// the latency factor turns that second into the delay of the flow that starts.
constexpr double kRouteLatencyS = 1.0;
constexpr double kTimerBytesPerS = 1e18;  // a timer is one byte over a link of its own
constexpr double kTogetherS = 1e-12;      // dates nearer than this are the same

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEANSTREAM_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(LEANSTREAM_ADDRESS_SANITIZER)
constexpr bool kThreads = true;  // the sanitizer cannot follow SimGrid's swapped stacks
#else
constexpr bool kThreads = false;
#endif

s4u::Engine& make_engine() {
  static bool made = false;
  LEANSTREAM_CHECK(!made, "one simulation a process: fork for the next");
  made = true;
  static std::vector<std::string> options = {
      "leanstream",
      "--log=root.threshold:error",
      "--cfg=network/model:CM02",       // no factors of real networks on latency and bandwidth
      "--cfg=network/crosstraffic:0",   // nothing flows back
      "--cfg=network/optim:Full",       // few flows: faster than lazy updates
      "--cfg=network/TCP-gamma:1e300",  // no bound by window ÷ latency
      "--cfg=surf/precision:1e-12",     // 1e-9 would merge dates that differ
      "--cfg=debug/verbose-exit:off",   // an interrupt is the user's: no report of actors
  };
  if (kThreads) options.push_back("--cfg=contexts/factory:thread");
  static std::vector<char*> argv;
  for (std::string& option : options) argv.push_back(option.data());
  argv.push_back(nullptr);
  static int argc = static_cast<int>(options.size());
  static s4u::Engine engine(&argc, argv.data());
  return engine;
}

}  // namespace

struct Fabric::Impl {
  struct Station {
    s4u::Host* host = nullptr;
    s4u::Link* port = nullptr;
    bool busy = false;
    double transfer_from_s = 0;
    double earliest_end_s = 0;
  };

  Impl(const Bandwidths& bandwidths, SsdCapacity ssd_capacity);
  s4u::Host* add_route(const std::string& name, const std::vector<s4u::Link*>& path);
  double capacity_now(double declared);
  double now_s() const { return s4u::Engine::get_clock() - start_s; }

  s4u::Engine& engine;
  SsdCapacity capacity;
  s4u::NetZone* zone = nullptr;
  s4u::Host* memory = nullptr;
  s4u::Host* timer = nullptr;
  std::array<Station, kPorts> stations{};
  std::vector<s4u::ActivityPtr> running;
  std::vector<Port> running_ports;  // running_ports[i] is where running[i] started
  std::vector<Port> transferring;   // scratch
  double starting_delay_s = 0;
  double start_s = 0;
};

Fabric::Impl::Impl(const Bandwidths& bandwidths, SsdCapacity ssd_capacity)
    : engine(make_engine()), capacity(std::move(ssd_capacity)) {
  zone = s4u::create_full_zone("device");
  memory = zone->create_host("memory", 1.0);
  auto* bus = zone->create_link("dram", bandwidths.dram)->set_latency(kRouteLatencyS);
  auto* link = zone->create_link("link", bandwidths.link);
  auto* ssd = zone->create_link("ssd", bandwidths.ssd);
  if (capacity) {
    ssd->set_sharing_policy(s4u::Link::SharingPolicy::NONLINEAR,
                            [this](double declared, int) { return capacity_now(declared); });
  }
  auto* clock = zone->create_link("clock", kTimerBytesPerS)->set_latency(kRouteLatencyS);
  clock->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
  timer = add_route("timer", {clock});
  for (Port p = 0; p < kPorts; ++p) {
    const std::string name = "port" + std::to_string(p);
    auto* port = zone->create_link(name, bandwidths.dram);
    std::vector<s4u::Link*> path = {port, bus};
    if (p < kLanes) path = {port, ssd, link, bus};
    stations[static_cast<std::size_t>(p)].port = port;
    stations[static_cast<std::size_t>(p)].host = add_route(name + "_host", path);
  }
  zone->seal();
  zone->get_network_model()->set_lat_factor_cb(
      [this](auto&&...) { return starting_delay_s / kRouteLatencyS; });
}

s4u::Host* Fabric::Impl::add_route(const std::string& name, const std::vector<s4u::Link*>& path) {
  auto* host = zone->create_host(name, 1.0);
  const std::vector<s4u::LinkInRoute> route(path.begin(), path.end());
  zone->add_route(host->get_netpoint(), memory->get_netpoint(), nullptr, nullptr, route, false);
  return host;
}

// SimGrid says how many flows transfer, not which.
double Fabric::Impl::capacity_now(double declared) {
  transferring.clear();
  for (Port p = 0; p < kLanes; ++p) {
    const Station& s = stations[static_cast<std::size_t>(p)];
    if (s.busy && s.transfer_from_s <= now_s() + kTogetherS) transferring.push_back(p);
  }
  return transferring.empty() ? declared : capacity(transferring);
}

Fabric::Fabric(const Bandwidths& bandwidths, SsdCapacity ssd_capacity) {
  LEANSTREAM_CHECK(bandwidths.ssd > 0 && bandwidths.link > 0 && bandwidths.dram > 0,
                   "bandwidths of ssd {}, link {}, dram {}", bandwidths.ssd, bandwidths.link,
                   bandwidths.dram);
  impl_ = std::make_unique<Impl>(bandwidths, std::move(ssd_capacity));
}

Fabric::~Fabric() = default;

void Fabric::run(const std::function<void()>& body) {
  bool finished = false;
  std::exception_ptr error;
  s4u::Actor::create("driver", impl_->memory, [&] {
    impl_->start_s = s4u::Engine::get_clock();
    try {
      body();
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    for (const auto& activity : impl_->running) activity->cancel();
    impl_->running.clear();
    finished = true;
  });
  impl_->engine.run();
  if (error) std::rethrow_exception(error);
  LEANSTREAM_CHECK(finished, "SimGrid found a deadlock and gave the run up");
}

double Fabric::clock_s() const {
  return impl_->now_s();
}

void Fabric::start(Port port, const Flow& flow) {
  LEANSTREAM_CHECK(port >= 0 && port < kPorts && !flow.instant(), "flow at port {}", port);
  auto& station = impl_->stations[static_cast<std::size_t>(port)];
  LEANSTREAM_CHECK(!station.busy, "port {} is in use", port);
  const double now = clock_s();
  station.busy = true;
  station.transfer_from_s = now + flow.delay_s;
  station.earliest_end_s = now + flow.alone_s();
  s4u::Host* from = impl_->timer;
  if (flow.bytes > 0) {
    LEANSTREAM_CHECK(std::isfinite(flow.bytes_per_s) && flow.bytes_per_s > 0, "rate {} at port {}",
                     flow.bytes_per_s, port);
    // Comm::set_rate is ignored for these communications; the port serves one flow, so it bounds.
    if (station.port->get_bandwidth() != flow.bytes_per_s) {
      station.port->set_bandwidth(flow.bytes_per_s);
    }
    from = station.host;
  } else {
    station.transfer_from_s = kInfinity;
  }
  impl_->starting_delay_s = flow.delay_s;
  const Bytes bytes = std::max<Bytes>(flow.bytes, 1);  // a communication of 0 bytes never ends
  impl_->running.push_back(s4u::Comm::sendto_async(from, impl_->memory, bytes));
  impl_->running_ports.push_back(port);
}

std::optional<Port> Fabric::next(double until_s) {
  const double left_s = std::max(0.0, until_s - clock_s());
  auto& running = impl_->running;
  if (running.empty()) {
    LEANSTREAM_CHECK(std::isfinite(until_s), "waiting for ever for nothing");
    if (left_s > 0) s4u::this_actor::sleep_for(left_s);
    return std::nullopt;
  }
  const auto rank = s4u::Activity::wait_any_for(running, std::isinf(left_s) ? -1.0 : left_s);
  if (rank < 0) return std::nullopt;
  const auto i = static_cast<std::size_t>(rank);
  const Port port = impl_->running_ports[i];
  running[i] = std::exchange(running.back(), nullptr);
  running.pop_back();
  impl_->running_ports[i] = impl_->running_ports.back();
  impl_->running_ports.pop_back();
  impl_->stations[static_cast<std::size_t>(port)].busy = false;
  return port;
}

bool Fabric::idle() const {
  return impl_->running.empty();
}

double Fabric::earliest_end_s() const {
  double earliest = kInfinity;
  for (const Port p : impl_->running_ports) {
    earliest = std::min(earliest, impl_->stations[static_cast<std::size_t>(p)].earliest_end_s);
  }
  return earliest;
}

}  // namespace leanstream::sim
