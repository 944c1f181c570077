#include "tests/backend/small_log.h"

#include "engine/backend/recording.h"
#include "engine/backend/replay.h"
#include "engine/backend/run_loop.h"

namespace leanstream::backend {
SmallScheduler::SmallScheduler(const scheduler::SmallRun& run)
    : ffn_(run.ffn),
      activations_(run.activations ? run.activations
                                   : std::make_shared<scheduler::SmallActivations>(
                                         run.tokens, run.layers, run.ffn, run.seed)) {
  const auto spec = run.spec();
  const BlockId blocks = spec.geometry.blocks_per_layer;
  predictor_ =
      scheduler::make_policy<policy::Predictor>(run.predictor, {activations_.get(), run.seed});
  cache_ = scheduler::make_policy<policy::CachePolicy>(
      run.cache, {run.layers, blocks, run.slots, run.prompt_tokens});
  controller_ = scheduler::make_policy<policy::Controller>(run.controller, {run.layers, blocks});
  loader_ = scheduler::make_policy<policy::Loader>(run.loader, {spec.geometry.block_bytes});
  scheduler_ = std::make_unique<scheduler::Scheduler>(
      spec, scheduler::Policies{predictor_.get(), cache_.get(), controller_.get(), loader_.get(),
                                activations_.get()});
}

WorldSpec SmallScheduler::world_spec(const std::string& log) const {
  WorldSpec spec;
  spec.shape.ffn = ffn_;
  spec.predictor = predictor_.get();
  spec.log = log;
  return spec;
}

LogTest::LogTest() {
  static int number = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("leanstream-logs-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
  std::filesystem::create_directories(folder_);
}

LogTest::~LogTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string LogTest::record(const scheduler::SmallRun& run, const std::string& name,
                            KeepScores keep) {
  SmallScheduler small(run);
  scheduler::VirtualWorld world(run.costs, small.predictor(), run.ffn);
  world.fail_ticket = run.fail_ticket;
  world.computes = run.computes;
  LogWriter log(path(name), "small", keep);
  RecordingBackend recording(world, log);
  backend::run(small.scheduler(), recording);
  log.finish({small.scheduler().commands_hash(), recording.completions_hash(), "{}"});
  return path(name);
}

std::string LogTest::replay(const scheduler::SmallRun& run, const std::string& log) {
  SmallScheduler small(run);
  return replay_in(small, small.world_spec(log), log);
}

std::string LogTest::replay_by_scores(const scheduler::SmallRun& run, const std::string& log) {
  SmallScheduler small(run);
  WorldSpec spec = small.world_spec(log);
  spec.predictor = nullptr;
  return replay_in(small, spec, log);
}

std::string LogTest::replay_in(SmallScheduler& small, const WorldSpec& spec,
                               const std::string& log) {
  const auto world = make_world("replay", spec);
  try {
    backend::run(small.scheduler(), *world);
  } catch (const ReplayDiffers& differs) {
    return differs.what();
  }
  EXPECT_EQ(small.scheduler().commands_hash(), read_through(log).end->commands_hash);
  return "";
}

std::string LogTest::edit(const std::string& log, const std::string& name,
                          const std::function<void(std::int64_t, LogBatch&)>& edit,
                          KeepScores keep) {
  LogReader reader(log);
  LogWriter writer(path(name), reader.header(), keep);
  LogBatch batch;
  for (std::int64_t i = 0; reader.next(batch); ++i) {
    edit(i, batch);
    writer.commands(batch.commands);
    if (!batch.completions.empty()) writer.wait(batch.completions, batch.scores_hash);
  }
  if (reader.end()) writer.finish(*reader.end());
  return path(name);
}

}  // namespace leanstream::backend
