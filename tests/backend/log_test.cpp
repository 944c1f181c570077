// The log file: what goes in comes out, whole or up to where it was cut, and nothing else does.
#include <gmock/gmock.h>

#include "engine/backend/log_text.h"
#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "tests/backend/small_log.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;
using testing::AnyOf;
using testing::HasSubstr;

// Batches with every field at work, from small to extreme values.
class RandomBatches {
 public:
  explicit RandomBatches(std::uint64_t seed) : random_(seed, "test.log") {}

  void fill(LogBatch& batch) {
    batch.clear();
    for (std::uint64_t n = random_.next_below(5); n-- > 0;) add_command(batch);
    for (std::uint64_t n = 1 + random_.next_below(4); n-- > 0;) add_completion(batch);
  }

 private:
  bool now_and_then() { return random_.next_below(3) == 0; }
  std::int32_t number() { return static_cast<std::int32_t>(random_.next_u64()); }
  template <typename T>
  std::span<const T> list(BufferPool<T>& pool) {
    auto& items = pool.take();
    for (std::uint64_t n = random_.next_below(6); n-- > 0;) {
      items.push_back(static_cast<T>(now_and_then() ? number() : items.size()));
    }
    return items;
  }
  void add_command(LogBatch& batch) {
    Command& c = batch.commands.emplace_back();
    c.ticket = ticket_ += now_and_then() ? random_.next_below(1000) : 1;
    c.kind = static_cast<CommandKind>(random_.next_below(kCommandKinds));
    for (auto* field :
         {&c.layer, &c.token, &c.tokens, &c.lane, &c.merge_blocks, &c.segment, &c.feature}) {
      if (now_and_then()) *field = number();
    }
    if (now_and_then()) c.target = random_.next_below(1ULL << 62);
    c.blocks = list(batch.ids);
    c.slots = list(batch.ids);
  }
  void add_completion(LogBatch& batch) {
    Completion& c = batch.completions.emplace_back();
    c.ticket = random_.next_below(ticket_ + 1);
    c.time_ns = time_ns_ += static_cast<TimeNs>(random_.next_below(1ULL << 40));
    c.status = static_cast<Status>(random_.next_below(5));
    if (now_and_then()) c.work_ns = static_cast<TimeNs>(random_.next_below(1ULL << 62));
    if (now_and_then()) c.sampled = number();
    if (now_and_then()) c.not_read = list(batch.ids);
    if (now_and_then()) c.request_ns = list(batch.times);
    batch.scores_hash.push_back(now_and_then() ? random_.next_u64() : 0);
    if (now_and_then()) {
      auto& codes = batch.codes.take();
      codes.resize(1 + random_.next_below(300));
      for (auto& code : codes) code = static_cast<std::uint8_t>(random_.next_below(256));
      c.scores = codes;
      batch.scores_hash.back() = hash64(std::as_bytes(c.scores));
    }
    if (now_and_then()) {
      auto& numbers = batch.numbers.take();
      numbers.assign(random_.next_below(5), static_cast<float>(random_.next_unit()));
      c.nll = numbers;
    }
  }

  RandomStream random_;
  TicketId ticket_ = 0;
  TimeNs time_ns_ = 0;
};

void expect_equal(const LogBatch& a, const LogBatch& b) {
  ASSERT_EQ(a.commands.size(), b.commands.size());
  ASSERT_EQ(a.completions.size(), b.completions.size());
  const Sides sides{"written", "read"};
  for (std::size_t i = 0; i < a.commands.size(); ++i) {
    ASSERT_EQ(difference(a.commands[i], b.commands[i], sides), "");
    ASSERT_EQ(fields_of(a.commands[i]), fields_of(b.commands[i]));
    ASSERT_THAT(b.commands[i].blocks, testing::ElementsAreArray(a.commands[i].blocks));
    ASSERT_THAT(b.commands[i].slots, testing::ElementsAreArray(a.commands[i].slots));
  }
  for (std::size_t i = 0; i < a.completions.size(); ++i) {
    ASSERT_EQ(
        difference(a.completions[i], a.scores_hash[i], b.completions[i], b.scores_hash[i], sides),
        "");
  }
}

// What reading a file through says; "" when it is sound.
std::string reading_refusal(const std::string& path) {
  try {
    read_through(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class LogKeepsTest : public LogTest, public testing::WithParamInterface<KeepScores> {};

TEST_P(LogKeepsTest, GivesBackWhatWasWritten) {
  constexpr int kBatches = 20'000;  // several frames
  {
    LogWriter writer(path("new/folder/a.log"), "a header", GetParam());
    RandomBatches random(1);
    LogBatch batch;
    for (int i = 0; i < kBatches; ++i) {
      random.fill(batch);
      writer.commands(batch.commands);
      writer.wait(batch.completions, batch.scores_hash);
    }
    writer.finish({"c", "w", "{\"r\": 1}"});
  }
  LogReader reader(path("new/folder/a.log"));
  EXPECT_EQ(reader.header(), "a header");
  RandomBatches random(1);
  LogBatch written, read;
  for (int i = 0; i < kBatches; ++i) {
    random.fill(written);
    ASSERT_TRUE(reader.next(read)) << i;
    expect_equal(written, read);
    for (std::size_t c = 0; c < read.completions.size(); ++c) {
      const auto kept = read.completions[c].scores;
      if (GetParam() == KeepScores::hash) {
        ASSERT_TRUE(kept.empty());
      } else {
        ASSERT_THAT(kept, testing::ElementsAreArray(written.completions[c].scores));
      }
    }
  }
  EXPECT_FALSE(reader.next(read));
  EXPECT_EQ(reader.batches(), kBatches);
  ASSERT_TRUE(reader.end());
  EXPECT_EQ(reader.end()->commands_hash, "c");
  EXPECT_EQ(reader.end()->completions_hash, "w");
  EXPECT_EQ(reader.end()->results, "{\"r\": 1}");
  EXPECT_FALSE(reader.next(read)) << "the end stays the end";
}

INSTANTIATE_TEST_SUITE_P(Log, LogKeepsTest, testing::Values(KeepScores::hash, KeepScores::whole));

TEST_F(LogTest, EqualRunsGiveEqualBytes) {
  EXPECT_EQ(read_file(record({}, "a.log")), read_file(record({}, "b.log")));
  EXPECT_EQ(first_difference(path("a.log"), path("b.log"), {"a", "b"}), "");
}

TEST_F(LogTest, WithoutAnEndItHoldsAllThatWasAdded) {
  LogBatch batch;
  RandomBatches random(2);
  {
    LogWriter writer(path("a.log"), "");
    for (int i = 0; i < 10; ++i) {
      random.fill(batch);
      writer.commands(batch.commands);
      writer.wait(batch.completions, batch.scores_hash);
    }
    Command last;
    last.ticket = 1'000'000;
    writer.commands({&last, 1});
  }
  LogReader reader(path("a.log"));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(reader.next(batch));
  expect_equal(batch, batch);
  ASSERT_TRUE(reader.next(batch)) << "commands that nothing was answered to";
  ASSERT_EQ(batch.commands.size(), 1u);
  EXPECT_EQ(batch.commands[0].ticket, 1'000'000u);
  EXPECT_TRUE(batch.completions.empty());
  EXPECT_FALSE(reader.next(batch));
  EXPECT_FALSE(reader.end());
}

TEST_F(LogTest, CutAnywhereItIsRefusedOrHoldsTheBeginning) {
  const std::string whole = read_file(record({}, "whole.log"));
  const LogSummary all = read_through(path("whole.log"));
  ASSERT_GT(all.batches, 50);
  std::int64_t longest = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(path("cut.log"), whole.substr(0, n));
    const std::string what = reading_refusal(path("cut.log"));
    if (!what.empty()) {
      EXPECT_THAT(what, AnyOf(HasSubstr("no completion log"), HasSubstr("within its header")));
      continue;
    }
    const LogSummary cut = read_through(path("cut.log"));
    EXPECT_FALSE(cut.end) << n;
    EXPECT_GE(cut.batches, longest) << n;
    longest = cut.batches;
  }
  EXPECT_EQ(longest, all.batches) << "only the end mark is missing";
}

TEST_F(LogTest, ABigLogThatIsCutHoldsItsFirstFrames) {
  scheduler::SmallRun run;
  run.slots = 14;
  run.tokens = 1500;
  const std::string whole = read_file(record(run, "whole.log"));
  const auto all = read_through(path("whole.log")).batches;
  std::int64_t before = 0;
  for (const double share : {0.4, 0.6, 0.8, 0.95}) {
    const auto bytes = static_cast<std::size_t>(share * static_cast<double>(whole.size()));
    write_file(path("cut.log"), whole.substr(0, bytes));
    const LogSummary cut = read_through(path("cut.log"));
    EXPECT_FALSE(cut.end);
    EXPECT_GT(static_cast<double>(cut.batches), (share - 0.25) * static_cast<double>(all));
    EXPECT_LT(cut.batches, all);
    EXPECT_GE(cut.batches, before);
    before = cut.batches;
  }
}

TEST_F(LogTest, AnyFlippedByteIsNoticed) {
  const std::string whole = read_file(record({}, "whole.log"));
  RandomStream random(3, "test.flip");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.next_below(8)));
    write_file(path("flipped.log"), flipped);
    const std::string what = reading_refusal(path("flipped.log"));
    EXPECT_THAT(what, HasSubstr("flipped.log: ")) << at;
    EXPECT_THAT(what, AnyOf(HasSubstr("no completion log"), HasSubstr("this program reads"),
                            HasSubstr("damaged")))
        << at;
  }
  write_file(path("longer.log"), whole + "x");
  EXPECT_THAT(reading_refusal(path("longer.log")), HasSubstr("goes on after its end mark"));
}

TEST_F(LogTest, OtherFilesAreRefusedBySentences) {
  EXPECT_THAT(reading_refusal(path("none.log")), HasSubstr("none.log"));
  EXPECT_THAT(reading_refusal(path("")), HasSubstr("not a regular file"));
  write_file(path("text.log"), "kind: experiment\nname: not a log\n");
  EXPECT_THAT(reading_refusal(path("text.log")), HasSubstr("no completion log"));
  std::string later = read_file(record({}, "a.log"));
  later[7] = 2;
  write_file(path("later.log"), later);
  EXPECT_THAT(reading_refusal(path("later.log")),
              HasSubstr("a completion log of version 2; this program reads version 1"));
  EXPECT_THROW(LogWriter(path(""), ""), UserError) << "a folder";
}

TEST(LogDecoderTest, TakesAnyBytesWithoutFalling) {
  RandomStream random(4, "test.bytes");
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes(random.next_below(40));
    for (auto& b : bytes) {
      // Small numbers, tags of commands and of waits are frequent: deeper paths are taken.
      const std::uint64_t value = random.next_u64();
      b = static_cast<std::byte>(value % 3 == 0   ? value >> 8 & 7
                                 : value % 3 == 1 ? 255 - (value >> 8 & 1) * 127
                                                  : value >> 8 & 255);
    }
    std::span<const std::byte> in = bytes;
    LogDecoder decoder("test");
    LogBatch batch;
    try {
      while (decoder.read(in, batch)) {
      }
      EXPECT_TRUE(in.empty());
    } catch (const UserError& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("test: damaged, or of a later version: "));
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace leanstream::backend
