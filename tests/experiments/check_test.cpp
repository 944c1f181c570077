// leanstream check: every mistake of every file, each at its place.
#include <gmock/gmock.h>

#include "tests/experiments/program.h"

namespace leanstream::experiments {
namespace {

using testing::HasSubstr;
using testing::Not;

using CheckTest = ProgramTest;

TEST_F(CheckTest, GoodFilesAreOk) {
  write("own.yaml",
        "kind: system\ndescription: mine\npredictor: all\ncache: lru\n"
        "controller: {policy: static, omega_io: 2, omega_gpu: 2}\nloader: on_demand\n");
  const std::string root = LEANSTREAM_SOURCE_DIR;
  const Ended ended = run(
      {"check", "tiny.yaml", "sweep.yaml", "own.yaml", root + "/platforms/jetson-agx-orin.yaml"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "tiny.yaml: ok\nsweep.yaml: ok\nown.yaml: ok\n" + root +
                           "/platforms/jetson-agx-orin.yaml: ok\n");
}

TEST_F(CheckTest, AllMistakesAreReportedAtOnce) {
  write("bad.yaml", R"(kind: experiment
name: bad
nam: x
platform: jetson
model: ./tiny.yaml
system: leanstrem
trace: none.safetensors
prompt_tokens: -6
density: 130%
block_neurons: two
memory_budget: 75 percent
seed: 3
seed: 4
sweep:
  system: dense
  memory_budget: []
  densty: [1]
)");
  const Ended ended = run({"check", "tiny.yaml", "bad.yaml"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.out, "tiny.yaml: ok\n");
  for (const char* line :
       {"bad.yaml:3:1: error: unknown parameter 'nam'", "did you mean 'name'?",
        "bad.yaml:4:11: error: unknown platform 'jetson'; there are: jetson-agx-orin",
        "bad.yaml:6:9: error: unknown system 'leanstrem'", "did you mean 'leanstream'?",
        "bad.yaml:7:8: error: no trace none.safetensors",
        "bad.yaml:8:16: error: 'prompt_tokens' is -6; it must be 0 …",
        "bad.yaml:9:10: error: 'density' is '130%'",
        "bad.yaml:10:16: error: 'block_neurons' must be a whole number, not 'two'",
        "bad.yaml:11:16: error: 'memory_budget': 'percent' is not the unit of a size",
        "bad.yaml:13:1: error: 'seed' is given twice, first at bad.yaml:12:1",
        "bad.yaml:15:11: error: 'system' under 'sweep' is a list",
        "bad.yaml:16:18: error: 'memory_budget' under 'sweep' is a list",
        "bad.yaml:17:12: error: unknown parameter 'densty'", "did you mean 'density'?"}) {
    EXPECT_THAT(ended.err, HasSubstr(line));
  }
}

TEST_F(CheckTest, FaultsThatDoNotFitTogether) {
  write("bad.yaml", changed_sweep("", R"(
fidelity: requests
faults:
  read_error: 60%
  short_read: 50%
  late: 0.1
  stall_from: 1 s
  collapse_from: 2 s
  collapse_to: 1 s
  collapse_factor: 0
)"));
  const Ended ended = run({"check", "bad.yaml"});
  EXPECT_EQ(ended.status, 2);
  for (const char* text :
       {"'fidelity' cannot be 'requests'", "shares of all requests: 100% together",
        "it needs 'late_by'", "'stall_from' and 'stall_for' go together",
        "'collapse_factor' is '0'"}) {
    EXPECT_THAT(ended.err, HasSubstr(text));
  }
  EXPECT_EQ(ended.err.find("'stall_for'"), ended.err.rfind("'stall_for'")) << "once for all cells";
  write("bad.yaml",
        changed_sweep("",
                      "\nfaults: {collapse_from: 2 s, collapse_to: 1 s, collapse_factor: 0.5}\n"));
  EXPECT_THAT(run({"check", "bad.yaml"}).err,
              HasSubstr("'collapse_to' is not after 'collapse_from'"));
}

TEST_F(CheckTest, PoliciesAreChecked) {
  write("own.yaml",
        "kind: system\ndescription: mine\npredictor: all\ncache: {policy: lruu}\n"
        "controller: {policy: static, omega_io: 0}\nrefine: maybe\n");
  const Ended ended = run({"check", "own.yaml"});
  EXPECT_EQ(ended.status, 2);
  for (const char* line : {"own.yaml:1:1: error: 'loader' is missing",
                           "own.yaml:4:17: error: unknown cache policy 'lruu'",
                           "own.yaml:5:40: error: 'omega_io' is 0; it must be 1 … 256",
                           "own.yaml:6:9: error: 'refine' must be true or false"}) {
    EXPECT_THAT(ended.err, HasSubstr(line));
  }
}

TEST_F(CheckTest, OtherFilesAreNamed) {
  write("frog.yaml", "kind: frog\n");
  write("open.yaml", "a: [1,\nb: \"x");
  write("empty.yaml", "");
  write("binary.yaml", std::string("\x7f\x00\xff\x01{[", 6));
  const Ended ended =
      run({"check", "frog.yaml", "open.yaml", "empty.yaml", "binary.yaml", "none.yaml", "."});
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("frog.yaml:1:7: error: the file starts with 'kind: …'"));
  EXPECT_THAT(ended.err, HasSubstr("platform, model, system, experiment, fit; not 'frog'"));
  EXPECT_THAT(ended.err, HasSubstr("open.yaml:2:6: error: no valid YAML"));
  for (const char* name : {"empty.yaml", "binary.yaml", "none.yaml", ".: error"}) {
    EXPECT_THAT(ended.err, HasSubstr(name));
  }
}

TEST_F(CheckTest, AMissingModelIsOneMistake) {
  write("sweep.yaml", changed_sweep("./tiny.yaml", "./none.yaml"));
  const Ended ended = run({"check", "sweep.yaml"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("none.yaml: error: the file cannot be read"));
  EXPECT_THAT(ended.err, Not(HasSubstr("neurons"))) << "a second error that is only its echo";
}

}  // namespace
}  // namespace leanstream::experiments
