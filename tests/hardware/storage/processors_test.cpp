// Which processors threads keep to, and whom a disk interrupts.
#include "engine/hardware/storage/processors.h"

#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/storage/disk.h"

namespace leanstream::hardware {
namespace {

using testing::ElementsAre;

constexpr const char* kInterrupts =
    "           CPU0       CPU1       CPU3       \n"
    "  5:       9000          0          0   IO-APIC   9-edge      acpi\n"
    " 35:          0          1          0   PCI-MSIX-0000:00:02.0   0-edge      virtio1-config\n"
    " 36:         10          2    2085577   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
    " 40:        500          0          0   PCI-MSIX-0000:00:05.0   0-edge      nvme0q1\n"
    " 41:          0        480          0   PCI-MSIX-0000:00:05.0   1-edge      nvme0q2\n"
    " 42:          0          0        510   PCI-MSIX-0000:00:05.0   2-edge      nvme0q3\n"
    " 50:          0          0          0   PCI-MSIX-0000:00:06.0   0-edge      idle\n"
    "NMI:          7          7          7   Non-maskable interrupts\n";

std::optional<int> interrupted(const std::set<std::string>& numbers) {
  std::istringstream text(kInterrupts);
  return interrupted_processor(text, numbers);
}

TEST(Processors, ADiskWithOneQueueInterruptsOneProcessor) {
  EXPECT_EQ(interrupted({"35", "36"}), 3);  // by its name: processors may be missing
}

TEST(Processors, AQueueForEachProcessorInterruptsWhoAsked) {
  EXPECT_EQ(interrupted({"40", "41", "42"}), std::nullopt);
}

TEST(Processors, WhatTheSystemDoesNotSayIsNotKnown) {
  EXPECT_EQ(interrupted({}), std::nullopt);
  EXPECT_EQ(interrupted({"50"}), std::nullopt);  // no interrupt yet
  EXPECT_EQ(interrupted({"99"}), std::nullopt);
  std::istringstream nothing;
  EXPECT_EQ(interrupted_processor(nothing, {"36"}), std::nullopt);
  EXPECT_EQ(interrupted_processor("/no/such/file"), std::nullopt);
}

TEST(Processors, TheAcceleratorKeepsOffTheInterruptedOne) {
  const Processors two = choose_processors({0, 1}, 1, 1);
  EXPECT_TRUE(two.apart());
  EXPECT_THAT(two.scheduler, ElementsAre(1));
  EXPECT_THAT(two.accelerator, ElementsAre(0));
  EXPECT_THAT(two.predictor, ElementsAre(1));  // there is no third one
  const Processors four = choose_processors({0, 1, 2, 3}, 1, 2);
  EXPECT_THAT(four.scheduler, ElementsAre(1));
  EXPECT_THAT(four.accelerator, ElementsAre(0, 2, 3));
  EXPECT_THAT(four.predictor, ElementsAre(0, 2, 3));
}

TEST(Processors, NothingIsKeptApartWhereThatIsOfNoUse) {
  for (const Processors& any :
       {choose_processors({0, 1}, std::nullopt, 1), choose_processors({0, 1}, 1, 2),
        choose_processors({0, 1}, 7, 1), choose_processors({4}, 4, 1)}) {
    EXPECT_FALSE(any.apart());
    EXPECT_EQ(any.scheduler, any.all);
    EXPECT_EQ(any.accelerator, any.all);
    EXPECT_EQ(any.predictor, any.all);
  }
}

TEST(Processors, AThreadIsWhereItIsKeptAndThenWhereItWas) {
  const std::vector<int> before = processors_for("/", 1, /*apart=*/false).all;
  std::thread other([&] {
    {
      const std::vector<int> last{before.back()};
      const KeptTo kept(last);
      EXPECT_EQ(processors_for("/", 1, false).all, last);
    }
    EXPECT_EQ(processors_for("/", 1, false).all, before);
  });
  other.join();
}

}  // namespace
}  // namespace leanstream::hardware
