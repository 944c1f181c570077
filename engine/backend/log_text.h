// Commands and completions in words, for the messages of replay and audit.
#pragma once

#include <cstdint>
#include <string>

#include "engine/backend/log_file.h"

namespace leanstream::backend {

// One line: "read, ticket 812, layer 4, token 33, lane 0, …; blocks 3 8 9 … (12); slots …". Of long
// lists a few items from `from` on.
std::string describe(const scheduler::Command& command, std::size_t from = 0);
std::string describe(const scheduler::Completion& completion, std::uint64_t scores_hash);

// What two logs, or a log and a run, call themselves in messages.
struct Sides {
  std::string first;
  std::string second;
};

// What differs first between two commands or completions ("blocks[3] is 17 in the log, 18 now") and
// both of them, one a line; "" when they are equal. Times and scores are among it.
std::string difference(const scheduler::Command& a, const scheduler::Command& b,
                       const Sides& sides);
std::string difference(const scheduler::Completion& a, std::uint64_t a_scores,
                       const scheduler::Completion& b, std::uint64_t b_scores, const Sides& sides);

// The last events of a log before a place in it, one a line, oldest first: of batch `batch`
// (counted from 0) the first `commands` commands and `completions` completions are before it.
std::string events_before(const std::string& path, std::int64_t batch, std::size_t commands,
                          std::size_t completions);

// The first event at which two logs differ, with what came before it; "" when they hold the same
// events. Headers and results are not compared. Throws UserError for logs that are not sound.
std::string first_difference(const std::string& path_a, const std::string& path_b,
                             const Sides& sides);

}  // namespace leanstream::backend
