// The disk under a file or block device, as Linux tells of it.
#pragma once

#include <filesystem>
#include <istream>
#include <optional>
#include <set>
#include <string>

namespace leanstream::hardware {

// Its folder in /sys, of the whole disk; "" where the system says nothing.
std::filesystem::path disk_folder(const std::string& path);

// The processor that takes nearly all interrupts of the disk, by what it has taken so far; none for
// a disk that tells the processor that asked, and where the system says nothing.
std::optional<int> interrupted_processor(const std::string& path);

// The same of some interrupts by number, from a text like /proc/interrupts.
std::optional<int> interrupted_processor(std::istream& interrupts,
                                         const std::set<std::string>& numbers);

}  // namespace leanstream::hardware
