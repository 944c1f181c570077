#include "engine/energy/use.h"

#include <algorithm>

#include "engine/base/check.h"

namespace leanstream::energy {
void Use::add(const Use& o) {
  time_ns += o.time_ns;
  accelerator_ns += o.accelerator_ns;
  polling_ns += o.polling_ns;
  prediction_ns += o.prediction_ns;
  host_ns += o.host_ns;
  flash_ns += o.flash_ns;
  requests += o.requests;
  flash_bytes += o.flash_bytes;
  memory_bytes += o.memory_bytes;
}

void Joules::add(const Joules& o) {
  board += o.board;
  accelerator += o.accelerator;
  cpu += o.cpu;
  flash += o.flash;
  memory += o.memory;
}

double core_s(const Use& use, const platform::Cpu& cpu) {
  const TimeNs reads_ns = use.requests * cpu.read_request_ns.value_or(0);
  return seconds(std::min(use.prediction_ns + use.host_ns + reads_ns, cpu.cores * use.time_ns));
}

Joules joules(const Use& use, const platform::Platform& platform, const Throttled& throttled) {
  LEANSTREAM_CHECK(platform.energy && (platform.thermal || !throttled.any()),
                   "the power of platform {} is unknown", platform.name);
  const platform::Energy& w = *platform.energy;
  const auto& thermal = platform.thermal;
  const double time_s = seconds(use.time_ns);
  const double accelerator = thermal ? thermal->accelerator.power(throttled.accelerator) : 1;
  const double cpu = thermal ? thermal->cpu.power(throttled.cpu) : 1;
  const double flash = thermal ? thermal->flash.power(throttled.flash) : 1;
  const auto& a = w.accelerator;
  Joules j;
  j.board = w.board_w * time_s;
  j.accelerator =
      a.idle_w * time_s + accelerator * ((a.active_w - a.idle_w) * seconds(use.accelerator_ns) +
                                         (a.polling_w - a.idle_w) * seconds(use.polling_ns));
  j.cpu = w.cpu.idle_w * time_s + cpu * w.cpu.core_w * core_s(use, platform.cpu);
  j.flash = w.flash.idle_w * time_s +
            flash * (w.flash.active_w - w.flash.idle_w) * seconds(use.flash_ns) +
            w.flash.j_per_byte * static_cast<double>(use.flash_bytes);
  j.memory = w.memory.idle_w * time_s + w.memory.j_per_byte * use.memory_bytes;
  return j;
}

}  // namespace leanstream::energy
