// Loaders: how wide a gap is read across.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/policy/load/loader.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

std::unique_ptr<Loader> make(const std::string& yaml, const Loader::Context& context) {
  return scheduler::make_policy<Loader>(yaml, context);
}

TEST(Loader, OnlyCollapseReadsAcrossGaps) {
  for (const auto& [name, entry] : Registry<Loader>::instance().entries()) {
    const auto loader = make(name, {1000, 8000});
    EXPECT_EQ(loader->widest_gap() > 0, name == "collapse") << name;
    EXPECT_EQ(loader->gap_blocks(2, std::vector<BlockId>(9)) > 0, name == "collapse") << name;
  }
}

TEST(Loader, CollapseTakesTheGapThatIsStated) {
  const auto loader = make("{policy: collapse, gap: 3500 B, largest_read: 10 KB}", {1000, 8000});
  EXPECT_EQ(loader->merge_blocks(), 10);
  EXPECT_EQ(loader->widest_gap(), 3);
  EXPECT_EQ(loader->gap_blocks(100, std::vector<BlockId>{0, 99, 0, 0}), 3);
  // Two wanted blocks and what is between them fit one request.
  EXPECT_EQ(make("{policy: collapse, gap: 1 MB, largest_read: 4 KB}", {1000, 8000})->widest_gap(),
            2);
  EXPECT_EQ(make("{policy: collapse, gap: 1 MB, largest_read: 1 KB}", {1000, 8000})->widest_gap(),
            0);
}

TEST(Loader, CollapseStopsWhereBytesLimitTheDevice) {
  // A request costs as much as 4 blocks, so no gap is wider than 4.
  const auto loader = make("collapse", {1000, 4000});
  EXPECT_EQ(loader->widest_gap(), 4);
  // 10 blocks in 10 requests: 40 > 10. Gaps of 1 ×4: 6 requests, 14 blocks: 24 > 14. Of 2 ×2: 4
  // requests, 18 blocks: 16 < 18, too much.
  EXPECT_EQ(loader->gap_blocks(10, std::vector<BlockId>{0, 4, 2, 0, 3}), 1);
  // Of 2 ×1: 5 requests, 16 blocks: 20 > 16; of 3 there are none; of 4 ×1: 4 and 20.
  EXPECT_EQ(loader->gap_blocks(10, std::vector<BlockId>{0, 4, 1, 0, 1}), 3);
  // All neighbours: one request.
  EXPECT_EQ(loader->gap_blocks(10, std::vector<BlockId>{9, 0, 0, 0, 0}), 0);
}

}  // namespace
}  // namespace leanstream::policy
