// Broken input of every kind: a message, status 2, and nothing written.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;

class BrokenInputTest : public ProgramTest {
 protected:
  // Expects `arguments` to be refused with all of `words` in the message.
  void refused(const std::vector<std::string>& arguments, const std::vector<std::string>& words) {
    const Ended ended = run(arguments);
    const std::string what = testing::PrintToString(arguments);
    EXPECT_EQ(ended.status, 2) << what;
    EXPECT_EQ(ended.out, "") << what;
    for (const auto& word : words) EXPECT_THAT(ended.err, HasSubstr(word)) << what;
    EXPECT_FALSE(exists("out")) << what;
  }
  void sweep_refused(const std::string& assignment, const std::vector<std::string>& words) {
    refused({"sweep", "sweep.yaml", assignment}, words);
  }
};

TEST_F(BrokenInputTest, Traces) {
  const std::string whole = text("tiny.safetensors");
  for (const std::size_t bytes : {0ul, 3ul, 8ul, 200ul, whole.size() / 2, whole.size() - 1}) {
    write("cut.safetensors", whole.substr(0, bytes));
    sweep_refused("trace=cut.safetensors", {"cut.safetensors: "});
  }
  for (const std::size_t at : {7ul, 8ul, 9ul}) {
    std::string flipped = whole;
    flipped[at] = '\x7f';
    write("flipped.safetensors", flipped);
    sweep_refused("trace=flipped.safetensors", {"flipped.safetensors: "});
  }
  sweep_refused("trace=none.safetensors", {"no trace none.safetensors"});
  sweep_refused("trace=.", {"not a regular file"});
  sweep_refused("trace=tiny.yaml", {"tiny.yaml"});
  sweep_refused(
      "model=smollm2-135m",
      {"sweep.yaml:7:8", "is of tiny (4 layers, hidden 64, ffn 96), not of smollm2-135m"});
}

TEST_F(BrokenInputTest, BudgetsThatAreTooSmall) {
  sweep_refused("memory_budget=0 B", {"out of range"});
  sweep_refused("memory_budget=120% of mlp", {"above 0%, at most 100%"});
  sweep_refused("memory_budget=50%", {"of mlp"});
  sweep_refused("memory_budget=1 kB",
                {"memory_budget=1 kB: error: system dense: ", "too small",
                 "system llm_in_a_flash: ", "system dejavu: ", "system leanstream: "});
}

TEST_F(BrokenInputTest, TheSmallestBudgetThatAMessageNamesWorks) {
  for (const char* system : {"dense", "llm_in_a_flash", "dejavu", "leanstream"}) {
    const std::string chosen = std::string("system=") + system;
    const std::string message = run({"run", "sweep.yaml", chosen, "memory_budget=1 B"}).err;
    const auto at = message.find(" blocks, ");  // "need 60 blocks, 61440 bytes"
    ASSERT_NE(at, std::string::npos) << message;
    const auto bytes = std::stoll(message.substr(at + 9));
    refused({"run", "sweep.yaml", chosen, "memory_budget=" + std::to_string(bytes - 1) + " B"},
            {" blocks, " + std::to_string(bytes) + " bytes"});
    const Ended smallest = run({"run", "sweep.yaml", chosen, "--out", "o",
                                "memory_budget=" + std::to_string(bytes) + " B"});
    EXPECT_EQ(smallest.status, 0) << system << ": " << smallest.err;
  }
}

TEST_F(BrokenInputTest, NamesThatDoNotExist) {
  sweep_refused("system=leanstrem", {"unknown system", "did you mean 'leanstream'?"});
  sweep_refused("platform=jetson", {"unknown platform", "jetson-agx-orin"});
  sweep_refused("model=tiny", {"unknown model", "smollm2-135m"});
  sweep_refused("densty=0.4", {"unknown parameter 'densty'", "did you mean 'density'?"});
  sweep_refused("system_changes.cache=lruu", {"unknown cache policy", "did you mean 'lru'?"});
  sweep_refused("system_changes.cach=lru", {"unknown parameter 'cach'", "did you mean 'cache'?"});
  sweep_refused("platform_changes.flash.bandwith=1 GB/s", {"did you mean 'bandwidth'?"});
  refused({"sweep", "sweep.yaml", "--backend=tpu"}, {"this build has no backend 'tpu'; it has: "});
  refused({"sweep", "sweep.yaml", "--backend=simm"}, {"did you mean 'sim'?"});
}

TEST_F(BrokenInputTest, ValuesThatDoNotFit) {
  sweep_refused("density=140%", {"'density' is '140%'"});
  sweep_refused("density", {"an assignment looks like name=value"});
  sweep_refused("prompt_tokens=24", {"leaves nothing to decode"});
  sweep_refused("tokens=25", {"has 24 tokens, not 25"});
  sweep_refused("seed=-1", {"'seed'"});
  sweep_refused("seed=[1, 2]", {"not a list"});
  sweep_refused("sweep=3", {"'sweep' is a map of lists"});
  sweep_refused("system_changes=3", {"'system_changes' is a map"});
  for (const char* name : {"name=../x", "name=a/b", "name=\"\"", "name=.."}) {
    sweep_refused(name, {"folder"});
  }
}

TEST_F(BrokenInputTest, ExperimentFiles) {
  write("open.yaml", "kind: experiment\nsweep: {a: [1,\n");
  write("tabs.yaml", "kind: experiment\n\tname: x\n");
  write("alias.yaml", "kind: experiment\nname: &a [*a]\n");
  write("empty.yaml", "");
  refused({"sweep", "open.yaml"}, {"open.yaml:", "no valid YAML"});
  refused({"sweep", "tabs.yaml"}, {"tabs.yaml:2:"});
  refused({"sweep", "alias.yaml"}, {"alias.yaml:2:"});
  refused({"sweep", "empty.yaml"}, {"empty.yaml:1:1"});
  refused({"sweep", "tiny.yaml"}, {"tiny.yaml:1:7", "not 'model'"});
  refused({"sweep", "none.yaml"}, {"none.yaml"});
  refused({"sweep", "."}, {".: "});
}

TEST_F(BrokenInputTest, OutputThatCannotBeWritten) {
  const Ended ended = run({"sweep", "sweep.yaml", "--out", "tiny.yaml"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("tiny.yaml/manifest.json"));
  EXPECT_THAT(text("tiny.yaml"), HasSubstr("kind: model"));
}

TEST_F(BrokenInputTest, ModelFiles) {
  const std::string model =
      std::string(LEANSTREAM_SOURCE_DIR) + "/build/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  std::vector<std::string> names{"none.gguf", "tiny.yaml", "tiny.safetensors"};
  write("magic.gguf", std::string("GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", 16));
  names.emplace_back("magic.gguf");
  if (std::filesystem::exists(model)) {
    for (const std::uintmax_t bytes : {1000ul, 1000'000ul, 3000'000ul}) {
      names.push_back("cut" + std::to_string(bytes) + ".gguf");
      std::filesystem::copy_file(model, path(names.back()));
      std::filesystem::resize_file(path(names.back()), bytes);
    }
  }
  for (const auto& name : names) {
    refused({"evaluate", "--gguf", name, "--text", "tiny.yaml"}, {name + ": "});
    refused({"record", "--gguf", name, "--text", "tiny.yaml", "--out", "r"}, {name + ": "});
    EXPECT_FALSE(exists("r")) << name;
  }
}

}  // namespace
}  // namespace leanstream::experiments
