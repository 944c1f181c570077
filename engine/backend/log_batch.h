// What a completion log holds of one wait.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/buffer_pool.h"
#include "engine/base/hash.h"
#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"

namespace leanstream::backend {

struct LogBatch {
  std::vector<scheduler::Command> commands;  // taken before the wait, in order
  // Of the wait; empty when the log was cut in between. With scores only where the log holds them.
  std::vector<scheduler::Completion> completions;
  std::vector<std::uint64_t> scores_hash;  // of each completion; 0: it came without scores

  BufferPool<std::int32_t> ids;  // what the spans above point into
  BufferPool<TimeNs> times;
  BufferPool<std::uint8_t> codes;
  BufferPool<float> numbers;

  void clear() {
    commands.clear();
    completions.clear();
    scores_hash.clear();
    ids.reset();
    times.reset();
    codes.reset();
    numbers.reset();
  }
};

// The end mark of a log. The hashes are of the run, not of the file: a log whose stamps were
// changed no longer agrees with them.
struct LogEnd {
  std::string commands_hash;     // Scheduler::commands_hash()
  std::string completions_hash;  // of everything the world answered
  std::string results;           // what came out of the run, for whoever compares it (JSON)
};

// Rolls over every field of a completion, scores by their hash. What no older world said is left
// out where it is empty, so that older logs keep their hash.
inline void add_completion(Fnv64& hash, const scheduler::Completion& c, std::uint64_t scores_hash) {
  hash.add(c.ticket);
  hash.add(static_cast<std::uint64_t>(c.time_ns));
  hash.add(static_cast<std::uint64_t>(c.status));
  hash.add(static_cast<std::uint64_t>(c.work_ns));
  hash.add(static_cast<std::uint64_t>(c.sampled));
  hash.add_all(c.not_read);
  hash.add_all(c.request_ns);
  hash.add(scores_hash);
  if (!c.nll.empty()) hash.add(hash64(std::as_bytes(c.nll)));
}

}  // namespace leanstream::backend
