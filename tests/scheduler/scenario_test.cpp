// Every file of scenarios/: the program's commands are those worked out by hand.
#include "tests/scheduler/scenario.h"

#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"

namespace leanstream::scheduler {
namespace {

const std::string kFolder = LEANSTREAM_SOURCE_DIR "/tests/scheduler/scenarios";

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, GivesTheCommandsWorkedOutByHand) {
  Scenario scenario = read_scenario(kFolder + "/" + GetParam() + ".yaml");
  std::string refused;
  try {
    scenario.run.run();
  } catch (const UserError& error) {
    refused = error.what();
  }
  const std::string wrong = difference(scenario.commands, scenario.run);
  if (!wrong.empty()) ADD_FAILURE() << scenario.description << '\n' << wrong;
  for (const Figure& f : scenario.tally) {
    EXPECT_EQ(scenario.run.metrics.decode.*f.figure, f.value) << f.name;
  }
  const auto expect_words = [](const std::string& words, const std::string& text) {
    if (words.empty()) {
      EXPECT_EQ(text, "");
    } else {
      EXPECT_THAT(text, testing::HasSubstr(words));
    }
  };
  expect_words(scenario.refused, refused);
  expect_words(scenario.failure, scenario.run.failure);
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioTest, testing::ValuesIn(names_in(kFolder)),
                         [](const auto& name) { return name.param; });

TEST(Scenarios, EverySystemHasOne) {
  EXPECT_THAT(names_in(kFolder),
              testing::IsSupersetOf(names_in(LEANSTREAM_SOURCE_DIR "/experiments/systems")));
}

TEST(Scenarios, AWrongKeyAndAWrongValueAreErrors) {
  const std::string path =
      testing::TempDir() + "/wrong_scenario_" + std::to_string(::getpid()) + ".yaml";
  write_file(path,
             "description: wrong\nsystem: dense\nimportance: [[[1, 2]]]\nrun: {slot: 4}\n"
             "costs: {read: fast}\n");
  try {
    read_scenario(path);
    FAIL() << "it was read";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("unknown parameter 'slot'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("'read'"));
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace leanstream::scheduler
