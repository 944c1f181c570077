// Controllers: the plans they give, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/policy/control/controller.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

std::unique_ptr<Controller> make_controller(const std::string& yaml,
                                            std::int32_t block_neurons = 2) {
  return scheduler::make_policy<Controller>(yaml, {4, 100, block_neurons});
}

std::string refusal(const std::string& yaml) {
  try {
    make_controller(yaml);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Control, StaticGivesOnePlanWhateverTheLayerAndItsMisses) {
  const auto controller = make_controller("{policy: static, omega_io: 4, omega_gpu: 2}");
  for (const LayerId layer : {0, 3}) {
    for (const BlockId missing : {0, 100}) {
      const Plan plan = controller->plan({layer, missing});
      EXPECT_EQ(plan.stages, 1);
      EXPECT_EQ(plan.stage[0].omega_io, 4);
      EXPECT_EQ(plan.stage[0].omega_gpu, 2);
      EXPECT_EQ(plan.cluster_blocks, 0);
    }
  }
  EXPECT_EQ(controller->coarsest().stage[0].omega_io, 4);
  EXPECT_EQ(controller->predicts(), Predicts::refined);
}

TEST(Control, StaticTakesAListForEachStage) {
  const auto controller =
      make_controller("{policy: static, omega_io: [4, 1, 2], omega_gpu: [1, 2, 3]}");
  const Plan plan = controller->plan({});
  ASSERT_EQ(plan.stages, 3);
  const std::array<std::int32_t, 3> io{4, 1, 2}, gpu{1, 2, 3};
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(plan.stage[s].omega_io, io[s]);
    EXPECT_EQ(plan.stage[s].omega_gpu, gpu[s]);
  }
}

TEST(Control, StaticRefusesListsThatDoNotMatch) {
  const char* text =
      "controller static: omega_io has 2 plan stages and omega_gpu 1; both need the same number, 1 "
      "to 8";
  EXPECT_EQ(refusal("{policy: static, omega_io: [4, 1], omega_gpu: 2}"), text);
  EXPECT_THAT(refusal("{policy: static, omega_io: [], omega_gpu: []}"),
              testing::HasSubstr("0 plan stages"));
  const std::string nine = "[1, 1, 1, 1, 1, 1, 1, 1, 1]";
  EXPECT_THAT(refusal("{policy: static, omega_io: " + nine + ", omega_gpu: " + nine + "}"),
              testing::HasSubstr("9 plan stages"));
  EXPECT_THAT(refusal("{policy: static, omega_io: [4, 0], omega_gpu: [1, 1]}"),
              testing::HasSubstr("test:1:32"));
}

TEST(Control, ClustersAreSoManyNeurons) {
  EXPECT_EQ(make_controller("clusters")->plan({}).cluster_blocks, 256);
  EXPECT_EQ(make_controller("{policy: clusters, cluster_neurons: 7}", 3)->coarsest().cluster_blocks,
            2);
  EXPECT_EQ(make_controller("{policy: clusters, cluster_neurons: 1}", 3)->plan({}).cluster_blocks,
            1);
}

TEST(Control, OneShotPredictsOnceAndCutsNothing) {
  EXPECT_EQ(make_controller("one_shot_ahead")->predicts(), Predicts::one_shot_ahead);
  EXPECT_EQ(make_controller("one_shot_at_input")->predicts(), Predicts::one_shot_at_input);
  for (const char* name : {"one_shot_ahead", "one_shot_at_input"}) {
    for (const Plan& plan : {make_controller(name)->plan({}), make_controller(name)->coarsest()}) {
      EXPECT_EQ(plan.stages, 1) << name;
      EXPECT_EQ(plan.stage[0].omega_io, 1) << name;
      EXPECT_EQ(plan.stage[0].omega_gpu, 1) << name;
    }
  }
}

}  // namespace
}  // namespace leanstream::policy
