#include "platforms/probe/machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "engine/hardware/storage/disk.h"

namespace leanstream::probe {
namespace {

// The first line of a file; "" without one.
std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  line.erase(line.find_last_not_of(" \t") + 1);
  return line;
}

// Behind "key :" of a file like /proc/cpuinfo.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string last_level_cache() {
  std::string size;
  for (int index = 0; index < 8; ++index) {
    const auto found =
        line_of(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    if (!found.empty()) size = found;
  }
  return size.empty() ? "" : ", last-level cache " + size;
}

// Neighbouring requests that are handed over together are one, up to so many bytes.
Bytes merge_bytes(const std::filesystem::path& disk) {
  const std::string never = "2";  // queue/nomerges
  if (disk.empty() || line_of(disk / "queue" / "nomerges") == never) return 0;
  return Bytes{1024} *
         static_cast<Bytes>(std::atoll(line_of(disk / "queue" / "max_sectors_kb").c_str()));
}

std::string disk_text(const std::filesystem::path& folder) {
  if (folder.empty()) return "unknown disk";
  std::string text = "disk " + folder.filename().string();
  const std::string model = line_of(folder / "device" / "model");
  if (!model.empty()) text += " (" + model + ")";
  return text;
}

std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  return text;
}

}  // namespace

std::string Machine::text() const {
  return fmt::format("{}; {} GiB; {}; {}", processor, (memory_bytes + (1 << 29)) >> 30, disk,
                     kernel);
}

Machine this_machine(const std::string& path) {
  Machine machine;
  machine.processors = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::string model = value_of("/proc/cpuinfo", "model name");
  machine.processor = fmt::format("{}, {} processors{}", model.empty() ? "unknown" : plain(model),
                                  machine.processors, last_level_cache());
  const auto disk = hardware::disk_folder(path);
  machine.disk = disk_text(disk);
  machine.merge_bytes = merge_bytes(disk);
  utsname system{};
  if (::uname(&system) == 0) {
    machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  }
  machine.memory_bytes =
      static_cast<Bytes>(::sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(::sysconf(_SC_PAGESIZE));
  return machine;
}

}  // namespace leanstream::probe
