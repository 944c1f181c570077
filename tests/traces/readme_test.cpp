// A file made byte by byte from traces/README.md, without the writer and without its JSON library.
#include <cmath>
#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "tests/traces/small_trace.h"
#include "traces/statistics.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

template <typename T>
void append(std::string& bytes, const std::vector<T>& values) {
  const std::size_t at = bytes.size();
  bytes.resize(at + values.size() * sizeof(T));
  std::memcpy(bytes.data() + at, values.data(), values.size() * sizeof(T));
}

// 3 tokens, 1 layer, 4 neurons, 2 dimensions.
std::string hand_made() {
  std::string head =
      R"({"__metadata__": {"format": "leanstream-trace", "format_version": "1",)"
      R"( "kind": "recorded", "model.name": "by hand", "model.layers": "1",)"
      R"( "model.hidden": "2", "model.ffn": "4", "units": "README", "source": "a text",)"
      R"( "upstream_density": "0.7", "recall_density": "0.25", "tool": "an editor",)"
      R"( "a key of tomorrow": "?"},)"
      R"( "levels": {"dtype": "F32", "shape": [1, 256], "data_offsets": [0, 1024]},)"
      R"( "tokens": {"dtype": "I32", "shape": [3], "data_offsets": [1024, 1036]},)"
      R"( "nll": {"dtype": "F32", "shape": [3], "data_offsets": [1036, 1048]},)"
      R"( "recall": {"dtype": "F32", "shape": [1, 11], "data_offsets": [1048, 1092]},)"
      R"( "features": {"dtype": "F16", "shape": [3, 1, 11, 2], "data_offsets": [1092, 1224]},)"
      R"( "importance": {"dtype": "U8", "shape": [3, 1, 4], "data_offsets": [1224, 1236]}})";
  head.append((8 - head.size() % 8) % 8, ' ');
  std::string bytes;
  append<std::uint64_t>(bytes, {head.size()});
  bytes += head;
  std::vector<float> levels;
  for (int c = 0; c < 256; ++c) levels.push_back(static_cast<float>(c) / 4);
  append(bytes, levels);
  append<std::int32_t>(bytes, {11, 12, 13});
  append<float>(bytes, {std::nanf(""), std::log(2.0F), std::log(8.0F)});
  std::vector<float> recall(11, 0.5F);
  recall[1] = 1;
  append(bytes, recall);
  std::vector<std::uint16_t> features(66, 0x3800);  // 0.5
  features[(2 * 11 + 10) * 2 + 1] = 0x4000;         // token 2, feature 8, dimension 1
  append(bytes, features);
  append<std::uint8_t>(bytes, {200, 10, 0, 30, 1, 100, 0, 50, 4, 3, 2, 1});
  return bytes;
}

TEST(Readme, AFileMadeByHandIsATrace) {
  const TemporaryFolder folder;
  write_file(folder.file("t"), hand_made());
  EXPECT_THAT(check_file(folder.file("t")), testing::IsEmpty());
  const Trace trace(folder.file("t"));
  EXPECT_EQ(trace.info().kind, TraceKind::kRecorded);
  EXPECT_EQ(trace.info().upstream_density, 0.7);
  EXPECT_EQ(trace.token_ids()[1], 12);
  EXPECT_THAT(trace.importance(1, 0), testing::ElementsAre(1, 100, 0, 50));
  EXPECT_EQ(trace.levels(0)[100], 25);
  EXPECT_EQ(trace.recall(0, -1), 1);
  EXPECT_EQ(trace.features_f16(2, 0, 8)[1], 0x4000);
  EXPECT_NEAR(*perplexity(trace), 4, 1e-5);
  const Statistics s = statistics(trace, 0.5);
  EXPECT_NEAR(s.importance_share, (230.0 / 240 + 150.0 / 151 + 7.0 / 10) / 3, 1e-9);
  EXPECT_NEAR(s.overlap, (0.5 + 0.5) / 2, 1e-9);
}

TEST(Readme, MisalignedFeaturesAreExplained) {
  const TemporaryFolder folder;
  std::string bytes = hand_made();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  ++length;
  std::memcpy(bytes.data(), &length, 8);
  bytes.insert(8 + length - 1, " ");
  write_file(folder.file("t"), bytes);
  EXPECT_THAT(check_file(folder.file("t")),
              testing::ElementsAre(testing::HasSubstr("pad the header with spaces")));
}

}  // namespace
}  // namespace leanstream::traces
