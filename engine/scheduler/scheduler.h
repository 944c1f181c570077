// The scheduler core: single-threaded, no I/O, no clock. Batches of completions in, commands out;
// equal batches give equal commands on every compiler and machine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/hash.h"
#include "engine/scheduler/arena.h"
#include "engine/scheduler/command.h"
#include "engine/scheduler/completion.h"
#include "engine/scheduler/event_tail.h"
#include "engine/scheduler/first_layer.h"
#include "engine/scheduler/layer_work.h"
#include "engine/scheduler/metrics.h"
#include "engine/scheduler/pace.h"
#include "engine/scheduler/quotas.h"
#include "engine/scheduler/run_spec.h"
#include "engine/scheduler/selection.h"
#include "engine/scheduler/timing.h"

namespace leanstream::scheduler {

class Scheduler {
 public:
  // Throws UserError when the budget is below smallest_slots(), naming that figure.
  Scheduler(const RunSpec& spec, const Policies& policies);

  // The driver's loop: start once, then until finished() take the commands, carry them out, and
  // hand over the completions.
  void start(TimeNs now);
  bool finished() const { return outstanding_ == 0 && (done_ || !failure_.empty()); }
  // Commands since the last call; the span is valid until the next call of on().
  std::span<const Command> take_commands();
  void on(std::span<const Completion> batch);
  // When to give up waiting: a device that says nothing for so long is taken for dead.
  TimeNs deadline() const;

  // What ended the run early (a failed device, a passed deadline), or "".
  const std::string& failure() const { return failure_; }
  const RunMetrics& metrics() const { return metrics_; }
  std::string commands_hash() const { return hash_.hex(); }
  std::string event_tail() const { return tail_.text(); }
  // Final sets of the decoded tokens so far in the order of computation, for offline bounds: the
  // i-th is of layer i mod layers.
  std::span<const BlockSet> final_sets() const { return {final_sets_.data(), final_sets_count_}; }
  // Conservation: every ticket completed once, bytes requested = completed + not read, slots add
  // up.
  void check_conservation() const;

 private:
  // What may be evicted for a part, tried in this order; `kept`: what the cache policy would never
  // give up.
  enum class Tier : std::uint8_t { unwanted, next_layer, computed, kept };

  struct Payload {  // the spans of a read or a release
    std::vector<BlockId> blocks;
    std::vector<SlotId> slots;
  };
  struct Part {  // reads whose blocks are published together
    StepId step = kNone;
    BlockId left = 0;  // blocks still to be submitted while it is open
    std::int32_t outstanding = 0;
    std::vector<std::int32_t> arrived;  // payloads that wait for the others
    LayerId layer = kNone;
  };
  struct Ticket {
    TicketId id = 0;  // 0: unused
    CommandKind kind = CommandKind::read;
    StepId step = kNone;
    LayerId layer = kNone;
    std::int32_t payload = kNone;
    std::int32_t part = kNone;  // read
    std::int32_t requests = 0;  // read
    BlockId across = 0;         // read: of its blocks, those that are not wanted
    std::int32_t feature = 0;   // predict
    TimeNs submitted_ns = 0;
  };
  struct Request {  // of a prediction
    StepId step = kNone;
    std::int32_t feature = 0;
  };

  // scheduler.cpp: the life of a run
  void handle(const Completion& completion);
  void decide();
  void advance(TimeNs now);
  Phase phase() const;
  void open_layer();
  void close_layer(const Completion& completion);
  void note_prompt_use(const LayerWork& work, std::span<const std::uint8_t> scores);
  void note_importance(const LayerWork& work, std::span<const std::uint8_t> scores);
  void drop_expired(LayerId layer, StepId step);
  void head_done(const Completion& completion);
  void end_prefill();
  void fail(std::string why);
  LayerWork* find(StepId step);
  bool prepare_next();

  // predictions.cpp: what is wanted
  void pump_predictions();
  void request_final(LayerWork& work);
  void request_refinement(std::int32_t stage);
  void submit_prediction(LayerWork& work, std::int32_t feature);
  void prediction_done(const Ticket& ticket, const Completion& completion);
  void set_wanted_all(LayerWork& work);
  void set_first_layer(LayerWork& work);
  void make_final(LayerWork& work);
  void order_ready(LayerWork& work);

  // reads.cpp: the I/O unit
  void pump_reads();
  LayerWork* read_target();
  bool may_submit(const LayerWork& work) const;
  bool free_running(const LayerWork& work) const;
  bool missing(const LayerWork& work, BlockSet& out) const;
  bool submit_reads(LayerWork& work);
  Part& part_for(LayerWork& work);
  BlockId part_blocks(const LayerWork& work) const;
  BlockId merge_blocks(const LayerWork& work) const;
  BlockId fitting(const LayerWork& work, BlockId count) const;
  TimeNs expected_rest_ns() const;
  void next_to_read(LayerWork& work, BlockId count, std::int64_t most_requests);
  void next_single(LayerWork& work, std::int64_t count);
  void submit_read(LayerWork& work, std::span<const BlockId> blocks, std::int32_t lane);
  void cancel_unwanted(const LayerWork& work);
  void order_blocks(const LayerWork& work, const BlockSet& candidates, bool by_priority,
                    std::vector<BlockId>& out);

  // gaps.cpp: blocks between wanted ones that are read and not kept
  void read_across(const LayerWork& work);
  BlockId widen(BlockId gap, BlockId merge, BlockId most);
  bool passes(LayerId layer, const Payload& payload, std::size_t i) const;
  BlockId drop_passed(const Ticket& ticket, const Completion& completion, Payload& payload);

  // arrivals.cpp: what reads bring
  void read_done(const Ticket& ticket, const Completion& completion);
  void not_read(const Ticket& ticket, const Completion& completion, Payload& payload);
  void close_part();
  void publish(Part& part);
  StepId arrival_step(LayerId layer) const;

  // room.cpp: eviction
  void note_wasted(LayerWork& work, BlockId block);
  void no_longer_ready(LayerWork& work, std::span<const policy::BlockRef> victims);
  BlockId make_room(const LayerWork& work, BlockId count);
  SlotId free_slots(LayerId layer) const;
  void evict(Tier tier, LayerId only, BlockId count);
  void evict(LayerId layer, std::span<const policy::BlockRef> victims);
  void name_victims(Tier tier, BlockId count);
  void force_room();
  void drop_above_quota();

  // releases.cpp: the accelerator
  void pump_releases();
  BlockId next_segment(const LayerWork& work) const;
  void release(LayerWork& work, BlockId count);
  void release_done(const Ticket& ticket, const Completion& completion);
  void attention_done(const Completion& completion);

  // commands.cpp: tickets and payloads
  Command& emit(CommandKind kind, StepId step, LayerId layer, TokenId token, std::int32_t tokens);
  Ticket& ticket_of(const Command& command);
  std::int32_t take_payload();
  void give_back(std::int32_t payload);
  void attach(Command& command, std::int32_t payload);
  Ticket settle(const Completion& completion);
  void hash_commands();

  RunSpec spec_;
  Policies policies_;
  Timing timing_;
  bool refines_;
  policy::ReadAhead ahead_;
  bool tells_scores_;
  Selection selection_;
  Arena arena_;

  std::array<LayerWork, 2> works_;
  LayerWork* current_ = nullptr;  // between T_GPU(n−1) and T_GPU(n); null while the head runs
  LayerWork* next_ = nullptr;     // what comes after, when it is known to come
  policy::Plan plan_;             // φ(n), from T_F(n) to T_F(n+1)

  std::vector<Request> final_requests_;  // waiting, in order
  Request refinement_;                   // the newest that waits
  StepId opened_step_ = kNone;           // of the newest current_, or next_ that never began
  bool predicting_ = false;
  FirstLayer first_layer_;

  std::int32_t reads_in_flight_ = 0;
  std::int64_t requests_in_flight_ = 0;
  BlockId blocks_in_flight_ = 0;
  std::int32_t next_lane_ = 0;
  std::vector<Part> parts_;
  std::vector<std::int32_t> free_parts_;
  std::int32_t open_part_ = kNone;  // takes more reads
  std::vector<TicketId> reads_;     // outstanding, in order
  Pace pace_;
  Quotas quotas_;
  BlockSet missing_;                               // scratch
  std::vector<BlockSet> evictable_;                // scratch
  std::vector<std::uint64_t> evictable_as_of_;     // version of the arena's layer it was copied at
  std::vector<std::uint64_t> evictable_versions_;  // CacheView::versions
  std::uint64_t newest_version_ = 0;
  std::vector<policy::BlockRef> victims_;  // scratch
  std::vector<BlockId> order_;             // scratch
  std::vector<BlockId> dealt_;             // scratch
  std::vector<BlockId> widened_;           // scratch: order_ with what lies between
  std::vector<BlockId> gaps_;              // scratch: how often each width occurs in order_
  BlockSet across_;                        // of order_, what is read across
  BlockId across_count_ = 0;
  BlockSet passed_;              // scratch: of a read that ended, what only passed
  std::vector<BlockId> listed_;  // scratch
  BlockSet kept_;                // scratch
  BlockSet lost_;                // scratch
  BlockSet expired_;             // scratch
  BlockSet inserted_;            // scratch, empty between calls
  BlockScores truth_;            // scratch

  std::vector<Command> commands_;
  std::vector<Command> taken_;
  std::vector<Payload> payloads_;
  std::vector<std::int32_t> free_payloads_;
  std::vector<Ticket> tickets_;
  TicketId next_ticket_ = 1;
  std::int64_t outstanding_ = 0;
  Bytes bytes_requested_ = 0;
  Bytes bytes_completed_ = 0;
  Bytes bytes_not_read_ = 0;

  TimeNs now_ = 0;
  bool prefilling_ = false;
  bool done_ = false;
  std::string failure_;
  Fnv64 hash_;
  EventTail tail_;
  RunMetrics metrics_;
  Tally tally_;  // of the token at work
  TimeNs token_start_ns_ = 0;
  std::vector<BlockSet> final_sets_;
  std::size_t final_sets_count_ = 0;
};

}  // namespace leanstream::scheduler
