#include "engine/hardware/process_memory.h"

#include <fstream>
#include <string>

namespace leanstream::hardware {
namespace {

constexpr Bytes kKib = 1024;

// A line of /proc/self/status, as "VmRSS:   1234 kB"; 0 where there is none.
Bytes status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word != name) continue;
    Bytes kib = 0;
    status >> kib;
    return kib * kKib;
  }
  return 0;
}

Bytes beyond(Bytes now, Bytes before) {
  return now > before ? now - before : 0;
}

}  // namespace

ProcessMemory::ProcessMemory() : before_bytes_(status_bytes("VmRSS:")) {
  // Where it is refused the mark is of the whole process: larger, never smaller.
  std::ofstream("/proc/self/clear_refs") << "5";
}

Bytes ProcessMemory::growth_bytes() const {
  return beyond(status_bytes("VmRSS:"), before_bytes_);
}

Bytes ProcessMemory::peak_growth_bytes() const {
  return beyond(status_bytes("VmHWM:"), before_bytes_);
}

}  // namespace leanstream::hardware
