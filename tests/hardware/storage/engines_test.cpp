// What each of the three interfaces must do alike, on a real disk.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>

#include <sys/mman.h>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "tests/hardware/storage/disk_image.h"

namespace leanstream::hardware {
namespace {

using scheduler::CommandKind;
using scheduler::Status;

class StorageEngine : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      open({.depth = 1});
    } catch (const UserError& error) {
      GTEST_SKIP() << error.what();
    }
    storage_.reset();
  }

  Storage& open(StorageSpec spec) {
    spec.path = image_.path();
    spec.engine = GetParam();
    storage_ = open_storage(spec);
    return *storage_;
  }

  DiskImage image_;
  std::unique_ptr<Storage> storage_;
};

// Every block of the image, in random order, each into a slot of its own, as commands of random
// length in three lanes that are far shallower than what they are given.
TEST_P(StorageEngine, EveryBlockArrivesInItsSlot) {
  constexpr std::int32_t kLanes = 3;
  const Arena arena(kLayers * kBlocks);
  Storage& storage = open({.lanes = kLanes, .depth = 3, .arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  RandomStream random(1, "tests.storage");
  std::vector<ReadCommand> reads;
  std::vector<SlotId> slots(kLayers * kBlocks);
  std::iota(slots.begin(), slots.end(), 0);
  for (std::size_t i = slots.size(); i > 1; --i) {
    // Half of the slots stay beside the one of the block before.
    if (random.next_below(2) == 0) std::swap(slots[i - 1], slots[random.next_below(i)]);
  }
  for (LayerId layer = 0; layer < kLayers; ++layer) {
    for (BlockId first = 0; first < kBlocks;) {
      const auto count =
          std::min(static_cast<std::int32_t>(1 + random.next_below(40)), kBlocks - first);
      auto read = read_run(0, layer, first, count, 0);
      for (std::int32_t i = 0; i < count; ++i) {
        read.slots[static_cast<std::size_t>(i)] =
            slots[static_cast<std::size_t>(layer * kBlocks + first + i)];
      }
      read.command.merge_blocks = static_cast<std::int32_t>(1 + random.next_below(16));
      reads.push_back(std::move(read));
      first += count;
    }
  }
  for (std::size_t i = reads.size(); i > 1; --i) {
    std::swap(reads[i - 1], reads[random.next_below(i)]);
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].command.ticket = i + 1;
    reads[i].command.lane = static_cast<std::int32_t>(i) % kLanes;
    reader.submit(reads[i].get());
  }
  std::set<TicketId> ended;
  for (const Answer& answer : answers(reader, storage, reads.size())) {
    EXPECT_TRUE(ended.insert(answer.ticket).second);
    EXPECT_EQ(answer.status, Status::ok);
    std::size_t requests = 0;
    for_each_request(reads[answer.ticket - 1].get(), [&](auto, auto) { ++requests; });
    EXPECT_EQ(answer.request_ns.size(), requests);
    EXPECT_GT(*std::ranges::min_element(answer.request_ns), 0);
  }
  EXPECT_EQ(ended.size(), reads.size());
  EXPECT_TRUE(reader.idle());
  EXPECT_EQ(reader.counts().retries + reader.counts().short_reads + reader.counts().errors, 0);
  for (LayerId layer = 0; layer < kLayers; ++layer) {
    for (BlockId block = 0; block < kBlocks; ++block) {
      const auto slot = slots[static_cast<std::size_t>(layer * kBlocks + block)];
      EXPECT_TRUE(holds(arena.slot(slot), layer, block)) << layer << " " << block;
    }
  }
}

// One request of more pieces than the system takes at once (IOV_MAX).
TEST_P(StorageEngine, ManyPiecesOfOneRequest) {
  Storage& storage = open({.depth = 2});
  const Bytes bytes = storage.alignment_bytes();
  const auto count = static_cast<std::int32_t>((kImageBytes - kHeader) / bytes);
  if (count <= 1024) GTEST_SKIP() << "logical blocks of " << bytes << " bytes";
  const Arena arena(static_cast<std::size_t>(count), bytes);
  FlashReaderSpec spec = reader_spec(storage, arena);
  FlashReader reader(spec);
  auto read = read_run(1, 0, 0, count, 0, true);
  read.command.merge_blocks = count;
  reader.submit(read.get());
  const auto ended = answers(reader, storage, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, Status::ok);
  EXPECT_EQ(ended[0].request_ns.size(), 1U);
  EXPECT_EQ(reader.counts().retries, 0);
  for (std::int32_t i = 0; i < count; ++i) {
    EXPECT_TRUE(holds(arena.slot(count - 1 - i), 0, i, bytes)) << i;
  }
}

TEST_P(StorageEngine, CancelTakesBackWhatHasNotBegun) {
  const Arena arena(kBlocks);
  Storage& storage = open({.depth = 2, .arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  auto first = read_run(1, 0, 0, 100, 0);
  auto second = read_run(2, 1, 0, 50, 100);
  reader.submit(first.get());
  reader.submit(second.get());
  reader.submit({.ticket = 3, .kind = CommandKind::cancel, .target = 1});
  auto ended = answers(reader, storage, 3);
  ASSERT_EQ(ended.size(), 3U);
  std::ranges::sort(ended, {}, &Answer::ticket);
  EXPECT_EQ(ended[0].status, Status::cancelled);
  EXPECT_EQ(ended[0].not_read.size(), 98U);
  EXPECT_EQ(ended[0].not_read.front(), 2);
  EXPECT_EQ(ended[0].request_ns.size(), 2U);
  EXPECT_TRUE(holds(arena.slot(0), 0, 0) && holds(arena.slot(1), 0, 1));
  EXPECT_EQ(ended[1].status, Status::ok);
  for (SlotId s = 0; s < 50; ++s) EXPECT_TRUE(holds(arena.slot(100 + s), 1, s));
  EXPECT_EQ(ended[2].status, Status::ok);
  // What has ended cannot be taken back, and that is no error.
  reader.submit({.ticket = 4, .kind = CommandKind::cancel, .target = 2});
  EXPECT_EQ(answers(reader, storage, 1).size(), 1U);
}

TEST_P(StorageEngine, TruncatedImageIsAnErrorOfItsBlocks) {
  std::filesystem::resize_file(image_.path(), kHeader + 10 * kBlock + 100);
  const Arena arena(16);
  Storage& storage = open({.arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  auto read = read_run(1, 0, 4, 12, 0);
  read.command.merge_blocks = 8;
  reader.submit(read.get());
  const auto ended = answers(reader, storage, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, Status::error);
  EXPECT_EQ(ended[0].not_read, (std::vector<BlockId>{10, 11, 12, 13, 14, 15}));
  for (SlotId s = 0; s < 6; ++s) EXPECT_TRUE(holds(arena.slot(s), 0, 4 + s));
  EXPECT_EQ(reader.counts().errors, 2);
}

TEST_P(StorageEngine, WakeEndsAWait) {
  constexpr TimeNs kLong = 20'000'000'000;
  Storage& storage = open({});
  const auto from = std::chrono::steady_clock::now();
  const auto passed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  storage.wake();
  storage.wait(kLong);  // woken before
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    storage.wake();
  });
  storage.wait(kLong);  // woken meanwhile
  waker.join();
  EXPECT_LT(passed_s(), 10);
  const double before_s = passed_s();
  std::vector<StorageResult> none;
  // A wake may be heard twice, the limit not be passed over; whether anything is polled or not.
  for (int i = 0; i < 3; ++i) storage.wait(20'000'000);
  storage.poll(none);
  EXPECT_GE(passed_s() - before_s, 0.019);
  EXPECT_LT(passed_s() - before_s, 5);
  EXPECT_TRUE(none.empty());
}

// Each wake announces a number; a lost one would cost the whole limit of a wait.
TEST_P(StorageEngine, NoWakeIsLostBesideReads) {
  constexpr int kWakes = 3000;
  const Arena arena(kBlocks);
  Storage& storage = open({.depth = 4, .arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  std::atomic<int> announced{0};
  std::atomic<int> seen{0};
  std::thread waker([&] {
    for (int i = 1; i <= kWakes; ++i) {
      announced = i;
      storage.wake();
      while (seen.load() < i) std::this_thread::yield();
    }
  });
  std::vector<FlashEnded> ended;
  TicketId ticket = 0;
  auto read = read_run(0, 0, 0, 1, 0);
  const auto from = std::chrono::steady_clock::now();
  while (seen.load() < kWakes || ticket < 2) {
    if (reader.idle()) {
      read.command.ticket = ++ticket;
      reader.submit(read.get());
      reader.flush();
    }
    if (announced.load() == seen.load()) storage.wait(30'000'000'000);
    seen = announced.load();
    ended.clear();
    reader.poll(ended);
  }
  waker.join();
  if (!reader.idle()) answers(reader, storage, 1);  // the arena goes before the storage
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(20));
}

TEST_P(StorageEngine, ReadsLeaveNothingInThePageCache) {
  const auto pages_in_memory = [&] {
    const int fd = ::open(image_.path().c_str(), O_RDONLY);
    void* map = ::mmap(nullptr, kImageBytes, PROT_READ, MAP_SHARED, fd, 0);
    EXPECT_NE(map, MAP_FAILED);
    std::vector<unsigned char> pages((kImageBytes + 4095) / 4096);
    EXPECT_EQ(::mincore(map, kImageBytes, pages.data()), 0);
    ::munmap(map, kImageBytes);
    ::close(fd);
    return std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  };
  if (pages_in_memory() != 0) GTEST_SKIP() << "this file system keeps written pages in memory";
  const Arena arena(kBlocks);
  Storage& storage = open({.arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  auto read = read_run(1, 0, 0, kBlocks, 0);
  read.command.merge_blocks = 32;
  reader.submit(read.get());
  ASSERT_EQ(answers(reader, storage, 1).size(), 1U);
  EXPECT_TRUE(holds(arena.slot(kBlocks - 1), 0, kBlocks - 1));
  EXPECT_EQ(pages_in_memory(), 0);
}

// Memory of reads under way may be given back after the storage.
TEST_P(StorageEngine, EndsWithReadsUnderWay) {
  const Arena arena(kBlocks);
  Storage& storage = open({.depth = 8, .arena = arena.bytes});
  FlashReader reader(reader_spec(storage, arena));
  auto read = read_run(1, 0, 0, kBlocks, 0);
  reader.submit(read.get());
  reader.flush();
  storage_.reset();
  std::memset(arena.memory.get(), 0, arena.bytes.size());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(std::ranges::all_of(arena.bytes, [](std::byte b) { return b == std::byte{0}; }));
}

INSTANTIATE_TEST_SUITE_P(Each, StorageEngine, testing::ValuesIn(storage_engines()),
                         [](const auto& engine) { return engine.param; });

}  // namespace
}  // namespace leanstream::hardware
