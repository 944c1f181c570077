#include "engine/hardware/storage/disk.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace leanstream::hardware {
namespace {

namespace fs = std::filesystem;

constexpr double kNearlyAll = 0.9;

// Numbers of the interrupts of the device that the disk hangs on.
std::set<std::string> interrupts_of(const fs::path& disk) {
  std::error_code error;
  for (fs::path folder = fs::canonical(disk / "device", error);
       !error && folder.has_relative_path(); folder = folder.parent_path()) {
    std::set<std::string> numbers;
    for (const auto& entry : fs::directory_iterator(folder / "msi_irqs", error)) {
      numbers.insert(entry.path().filename().string());
    }
    if (!numbers.empty()) return numbers;
    error.clear();  // not this folder
  }
  return {};
}

}  // namespace

fs::path disk_folder(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return "";
  const auto device = S_ISBLK(found.st_mode) ? found.st_rdev : found.st_dev;
  const auto link = fmt::format("/sys/dev/block/{}:{}", major(device), minor(device));
  std::error_code error;
  auto folder = fs::canonical(link, error);
  if (error) return "";
  return fs::exists(folder / "partition", error) ? folder.parent_path() : folder;
}

std::optional<int> interrupted_processor(const std::string& path) {
  const fs::path disk = disk_folder(path);
  if (disk.empty()) return std::nullopt;
  std::ifstream interrupts("/proc/interrupts");
  return interrupted_processor(interrupts, interrupts_of(disk));
}

// A header with the processors' names, then a line for each interrupt: number, counts, what it is.
std::optional<int> interrupted_processor(std::istream& interrupts,
                                         const std::set<std::string>& numbers) {
  const std::string prefix = "CPU";
  std::vector<int> processors;
  std::string line, word;
  std::getline(interrupts, line);
  for (std::istringstream header(line); header >> word;) {
    if (word.starts_with(prefix)) processors.push_back(std::stoi(word.substr(prefix.size())));
  }
  std::vector<std::uint64_t> counts(processors.size());
  while (std::getline(interrupts, line)) {
    std::istringstream row(line);
    if (!(row >> word) || !word.ends_with(':')) continue;
    word.pop_back();
    if (!numbers.contains(word)) continue;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < counts.size() && row >> count; ++i) counts[i] += count;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) all += count;
  const auto most = std::ranges::max_element(counts);
  if (all == 0 || static_cast<double>(*most) < kNearlyAll * static_cast<double>(all)) {
    return std::nullopt;
  }
  return processors[static_cast<std::size_t>(most - counts.begin())];
}

}  // namespace leanstream::hardware
