#include "tests/sim/comm_bus.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include "engine/base/check.h"

namespace leanstream::sim {
namespace {

namespace s4u = simgrid::s4u;

// A flow's share of a link is 1 ÷ (latency of its route), so every route has one second of it, and
// the latency factor turns that second into the delay of the flow that starts.
constexpr double kRouteLatencyS = 1.0;

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
  static std::vector<std::string> options = {
      "test",
      "--log=root.threshold:error",
      "--cfg=network/model:CM02",       // no factors of real networks on latency and bandwidth
      "--cfg=network/crosstraffic:0",   // nothing flows back
      "--cfg=network/optim:Full",       // few flows: faster than lazy updates
      "--cfg=network/TCP-gamma:1e300",  // no bound by window ÷ latency
      "--cfg=surf/precision:1e-12",     // 1e-9 would merge dates that differ
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

struct CommBus::Impl {
  struct Port {
    s4u::Host* host;
    s4u::Link* link;
  };

  s4u::Engine& engine = make_engine();
  s4u::Host* memory = nullptr;
  std::vector<Port> ports;
  std::vector<s4u::ActivityPtr> running;
  std::vector<int> running_ports;  // running_ports[i] is where running[i] started
  double starting_delay_s = 0;
};

CommBus::CommBus(double bytes_per_s, int ports) : impl_(std::make_unique<Impl>()) {
  auto* zone = s4u::create_full_zone("device");
  impl_->memory = zone->create_host("memory", 1.0);
  auto* bus = zone->create_link("bus", bytes_per_s)->set_latency(kRouteLatencyS);
  for (int p = 0; p < ports; ++p) {
    const std::string name = "port" + std::to_string(p);
    auto* host = zone->create_host(name, 1.0);
    auto* link = zone->create_link(name + "_link", bytes_per_s);
    const std::vector<s4u::LinkInRoute> route = {s4u::LinkInRoute(link), s4u::LinkInRoute(bus)};
    zone->add_route(host->get_netpoint(), impl_->memory->get_netpoint(), nullptr, nullptr, route,
                    false);
    impl_->ports.push_back({host, link});
  }
  zone->seal();
  zone->get_network_model()->set_lat_factor_cb(
      [this](auto&&...) { return impl_->starting_delay_s / kRouteLatencyS; });
}

CommBus::~CommBus() = default;

void CommBus::run(const std::function<void()>& body) {
  bool finished = false;
  s4u::Actor::create("driver", impl_->memory, [&] {
    body();
    finished = true;
  });
  impl_->engine.run();
  LEANSTREAM_CHECK(finished, "SimGrid found a deadlock and gave the run up");
}

double CommBus::clock_s() const {
  return s4u::Engine::get_clock();
}

void CommBus::start(int port, const Flow& flow) {
  LEANSTREAM_CHECK(flow.bytes >= 1, "a communication of 0 bytes never ends");
  const Impl::Port& from = impl_->ports.at(static_cast<std::size_t>(port));
  // Comm::set_rate is ignored for these communications; the port serves one flow, so it bounds.
  if (from.link->get_bandwidth() != flow.bytes_per_s) from.link->set_bandwidth(flow.bytes_per_s);
  impl_->starting_delay_s = flow.delay_s;
  const auto bytes = static_cast<std::uint64_t>(flow.bytes);
  impl_->running.push_back(s4u::Comm::sendto_async(from.host, impl_->memory, bytes));
  impl_->running_ports.push_back(port);
}

std::optional<int> CommBus::next(double until_s) {
  const double left_s = std::max(0.0, until_s - clock_s());
  auto& running = impl_->running;
  if (running.empty()) {
    s4u::this_actor::sleep_for(left_s);
    return std::nullopt;
  }
  const auto rank = s4u::Activity::wait_any_for(running, std::isinf(left_s) ? -1.0 : left_s);
  if (rank < 0) return std::nullopt;
  const auto i = static_cast<std::size_t>(rank);
  const int port = impl_->running_ports[i];
  running[i] = std::exchange(running.back(), nullptr);
  running.pop_back();
  impl_->running_ports[i] = impl_->running_ports.back();
  impl_->running_ports.pop_back();
  return port;
}

bool CommBus::idle() const {
  return impl_->running.empty();
}

}  // namespace leanstream::sim
