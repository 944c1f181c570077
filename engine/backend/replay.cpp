#include "engine/backend/replay.h"

#include <algorithm>

#include "engine/backend/log_text.h"
#include "engine/backend/scores.h"
#include "engine/base/error.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

bool is_accelerator(CommandKind kind) {
  return kind != CommandKind::read && kind != CommandKind::predict && kind != CommandKind::cancel;
}

class ReplayBackend final : public Backend {
 public:
  explicit ReplayBackend(const WorldSpec& spec)
      : log_(spec.log), scores_(spec), ffn_(static_cast<std::size_t>(spec.shape.ffn)) {}

  TimeNs now() override { return now_ns_; }
  void submit(std::span<const Command> commands) override;
  std::span<const Completion> wait(TimeNs deadline) override;
  void ended() override;

 private:
  void advance();
  Command settle(const Completion& completion);
  void check_scores(const Command& command, const Completion& completion, std::uint64_t hash) const;
  void compare_scores(const Command& prediction, Completion& completion, std::size_t index);
  [[noreturn]] void differs(const std::string& what, std::size_t completions = 0) const;
  void refuse_cut() const;
  [[noreturn]] void refuse(const Completion& completion, const std::string& why) const;

  LogReader log_;
  Scores scores_;
  std::size_t ffn_;
  LogBatch batches_[2];  // what was answered last stays valid while the next is compared
  LogBatch* batch_ = &batches_[0];
  bool answered_ = true;      // batch_ is used up
  bool more_ = true;          // batch_ is of the log
  std::size_t compared_ = 0;  // commands of batch_
  TimeNs now_ns_ = 0;
  Fnv64 hash_;
  std::vector<Command> outstanding_;  // in order of submission
};

void ReplayBackend::advance() {
  if (!answered_) return;
  batch_ = batch_ == &batches_[0] ? &batches_[1] : &batches_[0];
  more_ = log_.next(*batch_);
  answered_ = false;
  compared_ = 0;
}

void ReplayBackend::differs(const std::string& what, std::size_t completions) const {
  const std::int64_t index = log_.batches() - (more_ ? 1 : 0);
  throw ReplayDiffers(fmt::format("differs from {} in batch {}, at {} ns: {}{}{}", log_.path(),
                                  index, now_ns_, what, what.ends_with('\n') ? "" : "\n",
                                  events_before(log_.path(), index, compared_, completions)));
}

// What is left of a log that was cut has been played.
void ReplayBackend::refuse_cut() const {
  if (log_.end() || (more_ && !batch_->completions.empty())) return;
  throw ReplayDiffers(
      fmt::format("{} was cut (or its run was interrupted) after batch {}, at {} ns; up to there "
                  "nothing differs",
                  log_.path(), log_.batches(), now_ns_));
}

void ReplayBackend::submit(std::span<const Command> commands) {
  if (!commands.empty()) advance();
  for (const Command& command : commands) {
    if (compared_ == batch_->commands.size()) {
      refuse_cut();
      differs(fmt::format("a command that is not in the log{}\n  now  {}",
                          more_ ? "" : ", whose run has ended", describe(command)));
    }
    const std::string what =
        difference(batch_->commands[compared_], command, {"in the log", "now"});
    if (!what.empty()) differs(what);
    ++compared_;
    outstanding_.push_back(command);
  }
}

std::span<const Completion> ReplayBackend::wait(TimeNs) {
  advance();
  if (compared_ < batch_->commands.size()) {
    differs(fmt::format("a command of the log is missing\n  in the log  {}",
                        describe(batch_->commands[compared_])));
  }
  refuse_cut();
  if (!more_) differs("the log's run has ended, this one goes on");
  scores_.reset();
  for (std::size_t i = 0; i < batch_->completions.size(); ++i) {
    Completion& c = batch_->completions[i];
    now_ns_ = c.time_ns;
    if (c.status == Status::timed_out) {
      if (c.ticket != 0 || batch_->completions.size() > 1) refuse(c, "a deadline comes alone");
    } else {
      const Command command = settle(c);
      check_scores(command, c, batch_->scores_hash[i]);
      const bool made_anew = command.kind == CommandKind::predict && c.scores.empty();
      if (made_anew) compare_scores(command, c, i);
    }
    add_completion(hash_, c, batch_->scores_hash[i]);
  }
  answered_ = true;
  return batch_->completions;
}

void ReplayBackend::refuse(const Completion& completion, const std::string& why) const {
  throw UserError("{}: no world answers like this (batch {}, {} ns, ticket {}): {}", log_.path(),
                  log_.batches() - 1, completion.time_ns, completion.ticket, why);
}

// The command that a completion ends, which is no longer outstanding.
Command ReplayBackend::settle(const Completion& c) {
  const auto found = std::find_if(outstanding_.begin(), outstanding_.end(),
                                  [&](const Command& o) { return o.ticket == c.ticket; });
  if (found == outstanding_.end()) refuse(c, "nothing of that ticket is under way");
  const Command command = *found;
  const bool in_order = is_accelerator(command.kind) || command.kind == CommandKind::predict;
  const auto earlier = [&](const Command& o) {
    return is_accelerator(o.kind) == is_accelerator(command.kind) &&
           (o.kind == CommandKind::predict) == (command.kind == CommandKind::predict);
  };
  if (in_order && std::any_of(outstanding_.begin(), found, earlier)) {
    refuse(c, "the accelerator and the processor serve in order");
  }
  const bool partly = c.status == Status::error || c.status == Status::cancelled;
  if ((partly || !c.not_read.empty()) && command.kind != CommandKind::read) {
    refuse(c, fmt::format("a {} is not read in part", name_of(command.kind)));
  }
  for (const BlockId b : c.not_read) {
    if (std::find(command.blocks.begin(), command.blocks.end(), b) == command.blocks.end()) {
      refuse(c, fmt::format("block {} was not asked for", b));
    }
  }
  if (c.work_ns < 0) refuse(c, "negative work");
  outstanding_.erase(found);
  return command;
}

// Scores that the log holds are as many as the command is about; only a predictor can make others.
void ReplayBackend::check_scores(const Command& command, const Completion& c,
                                 std::uint64_t hash) const {
  if (hash == 0 || (command.kind == CommandKind::predict && c.scores.empty())) return;
  std::size_t right = 0;
  if (command.kind == CommandKind::predict) right = ffn_;
  if (command.kind == CommandKind::end_layer) {
    right = ffn_ * static_cast<std::size_t>(command.tokens);
  }
  if (c.scores.size() == right && right > 0) return;
  refuse(c, fmt::format("{} scores of a command {}", c.scores.size(), name_of(command.kind)));
}

void ReplayBackend::compare_scores(const Command& prediction, Completion& c, std::size_t index) {
  const std::uint64_t logged = batch_->scores_hash[index];
  if (logged == 0) {
    if (c.status == Status::ok) refuse(c, "a prediction without scores");
    return;
  }
  c.scores = scores_.of(prediction);
  const std::uint64_t hash = hash64(std::as_bytes(c.scores));
  if (hash == logged) return;
  differs(fmt::format("the scores of this prediction hash to {:016x} in the log, {:016x} now: the "
                      "predictor, its seed or the trace is not the same\n  {}",
                      logged, hash, describe(prediction)),
          index);
}

void ReplayBackend::ended() {
  advance();
  if (more_) {
    differs(fmt::format("this run has ended, the log goes on\n  in the log  {}",
                        batch_->commands.empty()
                            ? describe(batch_->completions.front(), batch_->scores_hash.front())
                            : describe(batch_->commands.front())));
  }
  refuse_cut();
  if (log_.end()->completions_hash != hash_.hex()) {
    differs(
        fmt::format("the completions of this log hash to {}, but those of its run to {}: the "
                    "log was changed after it was written",
                    hash_.hex(), log_.end()->completions_hash));
  }
}

[[maybe_unused]] const bool kReplayRegistered = register_world(
    "replay", "a completion log (--log), checked command by command",
    [](const WorldSpec& spec) -> std::unique_ptr<Backend> {
      return std::make_unique<ReplayBackend>(spec);
    },
    NeedsLog::yes);

}  // namespace
}  // namespace leanstream::backend
