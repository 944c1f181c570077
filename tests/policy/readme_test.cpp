// The example of engine/policy/README.md, linked into this program, is a policy like the others.
#include <gtest/gtest.h>

#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

BlockSet eight_with(std::initializer_list<BlockId> blocks) {
  BlockSet set(8);
  for (const BlockId b : blocks) set.set(b);
  return set;
}

std::vector<BlockRef> victims_after_use(const std::string& name) {
  const auto policy = scheduler::make_policy<CachePolicy>(name, {2, 8, 6});
  const auto insert = [&](LayerId layer, const std::vector<BlockId>& blocks, StepId step) {
    BlockSet set(8);
    for (const BlockId b : blocks) set.set(b);
    policy->inserted(layer, set, step);
    policy->used(layer, set, step);
  };
  insert(0, {5, 3}, 0);
  insert(1, {6}, 1);
  insert(0, {1}, 2);
  insert(1, {7}, 3);
  policy->used(0, eight_with({5, 1}), 4);
  const std::vector<BlockSet> evictable{eight_with({1, 3, 5}), eight_with({6, 7})};
  std::vector<BlockRef> out;
  policy->victims({evictable, 1}, 3, out);
  return out;
}

TEST(Readme, ItsPolicyIsRegisteredAndEvictsTheLayerThatWasComputedLast) {
  const auto& entries = Registry<CachePolicy>::instance().entries();
  ASSERT_TRUE(entries.contains("farthest_layer"));
  EXPECT_EQ(entries.at("farthest_layer").help, "of the layer computed again last first");
  EXPECT_EQ(victims_after_use("farthest_layer"), (std::vector<BlockRef>{{1, 6}, {0, 3}, {1, 7}}));
  EXPECT_EQ(victims_after_use("lru"), (std::vector<BlockRef>{{0, 3}, {1, 6}, {1, 7}}));
  EXPECT_EQ(victims_after_use("fifo"), (std::vector<BlockRef>{{0, 3}, {0, 5}, {1, 6}}));
}

}  // namespace
}  // namespace leanstream::policy
