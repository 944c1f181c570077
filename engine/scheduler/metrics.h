// What a run is judged by, under the names of engine/README.md, "Metrics". Only what the inputs
// determine; wall-clock figures live elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/base/types.h"
#include "engine/scheduler/histogram.h"

namespace leanstream::scheduler {

// Where the accelerator's time goes. `idle` is time after the last head.
enum class Phase : std::uint8_t { attention, prediction_wait, stall, mlp, head, idle };
inline constexpr std::size_t kPhases = 6;

// Sums over a stretch of time: one token, or all decoded ones.
struct Tally {
  std::array<TimeNs, kPhases> phase_ns{};
  TimeNs accelerator_work_ns = 0;  // attention, segments and head, without waiting
  TimeNs io_busy_ns = 0;           // at least one read in flight
  TimeNs both_busy_ns = 0;         // and the accelerator at work
  TimeNs prediction_ns = 0;        // predictions running
  std::int64_t predictions = 0;
  std::int64_t requests = 0;  // device reads
  std::int64_t blocks_read = 0;
  std::int64_t blocks_across = 0;     // of them between wanted ones, read across and not kept
  std::int64_t blocks_redundant = 0;  // prefetched, then not in the final prediction
  std::int64_t blocks_cancelled = 0;  // asked from flash, then taken back in time
  std::int64_t read_errors = 0;       // blocks whose read ended in an error
  std::int64_t blocks_wanted = 0;     // Σ |P⁽ᴷ⁾|
  std::int64_t demand_misses = 0;     // of them not left in the cache by an earlier token
  std::int64_t final_misses = 0;      // of them not arrived at T_F
  std::int64_t in_flight = 0;         // of final_misses
  double importance_share = 0;  // Σ over layers where it is known of (Σs computed ÷ Σs of all)
  std::int64_t importance_layers = 0;  // how many those are
  double computed_share = 0;           // Σ over layers of (blocks computed ÷ blocks)
  std::int64_t layers = 0;

  void add(const Tally& other);
  TimeNs phase(Phase p) const { return phase_ns[static_cast<std::size_t>(p)]; }
};

struct TokenRow {
  TokenId token = 0;
  TimeNs start_ns = 0;  // end of the head before
  TimeNs end_ns = 0;    // end of its own head
  Tally tally;
};

struct RunMetrics {
  TimeNs start_ns = 0;
  TimeNs prefill_end_ns = 0;
  TimeNs end_ns = 0;
  Bytes prefill_bytes_read = 0;
  Tally decode;
  std::vector<TokenRow> tokens;                  // decoded ones
  std::vector<std::int64_t> requests_by_blocks;  // [n]: decode reads of n neighbouring blocks
  std::int64_t events = 0;                       // completions, prefill included
  SlotId slots_used_peak = 0;
  Histogram request_latency;  // nanoseconds, of decode
  // Of a world that computes: what the heads sampled, from the token after the prompt (without one:
  // token 1) on, kNone where unknown; and −ln p of tokens 1 … of the text, as far as it is known.
  std::vector<std::int32_t> sampled;
  std::vector<float> nll;
};

}  // namespace leanstream::scheduler
