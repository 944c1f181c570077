// Systems are nothing but their files: one turned into another by its parameters runs alike.
#include <gtest/gtest.h>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using LadderTest = ProgramTest;

TEST_F(LadderTest, LeanstreamWithoutItsPartsIsDejavuLruCommandByCommand) {
  const auto hashes = [&](const std::string& out, const std::vector<std::string>& changes) {
    std::vector<std::string> arguments{"sweep",
                                       LEANSTREAM_SOURCE_DIR "/experiments/quickstart.yaml",
                                       "sweep={memory_budget: [20% of mlp, 50% of mlp]}",
                                       "--no-report",
                                       "--out",
                                       path(out)};
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    const auto results = table(out + "/results.csv");
    std::vector<std::string> all;
    for (std::size_t row = 0; row < results.rows.size(); ++row) {
      all.push_back(results.text(row, "commands_hash"));
    }
    return all;
  };
  const auto dejavu = hashes("dejavu", {"system=dejavu_lru"});
  EXPECT_EQ(
      hashes("leanstream", {"system=leanstream",
                            "system_changes={refine: false, compute_order: flash, cache: lru, "
                            "loader: after_prediction, controller: one_shot_ahead, "
                            "synchronisation: device, predict_cost_like: low_rank_mlp}"}),
      dejavu);
  ASSERT_EQ(dejavu.size(), 2U);
  EXPECT_NE(dejavu[0], dejavu[1]);
  EXPECT_NE(hashes("whole", {"system=leanstream"}), dejavu);
}

}  // namespace
}  // namespace leanstream::experiments
