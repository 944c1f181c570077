// Runs of the hardware world through the command line: they repeat from their logs, survive faults
// or end clearly, and what cannot run is said before anything is written.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/backend/log_file.h"
#include "engine/backend/world.h"
#include "engine/base/error.h"
#include "engine/model/flash_image.h"
#include "tests/experiments/program.h"
#include "tests/hardware/refuse_call.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::experiments {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

using Words = std::vector<std::string>;

// The small experiment with a flash image of its model. The image lies where the tests are started,
// which is the build's folder: others may be in memory, where nothing is read past the page cache.
class HardwareTest : public ProgramTest {
 protected:
  HardwareTest()
      : image_(std::filesystem::absolute(fmt::format("hardware-test-{}.image", ::getpid()))) {
    write("sweep.yaml", changed_sweep("", "tokens: 14\nhardware: {image: " + image_ +
                                              "}\nplatform_changes: {flash: {logical_block: "
                                              "4096 B}}\n"));
    pack({});
  }
  ~HardwareTest() override { std::filesystem::remove(image_); }

  void pack(const Words& more, const std::string& shape = "./tiny.yaml") {
    Words words{"pack", "--shape",         shape, "--block-neurons", "2", "--out",
                image_, "--logical-block", "4096"};
    for (std::size_t i = 0; i < more.size(); i += 2) {
      const auto known = std::ranges::find(words, more[i]);
      if (known == words.end()) {
        words.insert(words.end(), {more[i], more[i + 1]});
      } else {
        *std::next(known) = more[i + 1];
      }
    }
    const Ended ended = run(words);
    ASSERT_EQ(ended.status, 0) << ended.err;
  }

  static Words cell(const Words& more, const std::string& system = "leanstream",
                    const std::string& budget = "75% of mlp") {
    Words words{"run", "sweep.yaml", "system=" + system, "memory_budget=" + budget};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static Words on_hardware(const Words& more, const std::string& system = "leanstream",
                           const std::string& budget = "75% of mlp") {
    Words words = cell(more, system, budget);
    words.insert(words.end(), {"--backend=hardware", "--out", "o"});
    return words;
  }
  // Its results are those of the run, file by file.
  void expect_replay(const std::string& log, const std::string& system, const std::string& budget,
                     const Words& more = {}) {
    Words words = cell({"--backend=replay", "--log", log, "--out", "r"}, system, budget);
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 0) << ended.err;
    auto expected = table("o/results.csv");
    expected.rows[0][*expected.column("backend")] = "replay";
    EXPECT_EQ(text("r/results.csv"), expected.to_text());
    EXPECT_EQ(text("r/tokens.csv"), text("o/tokens.csv"));
  }
  std::string fact(const std::string& name) const {
    const auto facts = table("o/facts.csv");
    for (std::size_t row = 0; row < facts.rows.size(); ++row) {
      if (facts.text(row, "fact") == name) return facts.text(row, "value");
    }
    ADD_FAILURE() << "no fact " << name;
    return "";
  }
  double figure(const std::string& name) const { return std::stod(fact(name)); }

  // Refused, with nothing written.
  void refused(const Words& more, const testing::Matcher<const std::string&>& message) {
    Words words = on_hardware(more);
    words.insert(words.end(), {"--log-completions", "a.log"});
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(more);
    EXPECT_THAT(ended.err, message);
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
    EXPECT_FALSE(exists("o"));
    EXPECT_FALSE(exists("a.log"));
  }

  const std::string& image() const { return image_; }

 private:
  std::string image_;
};

bool has_world(const std::string& name) {
  return std::ranges::any_of(backend::worlds(), [&](const auto& w) { return w.name == name; });
}

TEST_F(HardwareTest, EverySystemRunsAndItsLogRepeatsTheRun) {
  const std::string folder = std::string(LEANSTREAM_SOURCE_DIR) + "/experiments/systems";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string system = file.path().stem().string();
    Words more;
    if (system == "clairvoyant_plan") {
      if (!has_world("sim")) continue;  // it searches there
      more = {"system_changes.controller.runs=4"};
    }
    if (system == "ripple") more = {"placement=identity"};  // that of the image
    for (const char* budget : {"75% of mlp", "100% of mlp"}) {
      SCOPED_TRACE(system + " at " + budget);
      Words words = on_hardware({"--log-completions", "a.log"}, system, budget);
      words.insert(words.end(), more.begin(), more.end());
      const Ended first = run(words);
      ASSERT_EQ(first.status, 0) << first.err;
      for (int i = 0; i < 2; ++i) expect_replay("a.log", system, budget, more);
    }
  }
}

TEST_F(HardwareTest, FactsNameTheDevicesAndTheirMemory) {
  ASSERT_EQ(run(on_hardware({"hardware.threads=2"})).status, 0);
  EXPECT_THAT(fact("storage"), HasSubstr("O_DIRECT"));
  EXPECT_EQ(fact("accelerator"), "cpu, 2 threads");
  EXPECT_EQ(figure("memory_bytes_cache"), 144 * 4096);
  double stated = 0;
  for (const char* part : {"cache", "resident", "predictor", "key/value cache", "activations",
                           "partial results", "image_header", "storage"}) {
    const bool may_be_nothing = part == std::string("predictor");  // of so small a model
    EXPECT_TRUE(figure(std::string("memory_bytes_") + part) > 0 || may_be_nothing) << part;
    stated += figure(std::string("memory_bytes_") + part);
  }
  EXPECT_EQ(figure("memory_bytes_stated"), stated);
  EXPECT_GT(figure("memory_bytes_process_growth"), 0);
  EXPECT_GE(figure("memory_bytes_process_growth_peak"), figure("memory_bytes_process_growth"));
}

TEST_F(HardwareTest, FaultsAreSurvivedAndTheLogRepeatsThem) {
  const std::vector<std::pair<Words, bool>> plans{
      {{"faults.read_error=5%"}, true},
      {{"faults.short_read=10%"}, true},
      {{"faults.late=30%", "faults.late_by=2 ms"}, false},
      {{"faults.stall_from=2 ms", "faults.stall_for=50 ms"}, false},
      {{"faults.collapse_from=0 ms", "faults.collapse_to=40 ms", "faults.collapse_factor=0.002"},
       false}};
  const std::string budget = "50% of mlp";  // hundreds of reads, of which some are sure to fail
  for (const auto& [plan, fails] : plans) {
    for (const char* system : {"llm_in_a_flash", "leanstream"}) {
      SCOPED_TRACE(plan.front() + ", " + system);
      Words words = on_hardware({"--log-completions", "a.log"}, system, budget);
      words.insert(words.end(), plan.begin(), plan.end());
      const Ended ended = run(words);
      ASSERT_EQ(ended.status, 0) << ended.err;
      // A short read of a single block has nothing left of it.
      EXPECT_EQ(figure("read_errors") + figure("short_reads") > 0, fails);
      expect_replay("a.log", system, budget, plan);
    }
  }
}

TEST_F(HardwareTest, WhatCannotGoOnEndsClearlyWithWhatThereIs) {
  const std::vector<std::pair<Words, const char*>> plans{
      {{"faults.read_error=100%"}, "could not be read 4 times"},
      {{"faults.stall_from=0 ms", "faults.stall_for=1 h", "stall_timeout=100 ms"},
       "no device answered within 0.1 s"},
      {{"faults.accelerator_dies=20 ms", "stall_timeout=100 ms", "faults.late=100%",
        "faults.late_by=1 ms"},
       "no device answered within 0.1 s"}};
  for (const auto& [plan, why] : plans) {
    SCOPED_TRACE(plan.front());
    Words words = on_hardware({"--log-completions", "a.log"}, "llm_in_a_flash");
    words.insert(words.end(), plan.begin(), plan.end());
    const Ended ended = run(words);
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr(why));
    const auto results = table("o/results.csv");
    EXPECT_THAT(results.text(0, "failure"), HasSubstr(why));
    EXPECT_EQ(results.text(0, "tokens_per_s"), "");
    EXPECT_THAT(fact("storage"), HasSubstr("faults of the run's plan"));
    EXPECT_TRUE(backend::read_through(path("a.log")).end) << "the log is whole";
  }
}

TEST_F(HardwareTest, ADamagedBlockIsNamedWhenReadsAreChecked) {
  const model::FlashImage packed(image());
  {
    std::fstream file(image(), std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(packed.offset(2, 17) + 100);
    const auto byte = static_cast<char>(file.seekg(at).get());
    file.seekp(at).put(static_cast<char>(byte ^ 1));
  }
  EXPECT_EQ(run(on_hardware({}, "dense")).status, 0) << "nobody looks";
  const Ended ended = run(on_hardware({"hardware.check_on_read=true"}, "dense"));
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("block 17 of layer 2 could not be read 4 times"));
  EXPECT_EQ(figure("checksum_failures"), 4);
  pack({});
  EXPECT_EQ(run(on_hardware({"hardware.check_on_read=true"}, "dense")).status, 0);
  EXPECT_EQ(figure("checksum_failures"), 0);
}

TEST_F(HardwareTest, WhatDoesNotFitIsSaidBeforeAnythingIsWritten) {
  refused({"hardware={}"}, HasSubstr("make one with 'leanstream pack' and name it"));
  refused({"hardware.image=none.image"},
          HasSubstr("none.image: cannot open: No such file or directory (make it with "));
  refused({"hardware.image=sweep.yaml"}, HasSubstr("sweep.yaml: no flash image"));
  refused({"hardware.storage=io_urnig"}, HasSubstr("did you mean 'io_uring'?"));
  refused({"hardware.accelerator=gpu"}, HasSubstr("no accelerator 'gpu'; it has: cpu"));
  refused({"hardware.weights=none.gguf"}, HasSubstr("none.gguf"));
  write("model.gguf", transformer::tiny_model());
  refused({"hardware.weights=model.gguf"},
          HasSubstr("model.gguf: 2 layers, hidden 64, ffn 96; the run is of tiny (4, 64, 96)"));
  refused({"block_neurons=4"}, HasSubstr("its blocks have 2 neurons, those of the run 4"));
  refused({"platform_changes.flash.logical_block=512 B"},
          HasSubstr("flash: {logical_block: 4096 B}"));
  refused({"placement=frequency"}, HasSubstr("its neurons lie by placement identity"));
  pack({"--layers", "2"});
  refused({}, HasSubstr("the image is of tiny (2 layers"));
  pack({});
  std::filesystem::resize_file(image(), std::filesystem::file_size(image()) - 4096);
  refused({}, HasSubstr("truncated"));
  if (::geteuid() != 0) {
    std::filesystem::permissions(image(), std::filesystem::perms::none);
    refused({}, HasSubstr("Permission denied"));
  }
}

TEST_F(HardwareTest, WithoutIoUringAnotherInterfaceIsTakenAndNamed) {
  bool refuses = false;
  Ended by_name, by_itself;
  std::thread([&] {
    refuses = hardware::refuse_call(SYS_io_uring_setup, EPERM);
    by_name = run(on_hardware({"hardware.storage=io_uring"}));
    by_itself = run(on_hardware({"hardware.storage=auto"}));
  }).join();
  if (!refuses) GTEST_SKIP() << "no system call can be refused here (seccomp)";
  EXPECT_EQ(by_name.status, 2);
  EXPECT_THAT(by_name.err, AllOf(HasSubstr("storage engine 'io_uring' cannot be used: "),
                                 HasSubstr("'auto' takes what works")));
  EXPECT_EQ(by_itself.status, 0) << by_itself.err;
  EXPECT_THAT(fact("storage"),
              AllOf(AnyOf(HasSubstr("libaio"), HasSubstr("pread")), HasSubstr("not io_uring: ")));
}

class KilledRunTest : public HardwareTest {
 protected:
  // A run far too long to end, whose log holds some of it.
  pid_t start_long_run() {
    const traces::SmallShape shape{2000, 4, 64, 96};
    traces::TraceWriter writer(traces::small_info(shape), shape.tokens);
    writer.set_importance(traces::random_importance(shape, 1));
    writer.write(path("long.safetensors"));
    const pid_t program =
        start(on_hardware({"--log-completions", "a.log", "trace=long.safetensors", "tokens=2000",
                           "faults.late=2%", "faults.late_by=10 ms"},
                          "llm_in_a_flash"));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (events_logged() == 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return program;
  }
  std::int64_t events_logged() const {
    std::error_code none;
    if (std::filesystem::file_size(path("a.log"), none) == 0 || none) return 0;
    try {
      return backend::read_through(path("a.log")).batches;
    } catch (const UserError&) {
      return 0;  // its header is being written
    }
  }
  void expect_readable_log() {
    const auto log = backend::read_through(path("a.log"));
    EXPECT_FALSE(log.end);
    EXPECT_GT(log.batches, 0);
    const Ended replay =
        run(cell({"--backend=replay", "--log", "a.log", "--out", "r", "trace=long.safetensors",
                  "tokens=2000", "faults.late=2%", "faults.late_by=10 ms"},
                 "llm_in_a_flash"));
    EXPECT_EQ(replay.status, 1);
    EXPECT_THAT(replay.err, HasSubstr("a.log was cut (or its run was interrupted) after batch"));
  }
  static std::vector<pid_t> children_of(pid_t program) {
    std::ifstream list(fmt::format("/proc/{}/task/{}/children", program, program));
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
  }
};

TEST_F(KilledRunTest, TheWholeProgram) {
  const pid_t program = start_long_run();
  const auto children = children_of(program);
  ::kill(program, SIGKILL);
  EXPECT_EQ(wait_for(program).status, 128 + SIGKILL);
  for (const pid_t child : children) {
    for (int i = 0; i < 500 && ::kill(child, 0) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(::kill(child, 0), 0) << "the run ends with the program";
  }
  expect_readable_log();
  EXPECT_EQ(nlohmann::json::parse(text("o/manifest.json")).at("cells"), 1);
  EXPECT_THAT(files("o"), testing::ElementsAre("manifest.json"));
}

TEST_F(KilledRunTest, TheRunAlone) {
  const pid_t program = start_long_run();
  const auto children = children_of(program);
  if (children.size() != 1) {
    ::kill(program, SIGKILL);
    wait_for(program);
    GTEST_SKIP() << "this kernel does not list children";
  }
  ::kill(children.front(), SIGKILL);
  const Ended ended = wait_for(program);
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("the run was killed"));
  expect_readable_log();
  EXPECT_THAT(table("o/results.csv").text(0, "failure"), HasSubstr("the run was killed"));
}

}  // namespace
}  // namespace leanstream::experiments
