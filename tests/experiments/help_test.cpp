// What the command line says about itself, and the status of a word it does not know.
#include <map>

#include <gmock/gmock.h>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;

using HelpTest = ProgramTest;

TEST_F(HelpTest, EveryCommandNamesItsOptions) {
  const std::map<std::string, std::vector<std::string>> options{
      {"check", {"FILE"}},
      {"evaluate", {"--gguf", "--text", "--token-ids", "--density", "--json"}},
      {"list", {"KIND", "NAME", "--json"}},
      {"pack", {"MODEL", "--shape", "--weights", "--block-neurons", "--out", "--verify", "--json"}},
      {"record", {"--gguf", "--text", "--prompt", "--generate", "--out"}},
      {"report", {"DIR", "--out"}},
      {"run",
       {"EXPERIMENT", "key=value", "--backend", "--out", "--json", "--log-completions", "--log"}},
      {"sweep",
       {"EXPERIMENT", "key=value", "--backend", "--out", "--json", "--no-report", "--audit"}},
      {"trace", {"info", "check", "misses", "export"}}};
  const Ended program = run({"--help"});
  EXPECT_EQ(program.status, 0);
  for (const auto& [command, words] : options) {
    EXPECT_THAT(program.out, HasSubstr("\n  " + command + " "));
    const Ended ended = run({command, "--help"});
    EXPECT_EQ(ended.status, 0) << command;
    EXPECT_EQ(ended.err, "") << command;
    for (const auto& word : words) EXPECT_THAT(ended.out, HasSubstr(word)) << command;
  }
}

// Options whose values are words show the words, not the numbers that stand for them.
TEST_F(HelpTest, ChoicesAreWords) {
  const Ended help = run({"trace", "misses", "--help"});
  EXPECT_THAT(help.out, HasSubstr("{shared,even,by_miss_curve}=shared"));
  EXPECT_THAT(help.out, HasSubstr("{set,access}=set"));
  EXPECT_THAT(run({"trace", "export", "--help"}).out,
              HasSubstr("{oracleGeneral,csv}=oracleGeneral"));
  EXPECT_THAT(run({"train", "placement", "--help"}).out,
              HasSubstr("{embedding,frequency,pairwise}=embedding"));
  const Ended ended = run({"trace", "misses", "tiny.safetensors", "--scope", "evn"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("evn not in {shared,even,by_miss_curve}"));
}

TEST_F(HelpTest, RunListsTheParametersOfAnExperiment) {
  const std::string text = run({"run", "--help"}).out;
  for (const char* name : {"memory_budget", "prompt_tokens", "system_changes", "density"}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
  EXPECT_THAT(text, HasSubstr("1 … 64"));  // the range of block_neurons
}

TEST_F(HelpTest, UnknownWordsAreTheUsersError) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"swep", "sweep.yaml"},
                                             {"sweep"},
                                             {"check"},
                                             {"sweep", "sweep.yaml", "--no-such-option"},
                                             {"list", "frogs"},
                                             {"list", "systems", "leanstrem"},
                                             {"trace"},
                                             {"trace", "no-such-command"}}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(words);
    EXPECT_EQ(ended.out, "") << testing::PrintToString(words);
    EXPECT_NE(ended.err, "") << testing::PrintToString(words);
  }
  EXPECT_THAT(run({"list", "systems", "leanstrem"}).err, HasSubstr("did you mean 'leanstream'?"));
  EXPECT_THAT(run({"swep", "sweep.yaml"}).err, HasSubstr("did you mean 'sweep'?"));
}

TEST_F(HelpTest, ListsAreTablesOrJson) {
  for (const char* kind : {"models", "platforms", "systems", "policies", "metrics"}) {
    EXPECT_EQ(run({"list", kind}).status, 0) << kind;
    EXPECT_THAT(run({"list", kind, "--json"}).out, testing::StartsWith("[")) << kind;
  }
}

}  // namespace
}  // namespace leanstream::experiments
