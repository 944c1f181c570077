// Which worlds there are, and what a wrong choice is told.
#include <gmock/gmock.h>

#include "engine/base/error.h"
#include "tests/backend/small_log.h"

namespace leanstream::backend {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& name, const std::string& log = "") {
  try {
    check_world(name, log);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(WorldTest, EachRegistersItself) {
  std::vector<std::string> names;
  for (const auto& world : worlds()) {
    names.push_back(world.name);
    EXPECT_NE(world.help, "") << world.name;
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"null", "replay"}));
}

TEST(WorldTest, UnknownOnesAreNamedWithTheNearest) {
  EXPECT_EQ(refusal("null"), "");
  EXPECT_THAT(refusal("repaly"), HasSubstr("did you mean 'replay'?"));
  EXPECT_THAT(refusal("hardware"), HasSubstr("this build has no backend 'hardware'; it has: "));
}

TEST(WorldTest, OnlyReplayTakesALogAndNeedsOne) {
  EXPECT_EQ(refusal("replay", "a.log"), "");
  EXPECT_THAT(refusal("replay"), HasSubstr("name it (--log FILE)"));
  EXPECT_THAT(refusal("null", "a.log"), HasSubstr("plays no log, but a.log was given"));
  EXPECT_THROW(make_world("replay", WorldSpec{}), UserError);
}

}  // namespace
}  // namespace leanstream::backend
