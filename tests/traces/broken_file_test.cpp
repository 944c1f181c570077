// Whatever the bytes: either a sound trace or a message that names the file. Run with the
// sanitizers this also shows that nothing is read out of bounds.
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/model/safetensors.h"
#include "tests/traces/small_trace.h"
#include "traces/statistics.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

using model::Dtype;
using testing::Contains;
using testing::HasSubstr;

constexpr SmallShape kTinyShape{.tokens = 3, .layers = 2, .hidden = 2, .ffn = 5};

class BrokenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::uint16_t> features;
    full_writer(kTinyShape, features).write(path_);
    sound_ = read_file(path_);
  }

  // True when the file opens; then everything in it can be used.
  bool opens() {
    try {
      const Trace trace(path_);
      statistics(trace, 0.4);
      (void)perplexity(trace);
      if (trace.has_features()) (void)trace.features_f16(trace.tokens() - 1, 0, 8).back();
      return true;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path_));
      EXPECT_FALSE(check_file(path_).empty());
      return false;
    }
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("trace");
  std::string sound_;
};

TEST_F(BrokenFile, CutAtEveryByteIsRefused) {
  ASSERT_TRUE(opens());
  for (std::size_t size = 0; size < sound_.size(); ++size) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(sound_.data(), static_cast<std::streamsize>(size));
    ASSERT_FALSE(opens()) << size;
  }
}

TEST_F(BrokenFile, FlippedBytesAreRefusedOrHarmless) {
  RandomStream random(3, "test.flip");
  for (std::size_t at = 0; at < sound_.size(); ++at) {
    std::string bytes = sound_;
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random.next_below(255)));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    opens();
  }
}

TEST_F(BrokenFile, ForeignFilesAreNamed) {
  write_file(path_, "Once upon a time there was a file that was no trace at all.");
  EXPECT_THAT(check_file(path_), Contains(HasSubstr("no safetensors file")));
  model::SafetensorsWriter other(path_, {{"weight", Dtype::kU8, {2}}}, {});
  other.append<std::uint8_t>("weight", std::vector<std::uint8_t>{1, 2});
  other.commit();
  const auto problems = check_file(path_);
  EXPECT_THAT(problems, Contains(HasSubstr("metadata 'format' is missing")));
  EXPECT_THAT(problems, Contains(HasSubstr("no tensor 'importance'")));
  EXPECT_THAT(problems, Contains(HasSubstr("tensor 'weight' is unknown")));
  EXPECT_THAT(check_file(folder_.file("nothing")), Contains(HasSubstr("nothing: cannot open")));
}

// A file of 2 tokens × 1 layer × 2 neurons with one thing changed.
struct Change {
  Metadata metadata = {};
  std::vector<float> levels = std::vector<float>(256, 1.0F);
  std::vector<std::int32_t> tokens = {1, 2};
  std::vector<float> nll = {std::nanf(""), 1};
  std::string importance_name = "importance";

  std::vector<std::string> problems(const std::string& path) const {
    Metadata all = to_metadata(small_info({.tokens = 2, .layers = 1, .hidden = 1, .ffn = 2}));
    for (const auto& [key, value] : metadata) all[key] = value;
    model::SafetensorsWriter file(
        path,
        {{"levels", Dtype::kF32, {1, static_cast<std::int64_t>(levels.size())}},
         {"tokens", Dtype::kI32, {static_cast<std::int64_t>(tokens.size())}},
         {"nll", Dtype::kF32, {static_cast<std::int64_t>(nll.size())}},
         {importance_name, Dtype::kU8, {2, 1, 2}}},
        all);
    file.append<float>("levels", levels);
    file.append<std::int32_t>("tokens", tokens);
    file.append<float>("nll", nll);
    file.append<std::uint8_t>(importance_name, std::vector<std::uint8_t>{1, 2, 3, 4});
    file.commit();
    return check_file(path);
  }
};

TEST_F(BrokenFile, EachMistakeIsSaidWithWhatWouldBeRight) {
  EXPECT_TRUE(Change{}.problems(path_).empty());
  Change change;
  change.levels[7] = 0.5F;
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("layer 0, code 7: 0.5 comes after 1")));
  change.levels[7] = -1;
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("'levels': value 7 is -1")));
  change = {.levels = std::vector<float>(255, 1.0F)};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("wanted F32 [1, 256]")));
  change = {.tokens = {1, 2, 3}};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("'tokens' is I32 [3], wanted I32 [2]")));
  change = {.tokens = {1, -2}};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("a vocabulary id ≥ 0")));
  change = {.nll = {0, 1}};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("nothing precedes token 0")));
  change = {.nll = {std::nanf(""), HUGE_VALF}};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("NaN where unknown")));
  change = {.importance_name = "importances"};
  EXPECT_THAT(change.problems(path_), Contains(HasSubstr("did you mean 'importance'")));
}

TEST_F(BrokenFile, AllMistakesAreListedAtOnce) {
  Change change{.metadata = {{"kind", "real"},
                             {"format_version", "2"},
                             {"upstream_density", "0"},
                             {"recall_density", "0.2"},
                             {"model.ffn", "3"}}};
  change.nll = {std::nanf(""), -1};
  const auto problems = change.problems(path_);
  EXPECT_THAT(problems, Contains(HasSubstr("'kind' is 'real'; it is 'recorded' or 'synthetic'")));
  EXPECT_THAT(problems, Contains(HasSubstr("this program reads version 1")));
  EXPECT_THAT(problems, Contains(HasSubstr("'upstream_density' is '0'")));
  EXPECT_THAT(problems, Contains(HasSubstr("tensor 'recall' is missing")));
  EXPECT_THAT(problems, Contains(HasSubstr("'importance' is U8 [2, 1, 2], wanted U8 [-1, 1, 3]")));
  EXPECT_THAT(problems, Contains(HasSubstr("'nll': value 1 is -1")));
  EXPECT_EQ(problems.size(), 6U);
}

TEST_F(BrokenFile, InfiniteFeaturesAreFoundByCheck) {
  std::vector<std::uint16_t> features;
  TraceWriter writer = full_writer(kTinyShape, features);
  features[((1 * 2 + 1) * kFeatures + 3) * 2 + 1] = 0x7C00;
  writer.write(path_);
  EXPECT_THAT(check_file(path_),
              testing::ElementsAre(HasSubstr("token 1, layer 1, feature 1, dimension 1")));
}

}  // namespace
}  // namespace leanstream::traces
