// An image on the disk the tests run on, each of whose words says where it lies.
#pragma once

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/flash_reader.h"

namespace leanstream::hardware {

inline constexpr Bytes kBlock = 4096;
inline constexpr Bytes kHeader = 8192;  // before the first block
inline constexpr std::int32_t kLayers = 2;
inline constexpr std::int32_t kBlocks = 256;  // of a layer
inline constexpr Bytes kImageBytes = kHeader + kLayers * kBlocks * kBlock;

inline std::vector<std::byte> image_bytes() {
  std::vector<std::byte> bytes(kImageBytes);
  for (Bytes at = 0; at < kImageBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = mix(at);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  return bytes;
}

// In the folder the test is started in, which is the build's, since /tmp may be memory.
class DiskImage {
 public:
  DiskImage() : path_(fmt::format("storage-test-{}-{}.image", ::getpid(), number_++)) {
    const auto bytes = image_bytes();
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const int fd = ::open(path_.c_str(), O_RDONLY);
    EXPECT_EQ(::fsync(fd), 0);
    EXPECT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(fd);
  }
  ~DiskImage() { std::filesystem::remove(path_); }
  DiskImage(const DiskImage&) = delete;
  DiskImage& operator=(const DiskImage&) = delete;
  const std::string& path() const { return path_; }

 private:
  static inline int number_ = 0;
  std::string path_;
};

inline bool holds(std::span<const std::byte> slot, LayerId layer, BlockId block,
                  Bytes block_bytes = kBlock) {
  const Bytes index = static_cast<Bytes>(layer) * kBlocks + static_cast<Bytes>(block);
  const Bytes from = kHeader + index * block_bytes;
  for (Bytes at = 0; at < block_bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = mix(from + at);
    if (std::memcmp(slot.data() + at, &word, sizeof word) != 0) return false;
  }
  return true;
}

struct Arena {
  explicit Arena(std::size_t slots, Bytes block_bytes = kBlock)
      : memory(aligned_memory(slots * block_bytes, 4096)),
        bytes(memory.get(), slots * block_bytes),
        block(block_bytes) {
    std::memset(memory.get(), 0, bytes.size());
  }
  std::span<const std::byte> slot(SlotId s) const {
    return bytes.subspan(static_cast<std::size_t>(s) * block, block);
  }
  AlignedMemory memory;
  std::span<std::byte> bytes;
  Bytes block;
};

// What a read ended with, copied.
struct Answer {
  TicketId ticket;
  scheduler::Status status;
  std::vector<BlockId> not_read;
  std::vector<TimeNs> request_ns;
};

// Waits as a world does until `count` commands have ended; fewer when it takes too long.
inline std::vector<Answer> answers(FlashReader& reader, Storage& storage, std::size_t count) {
  constexpr TimeNs kPatienceNs = 10'000'000'000;
  std::vector<Answer> out;
  std::vector<FlashEnded> ended;
  reader.flush();
  const auto from = std::chrono::steady_clock::now();
  while (out.size() < count && std::chrono::steady_clock::now() - from < std::chrono::seconds(20)) {
    ended.clear();
    reader.poll(ended);
    for (const FlashEnded& e : ended) {
      out.push_back({e.ticket,
                     e.status,
                     {e.not_read.begin(), e.not_read.end()},
                     {e.request_ns.begin(), e.request_ns.end()}});
    }
    if (out.size() < count) storage.wait(kPatienceNs);
  }
  return out;
}

inline FlashReaderSpec reader_spec(Storage& storage, const Arena& arena) {
  return {.storage = &storage,
          .data_offset = kHeader,
          .block_bytes = arena.block,
          .blocks_per_layer = kBlocks,
          .arena = arena.bytes};
}

// A read with memory for its lists.
struct ReadCommand {
  std::vector<BlockId> blocks;
  std::vector<SlotId> slots;
  scheduler::Command command;
  const scheduler::Command& get() {
    command.blocks = blocks;
    command.slots = slots;
    return command;
  }
};

// Blocks first … first + count − 1 into slots from `slot` on, down when `scattered`.
inline ReadCommand read_run(TicketId ticket, LayerId layer, BlockId first, std::int32_t count,
                            SlotId slot, bool scattered = false) {
  ReadCommand read;
  for (std::int32_t i = 0; i < count; ++i) {
    read.blocks.push_back(first + i);
    read.slots.push_back(slot + (scattered ? count - 1 - i : i));
  }
  read.command = {.ticket = ticket, .layer = layer};
  return read;
}

}  // namespace leanstream::hardware
