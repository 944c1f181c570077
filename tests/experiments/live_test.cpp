// Live runs through the command line: the model itself on the hardware world, against the model in
// f32. Where a test's folder has no O_DIRECT there is no hardware world, and no test.
#include <cmath>
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/backend/log_file.h"
#include "tests/experiments/program.h"
#include "tests/transformer/smollm2.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::experiments {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr const char* kModel = R"(kind: model
description: the tiny model of the tests
reference: none
layers: 2
hidden: 64
ffn: 96
heads: 4
kv_heads: 2
vocab: 263
tied_embeddings: true
bytes_per_weight: 2
)";

constexpr const char* kLive = R"(kind: experiment
name: live
platform: jetson-agx-orin
platform_changes: {flash: {logical_block: 4096 B}}
model: ./model.yaml
system: leanstream
activations: live
memory_budget: 60% of mlp
density: 40%
select: neurons
block_neurons: 1
hardware: {weights: model.gguf}
)";

constexpr const char* kText = "hello, hell, he said; she held the shell. The hello fell: hell!";

class LiveTest : public ProgramTest {
 protected:
  LiveTest() {
    write("model.yaml", kModel);
    write("live.yaml", kLive);
    write("text.txt", kText);
  }
  ~LiveTest() override { std::filesystem::remove(image_); }

  void SetUp() override {
    write("model.gguf", transformer::tiny_model({transformer::TensorType::kF16}));
    pack("model.gguf", 1);
    const Ended probe = live({"text=text.txt", "tokens=2"});
    if (probe.err.find("O_DIRECT") != std::string::npos) GTEST_SKIP() << probe.err;
  }

  // Beside the program: the test's folder may be memory.
  void pack(const std::string& gguf, int block_neurons) {
    const Ended ended =
        run({"pack", gguf, "--out", image_, "--block-neurons", std::to_string(block_neurons)});
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  Ended live(const Words& more, const std::string& out = "o") {
    Words words{"run", "live.yaml", "--backend=hardware", "hardware.image=" + image_, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::vector<double> nll(const std::string& file) const {
    const auto csv = table(file);
    std::vector<double> values;
    for (std::size_t i = 0; i < csv.rows.size(); ++i) {
      EXPECT_EQ(csv.number(i, "token"), static_cast<double>(i + 1));
      values.push_back(csv.number(i, "nll").value_or(NAN));
    }
    return values;
  }
  // The largest difference of two tables of likelihoods.
  double nll_difference(const std::string& a, const std::string& b) const {
    const auto x = nll(a), y = nll(b);
    EXPECT_EQ(x.size(), y.size());
    EXPECT_FALSE(x.empty());
    double most = 0;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      most = std::max(most, std::abs(x[i] - y[i]));
    }
    return most;
  }

  std::string image_ =
      (std::filesystem::current_path() / fmt::format("live-test-{}.image", ::getpid())).string();
};

TEST_F(LiveTest, ATextsLikelihoodIsTheModelsAtAnyBudget) {
  ASSERT_EQ(
      run({"evaluate", "--gguf", "model.gguf", "--text", "text.txt", "--save-nll", "e.csv"}).status,
      0);
  const std::vector<Words> systems{
      {"system=dense", "memory_budget=100% of mlp"},  // two layers of two are what it needs
      {"system_changes.predictor=all", "memory_budget=100% of mlp"},
      {"system_changes.predictor=all", "memory_budget=85% of mlp"}};
  for (const Words& system : systems) {
    for (const int prompt : {0, 1, 20}) {
      Words words = system;
      words.insert(words.end(),
                   {"text=text.txt", fmt::format("prompt_tokens={}", prompt), "density=100%"});
      const Ended ended = live(words);
      ASSERT_EQ(ended.status, 0) << ended.err;
      EXPECT_LT(nll_difference("e.csv", "o/nll.csv"), 1e-4);
      const auto values = nll("o/nll.csv");
      double sum = 0;
      const auto skipped = static_cast<std::size_t>(std::max(0, prompt - 1));
      for (std::size_t i = skipped; i < values.size(); ++i) sum += values[i];
      const double mean = sum / static_cast<double>(values.size() - skipped);
      EXPECT_NEAR(table("o/results.csv").number(0, "perplexity").value_or(0), std::exp(mean), 1e-9);
      EXPECT_FALSE(exists("o/text.txt"));
    }
  }
}

TEST_F(LiveTest, ForcedSetsAreWhatIsComputed) {
  const Words evaluate{"evaluate",      "--gguf",     "model.gguf", "--text",
                       "text.txt",      "--density",  "0.4",        "--save-sets",
                       "s.safetensors", "--save-nll", "e.csv"};
  ASSERT_EQ(run(evaluate).status, 0);
  const Words forced{"text=text.txt", "system_changes.predictor=oracle",
                     "forced_sets=s.safetensors"};
  ASSERT_EQ(live(forced).status, 0);
  EXPECT_LT(nll_difference("e.csv", "o/nll.csv"), 1e-4);
  EXPECT_EQ(table("o/results.csv").text(0, "importance_share"), "") << "nobody knows it";
  // Without them the sets are others, and so is the text's likelihood.
  ASSERT_EQ(live({"text=text.txt", "system_changes.predictor=previous_token"}).status, 0);
  EXPECT_GT(nll_difference("e.csv", "o/nll.csv"), 1e-2);
  write("short.txt", "hello");
  ASSERT_EQ(run({"evaluate", "--gguf", "model.gguf", "--text", "text.txt", "--limit", "5",
                 "--density", "0.4", "--save-sets", "five.safetensors"})
                .status,
            0);
  const Ended few = live({"text=text.txt", "forced_sets=five.safetensors"});
  EXPECT_THAT(few.err, HasSubstr("five.safetensors: sets of 5 tokens for "));
}

TEST_F(LiveTest, AnOracleChoosesBetterThanWhatWasBeforeAndAuditsSaySo) {
  const auto share = [&](const std::string& predictor, const std::string& every) {
    EXPECT_EQ(live({"text=text.txt", "prompt_tokens=8", "system_changes.predictor=" + predictor,
                    "audit_every=" + every})
                  .status,
              0);
    return table("o/results.csv").number(0, "importance_share");
  };
  const double oracle = share("oracle", "1").value_or(0);
  EXPECT_GT(oracle, share("previous_token", "1").value_or(1) + 0.1);
  EXPECT_GT(oracle, share("statistical", "1").value_or(1));
  const double some = share("oracle", "10").value_or(0);
  EXPECT_NEAR(some, oracle, 0.05);
  const auto tokens = table("o/tokens.csv");
  for (std::size_t i = 0; i < tokens.rows.size(); ++i) {
    EXPECT_EQ(tokens.text(i, "importance_share").empty(), i % 10 != 0) << i;
  }
  EXPECT_EQ(share("oracle", "0"), std::nullopt);
  EXPECT_THAT(text("o/facts.csv"), HasSubstr("shadow,"));
  EXPECT_THAT(text("o/manifest.json"), HasSubstr("those of speed do not"));
}

TEST_F(LiveTest, LogsReplayWithoutDeviceModelImageAndText) {
  const std::vector<Words> runs{
      {"text=text.txt", "prompt_tokens=9", "system_changes.predictor=oracle", "audit_every=3"},
      {"text=text.txt", "prompt_tokens=0"},
      {"prompt=hello", "tokens=40", "system=dejavu"},
      {"prompt=hello", "tokens=40", "system=leanstream_own_input", "sampling.temperature=1"},
      {"prompt=hell", "tokens=40", "system=powerinfer2", "chat=false"},
      {"prompt=hello", "tokens=40", "system=llm_in_a_flash", "memory_budget=80% of mlp"},
      {"text=text.txt", "prompt_tokens=9", "system=dense", "memory_budget=100% of mlp",
       "audit_every=5"}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Words words = runs[i];
    words.insert(words.end(), {"--log-completions", fmt::format("{}.log", i)});
    const Ended ended = live(words, fmt::format("o{}", i));
    ASSERT_EQ(ended.status, 0) << i << ended.err;
  }
  for (const char* gone : {"model.gguf", "text.txt"}) std::filesystem::remove(path(gone));
  std::filesystem::remove(image_);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Words words{"run",   "live.yaml", "--backend=replay", "--log", fmt::format("{}.log", i),
                "--out", "r"};
    words.insert(words.end(), runs[i].begin(), runs[i].end());
    const Ended ended = run(words);
    ASSERT_EQ(ended.status, 0) << i << ended.err;
    const std::string was = fmt::format("o{}/", i);
    auto expected = table(was + "results.csv");
    expected.rows[0][*expected.column("backend")] = "replay";
    EXPECT_EQ(text("r/results.csv"), expected.to_text());
    EXPECT_EQ(text("r/tokens.csv"), text(was + "tokens.csv"));
    ASSERT_EQ(exists("r/nll.csv"), exists(was + "nll.csv"));
    if (!exists("r/nll.csv")) continue;
    EXPECT_EQ(text("r/nll.csv"), text(was + "nll.csv"));
  }
  const Ended other = run({"run", "live.yaml", "--backend=replay", "--log", "2.log", "prompt=hell",
                           "tokens=40", "system=dejavu"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("experiment.prompt is hello in the log, hell now"));
}

TEST_F(LiveTest, AnAnswerStreamsAndIsTheModels) {
  const Words asked{"prompt=hello", "tokens=60", "system=dense", "memory_budget=100% of mlp"};
  const Ended ended = live(asked);
  ASSERT_EQ(ended.status, 0) << ended.err;
  const std::string answer = text("o/text.txt");
  ASSERT_THAT(answer, Not(IsEmpty()));
  EXPECT_THAT(ended.out, StartsWith(answer + "\n\n"));
  // As `record` generates it, with the same template.
  const Ended recorded = run({"record", "--gguf", "model.gguf", "--prompt", "hello", "--generate",
                              "30", "--no-recall", "--out", "t.safetensors"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const std::string said = recorded.out.substr(0, recorded.out.rfind("t.safetensors"));
  EXPECT_THAT(answer, StartsWith(said.substr(0, std::min<std::size_t>(said.size() - 1, 12))));
  EXPECT_EQ(table("o/results.csv").text(0, "perplexity"), "") << "of an answer";
  Words json = asked;
  json.push_back("--json");
  EXPECT_TRUE(nlohmann::json::accept(live(json).out));
  Words sampled = asked;
  sampled.push_back("sampling.temperature=2");
  ASSERT_EQ(live(sampled).status, 0);
  EXPECT_NE(text("o/text.txt"), answer);
}

TEST_F(LiveTest, WhatDoesNotGoTogetherIsSaid) {
  const auto refusal = [&](const Words& more) {
    const Ended ended = live(more, "none");
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(more);
    EXPECT_FALSE(exists("none"));
    return ended.err;
  };
  EXPECT_THAT(refusal({}), HasSubstr("needs either 'prompt'"));
  EXPECT_THAT(refusal({"prompt=a", "text=text.txt"}), HasSubstr("needs either 'prompt'"));
  EXPECT_THAT(refusal({"text=none.txt"}), HasSubstr("no text none.txt here"));
  EXPECT_THAT(refusal({"text=text.txt", "tokens=4000"}), HasSubstr(" tokens, not 4000"));
  EXPECT_THAT(refusal({"prompt=a", "tokens=4000"}), HasSubstr("the context of the model is 256"));
  EXPECT_THAT(refusal({"prompt=a", "tokens=3"}), HasSubstr("leaves nothing to decode"));
  EXPECT_THAT(refusal({"prompt=a", "hardware={}"}), HasSubstr("name its GGUF file"));
  EXPECT_THAT(refusal({"prompt=a", "forced_sets=s"}), HasSubstr("of the tokens of a 'text'"));
  EXPECT_THAT(refusal({"text=text.txt", "sampling.top_k=3"}), HasSubstr("those of 'text' are"));
  EXPECT_THAT(refusal({"prompt=a", "placement=frequency"}), HasSubstr("fitted on a recording"));
  EXPECT_THAT(refusal({"prompt=a", "system_changes.cache=belady"}),
              HasSubstr("it needs a recorded future"));
  EXPECT_THAT(refusal({"prompt=a", "system=clairvoyant_plan"}),
              HasSubstr("controller clairvoyant_plan: it needs a recorded future"));
  const Ended null = run({"run", "live.yaml", "--backend=null", "prompt=a"});
  EXPECT_EQ(null.status, 2);
  EXPECT_THAT(null.err, HasSubstr("which backend 'null' does not compute"));
  EXPECT_THAT(
      refusal({"activations=trace", "trace=tiny.safetensors", "model=./tiny.yaml", "prompt=a"}),
      HasSubstr("'prompt': only with activations: live"));
  EXPECT_THAT(refusal({"activations=trace"}), HasSubstr("'trace' is missing"));
  write("model.yaml", std::string(kModel).replace(std::string(kModel).find("96"), 2, "80"));
  EXPECT_THAT(refusal({"prompt=a"}), HasSubstr("the run is of"));
}

TEST_F(LiveTest, AnImageOfAnotherModelIsRefused) {
  write("other.gguf", transformer::tiny_model({transformer::TensorType::kF16, true, 2}));
  pack("other.gguf", 1);
  const Ended ended = live({"prompt=hello", "tokens=40"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("packed from other.gguf"), HasSubstr("model.gguf")));
}

// The real model; weights as they are.
class LiveSmolLm2Test : public LiveTest {
 protected:
  void SetUp() override {
    if (transformer::smollm2_path().empty()) GTEST_SKIP() << "needs SmolLM2 (see smollm2.h)";
    LiveTest::SetUp();
  }
  Ended smollm2(int block_neurons, const std::string& bytes_per_weight, Words more) {
    more.insert(
        more.end(),
        {"model=smollm2-135m", "hardware.weights=" + transformer::smollm2_path(),
         "text=" + std::string(LEANSTREAM_TEST_DATA) + "/texts/genesis.txt", "tokens=32",
         fmt::format("block_neurons={}", block_neurons), "bytes_per_weight=" + bytes_per_weight});
    return live(more);
  }
  void evaluate(Words more) {
    const Words first{"evaluate",
                      "--gguf",
                      transformer::smollm2_path(),
                      "--text",
                      std::string(LEANSTREAM_TEST_DATA) + "/texts/genesis.txt",
                      "--limit",
                      "32",
                      "--save-nll",
                      "e.csv"};
    more.insert(more.begin(), first.begin(), first.end());
    ASSERT_EQ(run(more).status, 0);
  }
};

TEST_F(LiveSmolLm2Test, EveryNeuronComputedIsTheModel) {
  evaluate({});
  pack(transformer::smollm2_path(), 32);
  for (const char* budget : {"memory_budget=100% of mlp", "memory_budget=30% of mlp"}) {
    for (const char* system : {"system=dense", "system_changes.predictor=all"}) {
      const Ended ended = smollm2(32, "0.625", {budget, system, "density=100%"});
      ASSERT_EQ(ended.status, 0) << ended.err;
      EXPECT_LT(nll_difference("e.csv", "o/nll.csv"), 2e-3) << budget << " " << system;
    }
  }
}

TEST_F(LiveSmolLm2Test, ForcedSetsAreEvaluates) {
  evaluate({"--density", "0.3", "--save-sets", "s.safetensors"});
  pack(transformer::smollm2_path(), 1);
  const Ended ended = smollm2(1, "1.75",
                              {"density=30%", "memory_budget=50% of mlp",
                               "system_changes.predictor=oracle", "forced_sets=s.safetensors"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_LT(nll_difference("e.csv", "o/nll.csv"), 2e-3);
}

}  // namespace
}  // namespace leanstream::experiments
