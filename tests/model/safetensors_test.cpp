#include "engine/model/safetensors.h"

#include <filesystem>
#include <numeric>
#include <unistd.h>

#include <gtest/gtest.h>

#include "engine/base/error.h"

namespace leanstream::model {
namespace {

class Safetensors : public testing::Test {
 protected:
  Safetensors() { std::filesystem::create_directories(folder_); }
  ~Safetensors() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // A file with this header text and this many data bytes.
  std::string raw(const std::string& header, std::size_t data_bytes) const {
    std::string text(8, '\0');
    const std::uint64_t length = header.size();
    std::memcpy(text.data(), &length, 8);
    write_file(path("raw"), text + header + std::string(data_bytes, 'x'));
    return path("raw");
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("leanstream_safetensors_" + std::to_string(::getpid()));
};

void write_sample(const std::string& path) {
  SafetensorsWriter writer(
      path, {{"a", Dtype::kF32, {2, 3}}, {"none", Dtype::kI32, {0, 7}}, {"b", Dtype::kU8, {5}}},
      {{"model", "tiny"}});
  const std::vector<float> first{1, 2}, rest{3, 4, 5, 6};
  writer.append<float>("a", first);
  writer.append<float>("a", rest);
  const std::vector<std::uint8_t> bytes{9, 8, 7, 6, 5};
  writer.append<std::uint8_t>("b", bytes);
  writer.commit();
}

TEST_F(Safetensors, ReadsWhatWasWritten) {
  write_sample(path("x"));
  const SafetensorsReader reader(path("x"));
  EXPECT_EQ(reader.metadata("model"), "tiny");
  EXPECT_THROW(reader.metadata("other"), UserError);
  const std::vector<std::int64_t> shape{-1, 3};
  const TensorInfo& a = reader.require("a", Dtype::kF32, shape);
  EXPECT_EQ(reader.read<float>(a), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  std::vector<float> part(2);
  reader.read<float>(a, 3, part);
  EXPECT_EQ(part, (std::vector<float>{4, 5}));
  EXPECT_EQ(reader.find("none")->elements(), 0);
  EXPECT_EQ(reader.read<std::uint8_t>(*reader.find("b")).back(), 5);
  EXPECT_THROW(reader.require("c", Dtype::kF32, shape), UserError);
  EXPECT_THROW(reader.require("a", Dtype::kU8, shape), UserError);
  EXPECT_THROW(reader.require("b", Dtype::kU8, shape), UserError);
}

TEST_F(Safetensors, ACutFileIsTheUsersError) {
  write_sample(path("x"));
  const std::string whole = read_file(path("x"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(path("cut"), whole.substr(0, size));
    EXPECT_THROW(SafetensorsReader{path("cut")}, UserError) << size;
  }
  write_file(path("cut"), whole + "x");
  EXPECT_THROW(SafetensorsReader{path("cut")}, UserError);
}

TEST_F(Safetensors, ADamagedFileNeverCrashes) {
  write_sample(path("x"));
  const std::string whole = read_file(path("x"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      write_file(path("bad"), damaged);
      try {
        const SafetensorsReader reader(path("bad"));
        for (const TensorInfo& tensor : reader.tensors()) {
          const auto bytes = reader.bytes(tensor);
          EXPECT_LE(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                                    [](std::size_t sum, std::byte b) {
                                      return sum + std::to_integer<std::size_t>(b);
                                    }),
                    bytes.size() * 255);
        }
      } catch (const UserError&) {
      }
    }
  }
}

TEST_F(Safetensors, WrongHeadersAreExplained) {
  const std::string good = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  EXPECT_NO_THROW(SafetensorsReader{raw(good, 4)});
  const std::vector<std::string> bad{
      "[]",
      R"({"a":1})",
      R"({"a":{"dtype":"F64","shape":[4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}})",
      R"({"a":{"dtype":"U8","shape":[9223372036854775807,3],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
      R"({"__metadata__":{"k":1},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
      std::string(100'000, '['),
  };
  for (const std::string& header : bad) {
    EXPECT_THROW(SafetensorsReader{raw(header, 4)}, UserError) << header.substr(0, 200);
  }
}

TEST_F(Safetensors, AWriterWithoutCommitLeavesNothing) {
  { SafetensorsWriter writer(path("half"), {{"a", Dtype::kU8, {1}}}, {}); }
  EXPECT_FALSE(std::filesystem::exists(path("half")));
}

TEST_F(Safetensors, WritingOutOfOrderIsOurBug) {
  SafetensorsWriter writer(path("x"), {{"a", Dtype::kU8, {1}}, {"b", Dtype::kU8, {1}}}, {});
  const std::vector<std::uint8_t> byte{1};
  EXPECT_EXIT(writer.append<std::uint8_t>("b", byte), testing::ExitedWithCode(70), "not the next");
  EXPECT_EXIT(writer.commit(), testing::ExitedWithCode(70), "misses 1 bytes");
}

}  // namespace
}  // namespace leanstream::model
