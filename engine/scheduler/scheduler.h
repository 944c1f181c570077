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
#include "engine/scheduler/layer_work.h"
#include "engine/scheduler/metrics.h"
#include "engine/scheduler/run_spec.h"
#include "engine/scheduler/selection.h"

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
  // Final sets of the decoded tokens in the order of computation, for offline bounds.
  const std::vector<std::pair<LayerId, BlockSet>>& final_sets() const { return final_sets_; }
  // Conservation: every ticket completed once, bytes requested = completed + failed, slots add up.
  void check_conservation() const;

 private:
  // When the final prediction of a layer is requested.
  enum class Timing : std::uint8_t { known, residual, own_input, one_shot_ahead };
  // What may be evicted for a part, tried in this order.
  enum class Tier : std::uint8_t { unwanted, next_layer, computed };

  struct Payload {  // the spans of a read or a release
    std::vector<BlockId> blocks;
    std::vector<SlotId> slots;
    bool in_use = false;
  };
  struct Ticket {
    TicketId id = 0;  // 0: unused
    CommandKind kind = CommandKind::read;
    StepId step = kNone;
    LayerId layer = kNone;
    std::int32_t payload = kNone;
    std::int32_t feature = 0;
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
  void close_layer();
  void note_prompt_use(const LayerWork& work);
  void drop_expired(LayerId layer, StepId step);
  void head_done();
  void fail(std::string why);
  LayerWork* find(StepId step);
  bool prepare_next();

  // predictions.cpp: what is wanted
  void pump_predictions();
  void request_final(LayerWork& work, std::int32_t feature);
  void request_refinement(std::int32_t stage);
  void submit_prediction(LayerWork& work, std::int32_t feature);
  void prediction_done(const Ticket& ticket, const Completion& completion);
  void set_wanted_all(LayerWork& work);
  void set_wanted_as_before(LayerWork& work);
  void make_final(LayerWork& work);
  void order_ready(LayerWork& work);

  // reads.cpp: the I/O unit and the arena
  void pump_reads();
  LayerWork* read_target();
  void missing(const LayerWork& work, BlockSet& out) const;
  bool submit_part(LayerWork& work);
  BlockId part_of(const LayerWork& work, BlockId missing) const;
  void order_blocks(const LayerWork& work, const BlockSet& candidates, BlockId count,
                    bool by_priority, std::vector<BlockId>& out);
  void note_wasted(LayerId layer, BlockId block);
  BlockId make_room(const LayerWork& work, BlockId count);
  void evict(Tier tier, BlockId count);
  void read_done(const Ticket& ticket, const Completion& completion);

  // releases.cpp: the accelerator
  void pump_releases();
  void release(LayerWork& work, BlockId count);
  void release_done(const Ticket& ticket, const Completion& completion);
  void attention_done(const Completion& completion);

  // commands.cpp: tickets and payloads
  Command& emit(CommandKind kind, StepId step, LayerId layer, TokenId token, std::int32_t tokens);
  std::int32_t take_payload();
  void attach(Command& command, std::int32_t payload);
  Ticket settle(const Completion& completion);
  void hash_commands();

  RunSpec spec_;
  Policies policies_;
  Timing timing_;
  Selection selection_;
  Arena arena_;

  std::array<LayerWork, 2> works_;
  LayerWork* current_ = nullptr;  // between T_GPU(n−1) and T_GPU(n); null while the head runs
  LayerWork* next_ = nullptr;     // what comes after, when it is known to come
  policy::Plan plan_;             // φ(n), from T_F(n) to T_F(n+1)

  std::vector<Request> final_requests_;  // waiting, in order
  Request refinement_;                   // the newest that waits
  StepId opened_step_ = kNone;           // of the newest current_
  bool predicting_ = false;
  BlockSet last_first_layer_;  // layer 0's set of the token before
  std::vector<std::uint8_t> last_first_priority_;

  std::int32_t reads_in_flight_ = 0;
  BlockSet missing_;                       // scratch
  std::vector<BlockSet> evictable_;        // scratch
  std::vector<policy::BlockRef> victims_;  // scratch
  std::vector<BlockId> order_;             // scratch
  BlockSet expired_;                       // scratch

  std::vector<Command> commands_;
  std::vector<Command> taken_;
  std::vector<Payload> payloads_;
  std::vector<Ticket> tickets_;
  TicketId next_ticket_ = 1;
  std::int64_t outstanding_ = 0;
  Bytes bytes_requested_ = 0;
  Bytes bytes_completed_ = 0;
  Bytes bytes_failed_ = 0;

  TimeNs now_ = 0;
  bool prefilling_ = false;
  bool done_ = false;
  std::string failure_;
  Fnv64 hash_;
  EventTail tail_;
  RunMetrics metrics_;
  Tally tally_;  // of the token at work
  TimeNs token_start_ns_ = 0;
  std::vector<std::pair<LayerId, BlockSet>> final_sets_;
};

}  // namespace leanstream::scheduler
