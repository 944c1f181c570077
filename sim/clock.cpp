#include "sim/clock.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "engine/base/check.h"

namespace leanstream::sim {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kNoEvent = -1.0;  // SimGrid's word for it

class Devices final : public simgrid::kernel::resource::Model {
 public:
  explicit Devices(Process& process) : Model("devices"), process_(process) {}

  double next_occurring_event(double now_s) override {
    const double next_s = process_.next_s(now_s);
    return std::isinf(next_s) ? kNoEvent : std::max(0.0, next_s - now_s);
  }
  void update_actions_state(double now_s, double) override { process_.advance(now_s); }

 private:
  Process& process_;
};

s4u::Engine& make_engine() {
  static bool made = false;
  LEANSTREAM_CHECK(!made, "one simulation a process: fork for the next");
  made = true;
  static std::vector<std::string> options = {"leanstream", "--log=root.threshold:error",
                                             "--cfg=debug/verbose-exit:off"};
  static std::vector<char*> argv;
  for (std::string& option : options) argv.push_back(option.data());
  argv.push_back(nullptr);
  static int argc = static_cast<int>(options.size());
  static s4u::Engine engine(&argc, argv.data());
  return engine;
}

}  // namespace

Clock::Clock(Process& process) {
  s4u::Engine& engine = make_engine();
  s4u::create_full_zone("device")->seal();  // an engine without any platform does not run
  engine.add_model(std::make_shared<Devices>(process));
}

double Clock::now_s() const {
  return s4u::Engine::get_clock();
}

void Clock::run() {
  s4u::Engine::get_instance()->run();
}

}  // namespace leanstream::sim
