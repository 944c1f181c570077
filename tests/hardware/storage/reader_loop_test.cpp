#include "engine/hardware/storage/reader_loop.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/hardware/storage/temporary_image.h"
#include "tests/hardware/storage/disk_image.h"

namespace leanstream::hardware {
namespace {

TEST(ReaderLoop, CountsWhatItReads) {
  const DiskImage image;
  for (const std::string& engine : storage_engines()) {
    for (const std::vector<std::int32_t>& pieces : {std::vector{1}, std::vector{1, 8}}) {
      const LoopSpec spec{.path = image.path(), .depth = 4, .seconds = 0.01};
      std::optional<ReaderLoop> loop;
      try {
        loop.emplace(spec, engine, pieces);
      } catch (const UserError&) {
        continue;  // not on this machine
      }
      const LoopResult result = loop->run();
      EXPECT_GE(result.reads, 4) << engine;
      EXPECT_EQ(result.latency_ns.size(), static_cast<std::size_t>(result.reads));
      EXPECT_GT(*std::ranges::min_element(result.latency_ns), 0);
      EXPECT_GT(result.wall_s, 0);
    }
  }
}

TEST(TemporaryImage, IsReadWithoutAName) {
  TemporaryImage image(1);
  ASSERT_TRUE(std::filesystem::exists(image.path()));
  const std::string name = image.path();
  image.unname();
  EXPECT_FALSE(std::filesystem::exists(name));
  EXPECT_EQ(std::filesystem::file_size(image.path()), Bytes{1} << 20);
  EXPECT_GT(ReaderLoop({.path = image.path(), .seconds = 0.01}, "pread").run().reads, 0);
}

TEST(TemporaryImage, LeavesNothing) {
  std::string name;
  {
    const TemporaryImage image(1);
    name = image.path();
  }
  EXPECT_FALSE(std::filesystem::exists(name));
}

}  // namespace
}  // namespace leanstream::hardware
