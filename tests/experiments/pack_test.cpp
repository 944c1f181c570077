// leanstream pack: images from a model file and from a shape, their check, and what is left behind
// when something goes wrong.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/model/flash_image.h"
#include "engine/transformer/image_layout.h"
#include "tests/experiments/program.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::experiments {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PackTest : public ProgramTest {
 protected:
  void write_model(transformer::TensorType type) {
    write("model.gguf", transformer::tiny_model({type}));
  }
  json packed(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pack");
    arguments.insert(arguments.end(), {"--out", "image", "--json"});
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.status == 0 ? json::parse(ended.out) : json();
  }
  std::string refused(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pack");
    const auto before = visible_files();
    const Ended ended = run(arguments);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(visible_files(), before) << "nothing is left behind";
    return ended.err;
  }
  // Without those that hold the program's output.
  std::vector<std::string> visible_files() const {
    auto names = files("");
    std::erase_if(names, [](const std::string& name) { return name.front() == '.'; });
    return names;
  }
  void flip(std::uint64_t offset) const {
    std::fstream file(path("image"), std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(offset);
    const auto byte = static_cast<char>(file.seekg(at).get());
    file.seekp(at).put(static_cast<char>(byte ^ 16));
  }
};

TEST_F(PackTest, AModelFileAsItIs) {
  write_model(transformer::TensorType::kQ4_1);
  const json one = packed({"model.gguf", "--logical-block", "512"});
  EXPECT_EQ(one.at("weights").at("down"), "F32");
  EXPECT_THAT(one.at("weights").at("note").get<std::string>(), HasSubstr("32 neighbouring"));
  // Two rows of 64 weights of 5 bits, 40 bytes each, and a column of 256 bytes.
  EXPECT_EQ(one.at("useful_block_bytes"), 336);
  EXPECT_EQ(one.at("block_bytes"), 512);
  EXPECT_DOUBLE_EQ(one.at("read_amplification"), 512 / 336.0);
  const json groups = packed({"model.gguf", "--block-neurons", "32", "--logical-block", "512"});
  EXPECT_EQ(groups.at("weights").at("down"), "Q4_1");
  EXPECT_EQ(groups.at("weights").at("down_in_groups"), true);
  EXPECT_EQ(groups.at("weights").at("note"), "");
  EXPECT_EQ(groups.at("useful_block_bytes"), 3 * 32 * 40);
  const model::FlashImage image(path("image"));
  EXPECT_EQ(image.info().shape.name, "model");
  EXPECT_EQ(image.info().shape.vocab, 263);
  EXPECT_TRUE(image.info().shape.tied_embeddings);
  EXPECT_EQ(image.info().source, "model.gguf");
  EXPECT_EQ(image.info().source_hash.size(), 32u);
  EXPECT_EQ(image.bytes(), groups.at("bytes"));
  EXPECT_TRUE(transformer::image_layout(image).down_in_groups);
  const Ended table = run({"pack", "model.gguf", "--out", "image", "--weights", "q8_0"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("gate Q8_0, up Q8_0, down Q8_0"));
  EXPECT_THAT(table.out, HasSubstr("read_amplification"));
  EXPECT_EQ(run({"pack", "--verify", "image"}).status, 0);
}

// A neuron takes 3 · 64 · 2 = 384 bytes: four of them fill three logical blocks of 512.
TEST_F(PackTest, SuggestsTheBlockThatWastesLeast) {
  const json a =
      packed({"--shape", "./tiny.yaml", "--logical-block", "512", "--block-neurons", "5"});
  EXPECT_EQ(a.at("source"), "random weights");
  EXPECT_EQ(a.at("suggested_block_neurons"), 4);
  std::vector<std::pair<int, double>> rows;
  for (const auto& row : a.at("by_block_neurons")) {
    rows.emplace_back(row.at("block_neurons"), row.at("read_amplification"));
  }
  // 20 blocks of 5 neurons take 4 · 512 bytes each, the last for one neuron.
  EXPECT_THAT(rows, testing::ElementsAre(std::pair(1, 512 / 384.0), std::pair(4, 1.0),
                                         std::pair(5, 20 * 2048 / (96 * 384.0))));
  EXPECT_DOUBLE_EQ(a.at("read_amplification"), 20 * 2048 / (96 * 384.0));
}

TEST_F(PackTest, APlacementOrdersTheNeurons) {
  const json a = packed({"--shape", "./tiny.yaml", "--layers", "3", "--placement", "frequency",
                         "--trace", "tiny.safetensors", "--prompt-tokens", "9"});
  EXPECT_EQ(a.at("placement"), "frequency");
  const model::FlashImage placed(path("image"));
  ASSERT_EQ(placed.info().orders.size(), 3u);
  EXPECT_NE(placed.info().orders[0], placed.info().orders[1]);
  EXPECT_THAT(placed.info().placement_source, HasSubstr("tiny.safetensors, 9 tokens"));
  // The same weights in another order: what lies where is the only difference.
  std::vector<std::vector<std::uint64_t>> sums(3, std::vector<std::uint64_t>(96));
  for (LayerId l = 0; l < 3; ++l) {
    for (BlockId p = 0; p < 96; ++p) {
      const auto j = static_cast<std::size_t>(placed.info().order(l)[static_cast<std::size_t>(p)]);
      sums[static_cast<std::size_t>(l)][j] = placed.checksum(l, p);
    }
  }
  packed({"--shape", "./tiny.yaml"});
  const model::FlashImage own(path("image"));
  for (LayerId l = 0; l < 3; ++l) {
    for (BlockId b = 0; b < 96; ++b) {
      ASSERT_EQ(own.checksum(l, b), sums[static_cast<std::size_t>(l)][static_cast<std::size_t>(b)]);
    }
  }
}

TEST_F(PackTest, VerifyNamesTheBlocksThatAreDamaged) {
  packed({"--shape", "./tiny.yaml", "--weights", "q8_0", "--block-neurons", "10"});
  const Ended sound = run({"pack", "--verify", "image"});
  EXPECT_EQ(sound.status, 0);
  EXPECT_EQ(sound.out, "image: ok, 40 blocks of tiny\n");
  const model::FlashImage image(path("image"));
  flip(image.offset(1, 9) + 7);
  flip(image.offset(3, 0) + image.info().geometry.block_bytes - 1);
  const Ended damaged = run({"pack", "--verify", "image"});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_EQ(damaged.err,
            "image: 2 of 40 blocks do not have their checksum: layer 1 block 9, layer "
            "3 block 0\n");
  const json as_json = json::parse(run({"pack", "--verify", "image", "--json"}).out);
  EXPECT_EQ(as_json.at("bad_blocks"), 2);
  EXPECT_EQ(as_json.at("first_bad_blocks")[0].at("block"), 9);
  std::filesystem::resize_file(path("image"), image.bytes() - 1);
  EXPECT_THAT(refused({"--verify", "image"}), HasSubstr("image: truncated"));
  flip(40);
  EXPECT_THAT(refused({"--verify", "image"}), HasSubstr("the header is damaged"));
  EXPECT_THAT(refused({"--verify", "tiny.yaml"}), HasSubstr("no flash image"));
}

TEST_F(PackTest, WhatIsWrongIsSaid) {
  write_model(transformer::TensorType::kF16);
  const std::vector<std::string> shape{"--shape", "./tiny.yaml", "--out", "image"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), shape.begin(), shape.end());
    return refused(more);
  };
  EXPECT_THAT(refused({"--out", "image"}), HasSubstr("exactly one of MODEL.gguf, --shape"));
  EXPECT_THAT(refused({"--shape", "./tiny.yaml"}), HasSubstr("pack needs --out FILE"));
  EXPECT_THAT(refused({"model.gguf", "--out", "image", "--layers", "1"}),
              HasSubstr("needs --shape"));
  EXPECT_THAT(refused({"tiny.yaml", "--out", "image"}), HasSubstr("tiny.yaml"));
  EXPECT_THAT(refused({"model.gguf", "--out", "image", "--trace", "tiny.safetensors"}),
              HasSubstr("a trace of 4 layers of 96 neurons; the model has 2 of 96"));
  EXPECT_THAT(with({"model.gguf"}), HasSubstr("exactly one of"));
  EXPECT_THAT(with({"--weights", "as_is"}), HasSubstr("needs a MODEL.gguf"));
  EXPECT_THAT(with({"--weights", "q5_k"}), HasSubstr("q5_k"));
  EXPECT_THAT(with({"--layers", "5"}), HasSubstr("--layers 5: tiny has 4"));
  EXPECT_THAT(with({"--logical-block", "1000"}), HasSubstr("must be a power of two"));
  EXPECT_THAT(with({"--placement", "frequency"}), HasSubstr("needs --trace FILE"));
  EXPECT_THAT(with({"--placement", "frequent"}), HasSubstr("unknown placement policy"));
  EXPECT_THAT(refused({"--shape", "./tiny.yaml", "--out", "tiny.yaml/image"}),
              HasSubstr("tiny.yaml/image: cannot"));
}

// 256 layers of 4,096 neurons of 2²⁰ weights: 6.6 TB.
TEST_F(PackTest, ADiskThatIsTooSmallIsSaidBeforeTheFirstByte) {
  std::string huge = text("tiny.yaml");
  const auto change = [&](const std::string& from, const std::string& to) {
    huge.replace(huge.find(from), from.size(), to);
  };
  change("layers: 4", "layers: 256");
  change("hidden: 64", "hidden: 1048576");
  change("ffn: 96", "ffn: 4096");
  write("huge.yaml", huge);
  if (std::filesystem::space(path("")).available > 6'000'000'000'000) {
    GTEST_SKIP() << "the disk has room for it";
  }
  const std::string message = refused({"--shape", "./huge.yaml", "--out", "image"});
  EXPECT_THAT(message, HasSubstr("image: cannot take room for 65970"));
  EXPECT_THAT(message, HasSubstr("bytes are free there"));
}

TEST_F(PackTest, AKilledPackLeavesTheImageThatWasThere) {
  packed({"--shape", "./tiny.yaml"});
  const std::string before = text("image");
  std::string large = text("tiny.yaml");
  large.replace(large.find("layers: 4"), 9, "layers: 4096");
  large.replace(large.find("ffn: 96"), 7, "ffn: 1024");
  write("large.yaml", large);
  const auto names = visible_files();
  const pid_t program =
      start({"pack", "--shape", "./large.yaml", "--out", "image", "--block-neurons", "64"});
  // Bytes that it wrote so far, of 1.6 GB.
  const auto written = [&] {
    std::ifstream io("/proc/" + std::to_string(program) + "/io");
    std::string key;
    std::uint64_t value = 0;
    while (io >> key >> value && key != "wchar:") {
    }
    return key == "wchar:" ? value : 0;
  };
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (written() < 4'000'000 && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(written(), 4'000'000u);
  ::kill(program, SIGKILL);
  EXPECT_EQ(wait_for(program).status, 128 + SIGKILL);
  EXPECT_EQ(text("image"), before);
  EXPECT_EQ(run({"pack", "--verify", "image"}).status, 0);
  EXPECT_EQ(visible_files(), names);
}

}  // namespace
}  // namespace leanstream::experiments
