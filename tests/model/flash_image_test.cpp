#include "engine/model/flash_image.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/base/random.h"

namespace leanstream::model {
namespace {

using testing::HasSubstr;

class FlashImageTest : public testing::Test {
 protected:
  FlashImageTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("leanstream_image_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FlashImageTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // What opening a file is refused with; "" when it is not.
  std::string refusal(const std::string& name) const {
    try {
      const FlashImage image(path(name));
      return "";
    } catch (const UserError& error) {
      return error.what();
    }
  }
  std::string refusal_of(const std::string& bytes) const {
    write_file(path("changed"), bytes);
    return refusal("changed");
  }

 private:
  std::filesystem::path folder_;
};

// Three layers of 10 neurons in blocks of 4: the last has 2.
FlashImageInfo small_info(bool with_orders) {
  FlashImageInfo info;
  info.shape = {"small", 3, 8, 10, 2, 1, 50, true};
  info.weights = {"F16", "F16", "Q8_0", true, "a reason"};
  info.geometry = cut_into_blocks(10, 4, 500, 512);
  info.logical_block_bytes = 512;
  info.placement = with_orders ? "frequency" : "identity";
  info.placement_source = "trace t";
  info.source = "small \xc3\xa9.gguf";
  info.source_hash = "00ff";
  info.seed = ~std::uint64_t{0};
  info.tool = "tests 1";
  for (int l = 0; with_orders && l < 3; ++l) {
    auto& order = info.orders.emplace_back(10);
    std::iota(order.rbegin(), order.rend(), 0);
    std::swap(order[0], order[static_cast<std::size_t>(l)]);
  }
  return info;
}

std::vector<std::byte> block_of(std::int64_t index) {
  std::vector<std::byte> block(512);
  RandomStream random(static_cast<std::uint64_t>(index), "tests.flash_image");
  for (auto& byte : block) byte = static_cast<std::byte>(random.next_u64());
  return block;
}

std::string write_small(const std::string& path, bool with_orders) {
  FlashImageWriter writer(path, small_info(with_orders));
  for (std::int64_t i = 0; i < 9; ++i) writer.append(block_of(i));
  writer.commit();
  return read_file(path);
}

// With the checksum that belongs to a changed header.
std::string resealed(std::string bytes) {
  std::uint64_t data = 0, zero = 0;
  std::memcpy(&data, bytes.data() + 16, sizeof data);
  std::memcpy(bytes.data() + 24, &zero, sizeof zero);
  const std::uint64_t sum = hash64(std::as_bytes(std::span(bytes)).first(data));
  std::memcpy(bytes.data() + 24, &sum, sizeof sum);
  return bytes;
}

// Of equal length, so that nothing moves.
std::string replaced(std::string bytes, const std::string& from, std::string to) {
  const auto at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_LE(to.size(), from.size());
  to.resize(from.size(), ' ');
  return resealed(bytes.replace(at, from.size(), to));
}

TEST_F(FlashImageTest, HoldsWhatWasWritten) {
  for (const bool with_orders : {false, true}) {
    const std::string bytes = write_small(path("image"), with_orders);
    const FlashImage image(path("image"));
    const FlashImageInfo wanted = small_info(with_orders);
    const FlashImageInfo& info = image.info();
    EXPECT_EQ(info.shape.name, "small");
    EXPECT_EQ(std::tuple(info.shape.layers, info.shape.hidden, info.shape.ffn),
              std::tuple(3, 8, 10));
    EXPECT_EQ(std::tuple(info.shape.heads, info.shape.kv_heads, info.shape.vocab),
              std::tuple(2, 1, 50));
    EXPECT_TRUE(info.shape.tied_embeddings);
    EXPECT_DOUBLE_EQ(info.shape.bundle_bytes(), 125);
    EXPECT_EQ(
        std::tie(info.weights.gate, info.weights.up, info.weights.down, info.weights.note),
        std::tie(wanted.weights.gate, wanted.weights.up, wanted.weights.down, wanted.weights.note));
    EXPECT_TRUE(info.weights.down_in_groups);
    EXPECT_EQ(info.geometry.blocks_per_layer, 3);
    EXPECT_EQ(info.geometry.neurons(2), 2);
    EXPECT_EQ(info.geometry.useful_block_bytes, 500);
    EXPECT_EQ(info.geometry.block_bytes, 512u);
    EXPECT_EQ(info.logical_block_bytes, 512u);
    EXPECT_EQ(std::tie(info.placement, info.placement_source, info.source, info.source_hash,
                       info.seed, info.tool),
              std::tie(wanted.placement, wanted.placement_source, wanted.source, wanted.source_hash,
                       wanted.seed, wanted.tool));
    EXPECT_EQ(info.orders, wanted.orders);
    EXPECT_DOUBLE_EQ(info.read_amplification(), 3 * 512 / 1250.0);
    EXPECT_EQ(image.data_offset() % 4096, 0u);
    EXPECT_EQ(bytes.size(), image.bytes());
    for (std::int64_t i = 0; i < 9; ++i) {
      const auto layer = static_cast<LayerId>(i / 3);
      const auto block = static_cast<BlockId>(i % 3);
      const auto stored = std::as_bytes(std::span(bytes)).subspan(image.offset(layer, block), 512);
      EXPECT_TRUE(std::ranges::equal(stored, block_of(i)));
      EXPECT_EQ(image.checksum(layer, block), hash64(stored));
    }
    std::vector<std::int32_t> scratch;
    EXPECT_THAT(info.neurons(1, 2, scratch),
                testing::ElementsAre(with_orders ? 1 : 8, with_orders ? 0 : 9));
  }
}

TEST_F(FlashImageTest, EveryCutIsRefused) {
  const std::string whole = write_small(path("image"), true);
  EXPECT_EQ(refusal("image"), "");
  EXPECT_THAT(refusal_of(whole + "x"), HasSubstr("the image has 8704 bytes, the file 8705"));
  for (std::size_t bytes = whole.size() - 1; bytes > 4096; bytes -= 101) {
    std::filesystem::resize_file(path("image"), bytes);
    EXPECT_THAT(refusal("image"),
                HasSubstr("truncated: the image has 8704 bytes, " + std::to_string(bytes)));
  }
  for (std::size_t bytes = 4096; bytes-- > 0;) {
    std::filesystem::resize_file(path("image"), bytes);
    EXPECT_THAT(refusal("image"), HasSubstr(bytes < 8 ? "no flash image" : "truncated")) << bytes;
  }
}

TEST_F(FlashImageTest, EveryFlippedByteOfTheHeaderIsFound) {
  const std::string whole = write_small(path("image"), true);
  std::fstream file(path("image"), std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
  };
  for (std::size_t at = 0; at < 4096; ++at) {
    put(at, static_cast<char>(whole[at] ^ 1 << at % 8));
    const std::string message = refusal("image");
    if (at < 8) {
      EXPECT_THAT(message, HasSubstr("no flash image"));
    } else if (at < 12) {
      EXPECT_THAT(message, HasSubstr("this program reads version 1"));
    } else if (at >= 24) {
      EXPECT_THAT(message, HasSubstr("the header is damaged: its checksum is wrong")) << at;
    } else {
      EXPECT_NE(message, "") << at;
    }
    put(at, whole[at]);
  }
  EXPECT_EQ(refusal("image"), "");
}

TEST_F(FlashImageTest, DamagedBlocksAreFound) {
  std::string bytes = write_small(path("image"), false);
  const auto bad = [&] {
    const FlashImage image(path("image"));
    std::vector<std::pair<LayerId, BlockId>> out;
    LayerId layers = 0;
    for (const BadBlock& b : find_bad_blocks(image, [&](LayerId done) { layers = done; })) {
      out.emplace_back(b.layer, b.block);
    }
    EXPECT_EQ(layers, 3);
    return out;
  };
  EXPECT_THAT(bad(), testing::IsEmpty());
  const FlashImage image(path("image"));
  for (const auto& [layer, block, within] :
       {std::tuple(0, 1, 0u), std::tuple(1, 0, 511u), std::tuple(2, 2, 256u)}) {
    char& byte = bytes[image.offset(layer, block) + within];
    byte = static_cast<char>(byte ^ 4);
  }
  write_file(path("image"), bytes);
  EXPECT_THAT(bad(), testing::ElementsAre(std::pair(0, 1), std::pair(1, 0), std::pair(2, 2)));
  // Cut after it was opened: what is not there cannot be read.
  std::filesystem::resize_file(path("image"), image.offset(2, 1));
  const auto cut = find_bad_blocks(image, [](LayerId) {});
  ASSERT_EQ(cut.size(), 4u);
  EXPECT_EQ(cut[2].layer, 2);
  EXPECT_EQ(cut[2].block, 1);
}

TEST_F(FlashImageTest, AWholeHeaderIsNotTrusted) {
  const std::string whole = write_small(path("image"), true);
  const auto refused = [&](const std::string& from, const std::string& to) {
    return refusal_of(replaced(whole, from, to));
  };
  EXPECT_THAT(refused("\"layers\":3", "\"layers\":0"), HasSubstr("model.layers cannot be 0"));
  EXPECT_THAT(refused("\"layers\":3", "\"layerz\":3"), HasSubstr("model.layers cannot be missing"));
  EXPECT_THAT(refused("\"ffn\":10", "\"ffn\":\"\""), HasSubstr("model.ffn cannot be \"\""));
  EXPECT_THAT(refused("{\"model\"", "[\"model\""), HasSubstr("model.name cannot be missing"));
  EXPECT_THAT(refused("_bytes\":500", "_bytes\":513"),
              HasSubstr("blocks.block_bytes cannot be 512"));
  EXPECT_THAT(refused("_block_bytes\":512}", "_block_bytes\":999}"),
              HasSubstr("blocks.logical_block_bytes cannot be 999"));
  EXPECT_THAT(refused("\"block_neurons\":4", "\"block_neurons\":0"),
              HasSubstr("blocks.block_neurons cannot be 0"));
  const std::string order{"\x09\0\0\0\x08\0\0\0", 8};
  EXPECT_THAT(refused(order, std::string("\x09\0\0\0\x09\0\0\0", 8)),
              HasSubstr("the order of layer 0 is no permutation: neuron 9"));
  EXPECT_THAT(refused(order, std::string("\x09\0\0\0\x0a\0\0\0", 8)),
              HasSubstr("the order of layer 0 is no permutation: neuron 10"));
  std::string longer = whole;
  longer.insert(4096, 4096, '\0');
  longer[17] = 0x20;  // the data begin at 0x2000
  EXPECT_THAT(refusal_of(resealed(longer)),
              HasSubstr("the header has 8192 bytes; for what it says it needs 4096"));
}

}  // namespace
}  // namespace leanstream::model
