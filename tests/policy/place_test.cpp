// Placements: an order of each layer's neurons, and what it is worth.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/config/document.h"
#include "engine/policy/place/placement.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::policy {
namespace {

using testing::ElementsAre;

std::unique_ptr<Placement> make(const std::string& yaml, const Placement::Context& context) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "test", diagnostics);
  const auto choice = Registry<Placement>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice.make(context);
}

TEST(Placement, IdentityIsTheDefaultAndHasNoTable) {
  const scheduler::SmallActivations activations(2, 1, 8);
  EXPECT_TRUE(make("identity", {&activations, 1, 0.5})->order(0).empty());
  EXPECT_TRUE(default_placement().make({&activations, 1, 0.5})->order(0).empty());
  EXPECT_EQ(default_placement().resolved.at("policy"), "identity");
}

TEST(Placement, FrequencyCountsTheSetsOfThePromptOnly) {
  scheduler::SmallActivations activations(3, 1, 6);
  activations.set(0, 0, {0, 9, 0, 9, 0, 0});
  activations.set(1, 0, {0, 0, 8, 9, 0, 0});
  activations.set(2, 0, {9, 0, 0, 0, 0, 9});  // decoded
  const auto two_of_six = 0.34;
  EXPECT_THAT(make("frequency", {&activations, 2, two_of_six})->order(0),
              ElementsAre(3, 1, 2, 0, 4, 5));
  EXPECT_THAT(make("{policy: frequency, fit_tokens: 1}", {&activations, 2, two_of_six})->order(0),
              ElementsAre(1, 3, 0, 2, 4, 5));
}

TEST(Placement, FrequencyNeedsTokens) {
  const scheduler::SmallActivations activations(3, 1, 6);
  EXPECT_THROW(make("frequency", {&activations, 0, 0.5}), UserError);
  EXPECT_THROW(make("{policy: frequency, fit_tokens: 4}", {&activations, 0, 0.5}), UserError);
}

}  // namespace
}  // namespace leanstream::policy
