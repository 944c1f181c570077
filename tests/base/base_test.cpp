#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "engine/base/atomic_file.h"
#include "engine/base/block_set.h"
#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/random.h"

namespace leanstream {
namespace {

// Of this process: tests run beside each other.
std::filesystem::path own_folder(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "_" + std::to_string(::getpid()));
}

// Known answers of philox4x32-10 from the authors' Random123 distribution (kat_vectors).
TEST(Random, PhiloxGivesThePublishedNumbers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsAreNamedAndRepeatable) {
  RandomStream a(1, "a"), again(1, "a"), b(1, "b");
  const auto first = a.next_u64();
  EXPECT_EQ(first, again.next_u64());
  EXPECT_NE(first, b.next_u64());
  EXPECT_EQ(a.at(1, 2, 3), again.at(1, 2, 3));
  EXPECT_NE(a.at(1, 2, 3), a.at(1, 2, 4));
}

TEST(Random, BelowIsUniform) {
  RandomStream stream(7, "test");
  std::array<int, 5> seen{};
  for (int i = 0; i < 50'000; ++i) ++seen[stream.next_below(5)];
  for (const int n : seen) EXPECT_NEAR(n, 10'000, 450);  // 5 standard deviations
}

TEST(BlockSet, AgreesWithStdSet) {
  RandomStream random(3, "set");
  for (const BlockId size : {1, 63, 64, 65, 130, 768}) {
    BlockSet a(size), b(size);
    std::set<BlockId> sa, sb;
    for (BlockId i = 0; i < size; ++i) {
      if (random.next_below(2) == 1) a.set(i), sa.insert(i);
      if (random.next_below(3) == 1) b.set(i), sb.insert(i);
    }
    BlockId common = 0;
    for (const BlockId i : sa) common += sb.contains(i) ? 1 : 0;
    EXPECT_EQ(a.count(), static_cast<BlockId>(sa.size()));
    EXPECT_EQ(a.count_common(b), common);
    BlockSet minus = a;
    minus -= b;
    EXPECT_EQ(minus.count(), a.count() - common);
    std::set<BlockId> seen;
    a.for_each([&](BlockId i) { seen.insert(i); });
    EXPECT_EQ(seen, sa);
    a.fill();
    EXPECT_EQ(a.count(), size);
  }
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const auto dir = own_folder("leanstream_atomic_file");
  std::filesystem::remove_all(dir);
  {
    AtomicFile file((dir / "x").string());
    file.write("half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  write_file((dir / "x").string(), "whole");
  EXPECT_EQ(read_file((dir / "x").string()), "whole");
  std::filesystem::remove_all(dir);
}

TEST(AtomicFile, AKilledProcessLeavesNothing) {
  const auto dir = own_folder("leanstream_atomic_killed");
  std::filesystem::remove_all(dir);
  EXPECT_EXIT(
      {
        AtomicFile file((dir / "x").string());
        file.write(std::string(3 << 20, 'a'));
        ::raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  EXPECT_FALSE(std::filesystem::exists(dir / "x"));
#ifdef O_TMPFILE
  if (const int fd = ::open(dir.c_str(), O_TMPFILE | O_RDWR, 0600); fd >= 0) {
    ::close(fd);
    EXPECT_TRUE(std::filesystem::is_empty(dir));
  }
#endif
  std::filesystem::remove_all(dir);
}

TEST(AtomicFile, PositionsAndHoles) {
  const auto dir = own_folder("leanstream_atomic_seek");
  const auto path = (dir / "x").string();
  const std::string large(3 << 20, 'b');
  {
    AtomicFile file(path);
    file.reserve(8 + large.size());
    file.seek(8);
    file.write(large.substr(0, 5));
    file.write(large.substr(5));
    file.seek(1);
    file.write("abc");
    file.settle();
    file.commit();
  }
  EXPECT_TRUE(read_file(path) == std::string("\0abc\0\0\0\0", 8) + large);
  std::filesystem::remove_all(dir);
}

// The limit of a process's files stands for a full disk: the same calls fail.
TEST(AtomicFile, WhatDoesNotFitIsSaidAtOnceAndLeavesNothing) {
  const auto dir = own_folder("leanstream_atomic_full");
  std::filesystem::remove_all(dir);
  const auto file_of = [&](std::uint64_t reserved) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4 << 20, 4 << 20};
    ::setrlimit(RLIMIT_FSIZE, &small);
    try {
      AtomicFile file((dir / "x").string());
      if (reserved > 0) file.reserve(reserved);
      for (int i = 0; i < 5; ++i) file.write(std::string(1 << 20, 'c'));
    } catch (const UserError& error) {
      std::fputs(error.what(), stderr);
      std::exit(2);
    }
    std::exit(0);
  };
  EXPECT_EXIT(file_of(0), testing::ExitedWithCode(2), "x: cannot write: File too large");
  EXPECT_EXIT(file_of(8 << 20), testing::ExitedWithCode(2), "x: cannot .*: File too large");
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  std::filesystem::remove_all(dir);
}

TEST(AtomicFile, WhatCannotBeWrittenIsKnownBefore) {
  const auto dir = own_folder("leanstream_check_writable");
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  write_file((dir / "x").string(), "a file");
  const auto said = [&](const std::filesystem::path& file) -> std::string {
    try {
      check_writable((dir / file).string());
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said("x"), "") << "files may be replaced";
  EXPECT_EQ(said("new/folder/y"), "");
  EXPECT_FALSE(std::filesystem::exists(dir / "new")) << "changes nothing";
  EXPECT_NE(said("").find("is a folder; name a file"), std::string::npos);
  EXPECT_NE(said("x/y").find((dir / "x").string() + " is no folder"), std::string::npos);
  EXPECT_NE(said("/proc/sys/y").find("cannot write"), std::string::npos);
  std::filesystem::remove_all(dir);
}

TEST(AtomicFile, MissingFileIsTheUsersError) {
  EXPECT_THROW(read_file("/nonexistent/file"), UserError);
  EXPECT_THROW(hash_file("/"), UserError);
}

TEST(CheckDeathTest, PrintsTheEventTailAndEndsWith70) {
  EXPECT_EXIT(
      {
        set_failure_report([] { return std::string("last events: none"); });
        LEANSTREAM_CHECK(1 == 2, "one is {}", 1);
      },
      testing::ExitedWithCode(70), "one is 1(.|\n)*1 == 2(.|\n)*last events: none");
}

}  // namespace
}  // namespace leanstream
