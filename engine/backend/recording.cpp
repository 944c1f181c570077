#include "engine/backend/recording.h"

#include "engine/base/error.h"

namespace leanstream::backend {

void RecordingBackend::submit(std::span<const scheduler::Command> commands) {
  log_.commands(commands);
  inner_.submit(commands);
}

std::span<const scheduler::Completion> RecordingBackend::wait(TimeNs deadline) {
  const auto completions = inner_.wait(deadline);
  scores_hash_.clear();
  for (const auto& c : completions) {
    scores_hash_.push_back(c.scores.empty() ? 0 : hash64(std::as_bytes(c.scores)));
    add_completion(hash_, c, scores_hash_.back());
  }
  log_.wait(completions, scores_hash_);
  return completions;
}

void RecordingBackend::broken() {
  inner_.broken();
  try {
    log_.flush();
  } catch (const UserError&) {
    // A full disk: the failed check is what must be said.
  }
}

}  // namespace leanstream::backend
