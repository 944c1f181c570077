#include "platforms/probe/samples.h"

#include <fstream>

#include <gmock/gmock.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "platforms/probe/probe.h"
#include "tests/probe/folder.h"

namespace leanstream::probe {
namespace {

using testing::HasSubstr;

Sample sample(int repetition, double value) {
  return {"storage", "bytes=4096 depth=1", repetition, "rate", value, "1/s", 1'796'000'000};
}

TEST_F(SamplesTest, AreThereAgain) {
  {
    SampleFile first = file();
    first.append(std::vector{sample(0, 10), sample(1, 0.1)});
    first.append(std::vector{sample(2, 1e-7)});
  }
  const SampleFile again = file();
  ASSERT_EQ(again.all().size(), 3U);
  EXPECT_EQ(again.all()[1].value, 0.1);
  EXPECT_EQ(again.all()[2].value, 1e-7);
  EXPECT_EQ(again.all()[0].at_s, 1'796'000'000);
  EXPECT_TRUE(again.has("storage", "bytes=4096 depth=1", 2, "rate"));
  EXPECT_FALSE(again.has("storage", "bytes=4096 depth=1", 3, "rate"));
  const Measured all = again.get("storage", "bytes=4096 depth=1", "rate");
  EXPECT_EQ(all.median, 0.1);
  EXPECT_EQ(all.count, 3U);
  EXPECT_NEAR(all.spread, (10 - 1e-7) / 0.1, 1e-9);
  EXPECT_EQ(again.usual_spread(), all.spread);
  EXPECT_FALSE(again.find("storage", "bytes=4096 depth=1", "p50"));
}

TEST_F(SamplesTest, WhatAnInterruptedWriteLeftGoes) {
  file().append(std::vector{sample(0, 10)});
  std::ofstream(path(), std::ios::app) << "storage,bytes=4096 dep";
  SampleFile again = file();
  EXPECT_EQ(again.all().size(), 1U);
  again.append(std::vector{sample(1, 11)});
  EXPECT_EQ(file().all().size(), 2U);
}

TEST_F(SamplesTest, OfAnotherMachineAreRefused) {
  file().append(std::vector{sample(0, 10)});
  try {
    const SampleFile other(path(), "machine two", false);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("machine one"));
    EXPECT_THAT(error.what(), HasSubstr("machine two"));
    EXPECT_THAT(error.what(), HasSubstr("--fresh"));
  }
  EXPECT_EQ(SampleFile(path(), "machine two", true).all().size(), 0U);
}

TEST_F(SamplesTest, ADamagedLineIsNamed) {
  file().append(std::vector{sample(0, 10)});
  std::ofstream(path(), std::ios::app) << "storage,bytes=4096 depth=1,x,rate,1,1/s,5\n";
  try {
    file();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("here.samples.csv:4: '"));
  }
}

// Three probes that note when they are measured.
struct Noting {
  std::vector<std::string> order;
  Group group(int fails_at = -1) {
    Group all;
    for (const char* name : {"a", "b", "c"}) {
      all.push_back({"what", name, {{"x", "s"}, {"y", "s"}}, [this, name, fails_at](int r) {
                       if (static_cast<int>(order.size()) == fails_at) throw UserError("no more");
                       order.push_back(name + std::to_string(r));
                       return std::vector<double>{1.0 * r, 2.0 * r};
                     }});
    }
    return all;
  }
};

TEST_F(SamplesTest, OnlyWhatIsMissingIsMeasured) {
  Noting first, second;
  SampleFile before = file();
  EXPECT_THROW(measure({first.group(5)}, 4, before, [](const Probe&) {}), UserError);
  EXPECT_EQ(first.order.size(), 5U);
  // Half of a measurement is none.
  const Sample half{"what", "a", 9, "x", 1, "s", 1};
  before.append(std::vector{half});
  SampleFile again = file();
  std::vector<Group> groups{second.group()};
  EXPECT_EQ(missing(groups, 4, again), 7U);
  int told = 0;
  measure(std::move(groups), 4, again, [&](const Probe&) { ++told; });
  EXPECT_EQ(told, 7);
  std::vector<std::string> all = first.order;
  all.insert(all.end(), second.order.begin(), second.order.end());
  EXPECT_THAT(all, testing::UnorderedElementsAre("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3",
                                                 "c0", "c1", "c2", "c3"));
  EXPECT_EQ(again.get("what", "b", "y").median, 3);
  EXPECT_EQ(missing({second.group()}, 4, file()), 0U);
  EXPECT_EQ(missing({second.group()}, 10, file()), 18U) << "half a measurement is missing";
  SampleFile last = file();
  measure({second.group()}, 10, last, [](const Probe&) {});
  EXPECT_EQ(last.get("what", "a", "x").count, 10U) << "the half counts no more";
}

TEST_F(SamplesTest, TheOrderIsRandomButFixed) {
  Noting one, two;
  SampleFile a = file();
  measure({one.group()}, 5, a, [](const Probe&) {});
  SampleFile b = file(true);
  measure({two.group()}, 5, b, [](const Probe&) {});
  EXPECT_EQ(one.order, two.order);
  std::vector<std::string> sorted = one.order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NE(one.order, sorted);
}

}  // namespace
}  // namespace leanstream::probe
