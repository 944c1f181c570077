// The world of real devices: flash by the system's interfaces, an accelerator, predictions on a
// thread. Times are of the machine's clock, stamped once when an answer is seen.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/world.h"
#include "engine/hardware/accelerator/accelerator.h"
#include "engine/hardware/prediction_unit.h"
#include "engine/hardware/process_memory.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/flash_reader.h"
#include "engine/hardware/storage/processors.h"
#include "engine/model/flash_image.h"
#include "engine/transformer/decoder.h"

namespace leanstream::hardware {

// Opens what the blocks are read from: `open_storage`, or another flash in its place.
using OpenStorage = std::function<std::unique_ptr<Storage>(const StorageSpec&)>;

class World final : public backend::Backend {
 public:
  // Opens the devices and makes all memory of the run. Throws UserError: the image is of another
  // model or cannot be read, a device cannot be used.
  explicit World(const backend::WorldSpec& spec, const OpenStorage& open = open_storage);
  ~World() override;

  TimeNs now() override;
  void submit(std::span<const scheduler::Command> commands) override;
  std::span<const scheduler::Completion> wait(TimeNs deadline) override;
  void ended() override { facts_ = gather_facts(); }
  // Of the end of the run, not of what is worked out from it afterwards.
  std::vector<std::pair<std::string, std::string>> facts() const override { return facts_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Facts = std::vector<std::pair<std::string, std::string>>;

  void start_storage(const OpenStorage& open);
  void start_accelerator();
  void collect();  // what has ended goes to batch_
  bool looks() const;
  bool only_opens() const;
  Facts gather_facts() const;
  void add(const Ended& ended);
  // The run's clock stands still while it is done.
  template <typename Work>
  void outside_time(const Work& work);

  backend::WorldSpec spec_;
  ProcessMemory memory_;  // first: what follows is what it measures
  model::FlashImage image_;
  transformer::Decoder decoder_;
  Bytes arena_bytes_;
  AlignedMemory arena_;
  std::vector<std::uint64_t> checksums_;
  Processors processors_;
  std::optional<KeptTo> kept_;  // the scheduler's thread, from when the run starts
  Clock::time_point start_{};
  Clock::duration stood_still_{};  // of the clock since then
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<FlashReader> reader_;
  std::unique_ptr<Accelerator> accelerator_;
  std::unique_ptr<PredictionUnit> predictions_;
  double cpu_before_s_ = 0;  // of the scheduler's thread
  TimeNs look_ns_;           // how long a wait looks before it sleeps, at most
  // Of the accelerator: the newest command whose end others wait for (no release), and the last
  // that has ended. They end in order.
  TicketId awaited_ = 0, ended_ticket_ = 0;
  bool predicting_ = false;
  TimeNs last_ns_ = -1;  // of the last batch
  std::vector<scheduler::Completion> batch_;
  std::deque<scheduler::Command> computing_;  // the accelerator's, as they will end
  std::size_t nll_given_ = 0;                 // likelihoods in completions so far
  std::vector<FlashEnded> flash_ended_;
  std::vector<Ended> ended_;
  Facts facts_;
};

}  // namespace leanstream::hardware
