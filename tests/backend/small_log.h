// Small runs, their logs, and logs that were tampered with.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "engine/backend/log_file.h"
#include "engine/backend/world.h"
#include "tests/scheduler/small_run.h"

namespace leanstream::backend {

// A scheduler of the small model, with everything that decides for it.
class SmallScheduler {
 public:
  // `predictor`, `cache` and so on of `run` are the policies; a null-world `world_spec` fits it.
  explicit SmallScheduler(const scheduler::SmallRun& run);

  scheduler::Scheduler& scheduler() { return *scheduler_; }
  const policy::Predictor& predictor() const { return *predictor_; }
  WorldSpec world_spec(const std::string& log = "") const;

 private:
  std::int32_t ffn_;
  std::shared_ptr<scheduler::SmallActivations> activations_;
  std::unique_ptr<policy::Predictor> predictor_;
  std::unique_ptr<policy::CachePolicy> cache_;
  std::unique_ptr<policy::Controller> controller_;
  std::unique_ptr<policy::Loader> loader_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
};

// In a folder that goes with the test.
class LogTest : public testing::Test {
 protected:
  LogTest();
  ~LogTest() override;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Runs in the virtual world of tests/scheduler and records to `name`.
  std::string record(const scheduler::SmallRun& run, const std::string& name,
                     KeepScores keep = KeepScores::hash);
  // Replays; "" when nothing differs, else what the replay said.
  std::string replay(const scheduler::SmallRun& run, const std::string& log);
  // The same in a world without a predictor.
  std::string replay_by_scores(const scheduler::SmallRun& run, const std::string& log);

  // Calls `edit` for every batch of a log and writes what it left, with the header and the end
  // mark as they were.
  std::string edit(const std::string& log, const std::string& name,
                   const std::function<void(std::int64_t index, LogBatch& batch)>& edit,
                   KeepScores keep = KeepScores::hash);

  std::string replay_in(SmallScheduler& small, const WorldSpec& world, const std::string& log);

 private:
  std::filesystem::path folder_;
};

}  // namespace leanstream::backend
