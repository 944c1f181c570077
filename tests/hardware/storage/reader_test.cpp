// The flash reader over storages that misbehave.
#include <map>

#include <gmock/gmock.h>

#include "engine/base/random.h"
#include "engine/hardware/storage/faulty_storage.h"
#include "tests/hardware/any_order_storage.h"
#include "tests/hardware/storage/disk_image.h"

namespace leanstream::hardware {
namespace {

using backend::FaultInjector;
using backend::FaultPlan;
using backend::ReadFault;
using scheduler::CommandKind;
using scheduler::Status;

const std::vector<std::byte>& image() {
  static const auto bytes = image_bytes();
  return bytes;
}

// Ends each request at once, with as many bytes as `result` says or its error.
class ScriptedStorage final : public Storage {
 public:
  using Result = std::function<std::int64_t(const StorageRequest&, Bytes asked)>;
  explicit ScriptedStorage(Result result) : result_(std::move(result)) {}
  void submit(std::span<const StorageRequest> requests) override {
    for (const StorageRequest& request : requests) {
      Bytes asked = 0;
      for (const iovec& piece : request.into) asked += piece.iov_len;
      const std::int64_t result = result_(request, asked);
      Bytes left = result > 0 ? static_cast<Bytes>(result) : 0;
      Bytes from = request.offset_bytes;
      for (const iovec& piece : request.into) {
        const Bytes part = std::min<Bytes>(left, piece.iov_len);
        std::memcpy(piece.iov_base, image().data() + from, part);
        from += part;
        left -= part;
      }
      results_.push_back({request.id, result, 1000});
    }
  }
  void cancel(std::uint64_t, std::uint64_t) override {}
  void poll(std::vector<StorageResult>& out) override {
    out.insert(out.end(), results_.begin(), results_.end());
    results_.clear();
  }
  void wait(TimeNs) override {}
  void wake() override {}
  Bytes alignment_bytes() const override { return 512; }
  Bytes memory_bytes() const override { return 0; }
  std::string description() const override { return "a script"; }

 private:
  Result result_;
  std::vector<StorageResult> results_;
};

TEST(FlashReader, AsksForTheRestOfAShortRead) {
  int calls = 0;
  ScriptedStorage storage([&](const StorageRequest&, Bytes asked) -> std::int64_t {
    ++calls;
    if (calls == 1) return -EAGAIN;
    if (calls == 2) return 5000;  // to be read again from byte 4608 on
    if (calls == 3) return -EINTR;
    return static_cast<std::int64_t>(asked);
  });
  const Arena arena(16);
  FlashReader reader(reader_spec(storage, arena));
  auto read = read_run(1, 1, 7, 8, 4, true);
  read.command.merge_blocks = 8;
  reader.submit(read.get());
  const auto ended = answers(reader, storage, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, Status::ok);
  EXPECT_EQ(ended[0].request_ns, std::vector<TimeNs>{4000});
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(reader.counts().retries, 3);
  EXPECT_EQ(reader.counts().short_reads, 1);
  EXPECT_EQ(reader.counts().errors, 0);
  for (std::int32_t i = 0; i < 8; ++i) EXPECT_TRUE(holds(arena.slot(11 - i), 1, 7 + i));
}

TEST(FlashReader, GivesUpAfterSomeRetries) {
  int calls = 0;
  ScriptedStorage storage([&](const StorageRequest& request, Bytes asked) -> std::int64_t {
    if (request_of(request.id) == 1) return static_cast<std::int64_t>(asked);
    return ++calls == 1 ? 4096 : -EAGAIN;
  });
  const Arena arena(16);
  FlashReader reader(reader_spec(storage, arena));
  auto read = read_run(1, 0, 0, 8, 0);
  read.command.merge_blocks = 4;
  reader.submit(read.get());
  const auto ended = answers(reader, storage, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, Status::error);
  EXPECT_EQ(ended[0].not_read, (std::vector<BlockId>{1, 2, 3}));
  EXPECT_EQ(calls, 9);
  EXPECT_EQ(reader.counts().errors, 1);
  EXPECT_TRUE(holds(arena.slot(0), 0, 0) && holds(arena.slot(7), 0, 7));
}

TEST(FlashReader, AWrongChecksumIsABlockNotRead) {
  AnyOrderStorage storage(image(), 1, 1000);
  const Arena arena(16);
  std::vector<std::uint64_t> checksums;
  for (std::size_t at = kHeader; at < image().size(); at += kBlock) {
    checksums.push_back(hash64(std::span(image()).subspan(at, kBlock)));
  }
  checksums[kBlocks + 5] ^= 1;
  auto spec = reader_spec(storage, arena);
  spec.checksums = checksums;
  FlashReader reader(spec);
  auto right = read_run(1, 0, 0, 8, 0);
  auto wrong = read_run(2, 1, 0, 8, 8);
  reader.submit(right.get());
  reader.submit(wrong.get());
  auto ended = answers(reader, storage, 2);
  ASSERT_EQ(ended.size(), 2U);
  std::ranges::sort(ended, {}, &Answer::ticket);
  EXPECT_EQ(ended[0].status, Status::ok);
  EXPECT_EQ(ended[1].status, Status::error);
  EXPECT_EQ(ended[1].not_read, std::vector<BlockId>{5});
  EXPECT_EQ(reader.counts().checksum_failures, 1);
}

// Random reads and cancels over a storage that ends requests in any order: what is said to be
// there is there, and nothing ends twice.
TEST(FlashReader, AnyOrderWithCancels) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    AnyOrderStorage storage(image(), seed, 20'000, 4);
    const Arena arena(kBlocks);
    FlashReader reader(reader_spec(storage, arena));
    RandomStream random(seed, "tests.reader");
    std::vector<ReadCommand> reads;
    for (TicketId ticket = 1; ticket <= 16; ++ticket) {
      const auto first = static_cast<BlockId>(random.next_below(kBlocks - 16));
      reads.push_back(read_run(ticket, static_cast<LayerId>(random.next_below(kLayers)), first, 16,
                               static_cast<SlotId>(16 * (ticket - 1)), random.next_below(2) == 0));
      reads.back().command.merge_blocks = static_cast<std::int32_t>(1 + random.next_below(6));
    }
    for (auto& read : reads) reader.submit(read.get());
    const TicketId target = 1 + random.next_below(16);
    reader.submit({.ticket = 17, .kind = CommandKind::cancel, .target = target});
    auto ended = answers(reader, storage, 17);
    ASSERT_EQ(ended.size(), 17U);
    std::ranges::sort(ended, {}, &Answer::ticket);
    for (TicketId ticket = 1; ticket <= 16; ++ticket) {
      const Answer& answer = ended[ticket - 1];
      EXPECT_EQ(answer.ticket, ticket);
      EXPECT_TRUE(ticket == target || answer.status == Status::ok);
      EXPECT_EQ(answer.status == Status::ok, answer.not_read.empty());
      const ReadCommand& read = reads[ticket - 1];
      for (std::size_t i = 0; i < read.blocks.size(); ++i) {
        if (std::ranges::count(answer.not_read, read.blocks[i]) == 0) {
          EXPECT_TRUE(holds(arena.slot(read.slots[i]), read.command.layer, read.blocks[i]));
        }
      }
    }
    EXPECT_TRUE(reader.idle());
  }
}

// ---- the shim of the fault plan

std::function<TimeNs()> clock_from_now() {
  const auto from = std::chrono::steady_clock::now();
  return [from] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                from)
        .count();
  };
}

struct FaultyRun {
  FaultyRun(const FaultPlan& plan, std::uint64_t seed, double bandwidth = 0)
      : now(clock_from_now()),
        storage(with_faults(std::make_unique<AnyOrderStorage>(image(), seed, 1000),
                            {plan, seed, kBlock, bandwidth, now})),
        reader(reader_spec(*storage, arena)) {}

  std::vector<Answer> read(std::int32_t count, std::int32_t merge) {
    auto command = read_run(++ticket, 0, 0, count, 0);
    command.command.merge_blocks = merge;
    reader.submit(command.get());
    return answers(reader, *storage, 1);
  }

  std::function<TimeNs()> now;
  Arena arena{kBlocks};
  std::unique_ptr<Storage> storage;
  FlashReader reader;
  TicketId ticket = 0;
};

TEST(FaultyStorage, RequestsFailAsThePlanDecides) {
  FaultPlan plan;
  plan.read_error = 0.1;
  plan.short_read = 0.2;
  const FaultInjector injector(plan, 5);
  FaultyRun run(plan, 5);
  std::int64_t errors = 0;
  for (int i = 0; i < 4; ++i) {
    const auto ended = run.read(kBlocks, 4);
    ASSERT_EQ(ended.size(), 1U);
    std::vector<BlockId> expected;
    for (std::int32_t request = 0; request < kBlocks / 4; ++request) {
      const ReadFault fault = injector.read(run.ticket, request);
      if (fault == ReadFault::none) continue;
      ++errors;
      for (BlockId b = fault == ReadFault::error ? 0 : 3; b < 4; ++b) {
        expected.push_back(4 * request + b);
      }
    }
    EXPECT_EQ(ended[0].status, Status::error);
    EXPECT_EQ(ended[0].not_read, expected);
  }
  EXPECT_GT(errors, 0);
  EXPECT_EQ(run.reader.counts().errors, errors);
  EXPECT_GT(run.reader.counts().short_reads, 0);
}

constexpr TimeNs kMs = 1'000'000;

TEST(FaultyStorage, LateResultsComeLater) {
  FaultPlan plan;
  plan.late = 1;
  plan.late_by_ns = 30 * kMs;
  FaultyRun run(plan, 1);
  const auto ended = run.read(8, 1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].status, Status::ok);
  EXPECT_GE(run.now(), 30 * kMs);
  EXPECT_LT(run.now(), 3000 * kMs);  // late together, not one after the other; waited, not missed
  for (const TimeNs ns : ended[0].request_ns) EXPECT_GE(ns, 30 * kMs);
}

TEST(FaultyStorage, NothingComesDuringAStall) {
  FaultPlan plan;
  plan.stall_from_ns = 0;
  plan.stall_for_ns = 40 * kMs;
  FaultyRun run(plan, 1);
  ASSERT_EQ(run.read(8, 8).size(), 1U);
  EXPECT_GE(run.now(), 40 * kMs);
  EXPECT_LT(run.now(), 3000 * kMs);
  const TimeNs from_ns = run.now();
  ASSERT_EQ(run.read(8, 8).size(), 1U);
  EXPECT_LT(run.now() - from_ns, 3000 * kMs);
}

TEST(FaultyStorage, ACollapseLeavesItsShareOfTheBandwidth) {
  FaultPlan plan;
  plan.collapse_from_ns = 0;
  plan.collapse_to_ns = kNever - 1;
  plan.collapse_factor = 0.1;
  constexpr double kBandwidth = 100e6;  // of which 10 MB/s are left
  FaultyRun run(plan, 1, kBandwidth);
  ASSERT_EQ(run.read(128, 4).size(), 1U);
  const double expected_ms = 128 * static_cast<double>(kBlock) / 10e6 * 1e3;
  EXPECT_GE(static_cast<double>(run.now()) / 1e6, expected_ms);
  EXPECT_LT(static_cast<double>(run.now()) / 1e6, 20 * expected_ms);
}

}  // namespace
}  // namespace leanstream::hardware
