// Random reads kept at a depth through flash reader and storage, each a command of its own, as the
// hardware world does it: sleep in the storage, take what has ended, submit what follows.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/bare_loop.h"
#include "engine/hardware/storage/flash_reader.h"

namespace leanstream::hardware {

class ReaderLoop {
 public:
  // A request is of as many neighbours of spec.read_bytes as one of `pieces` says, by chance (with
  // spec.apart they are as many requests, which the system may merge in a burst); each goes to a
  // place of its own in an arena like that of a run, all of which is used in turn. Throws UserError
  // when the file cannot be opened so.
  ReaderLoop(const LoopSpec& spec, const std::string& engine,
             std::vector<std::int32_t> pieces = {1});

  // Once. Throws UserError when a read fails.
  LoopResult run();

  // Bursts, each one command of `count` requests that the device gets when it is idle; before each
  // `between` is called. latency_ns is of bursts, from handing over until the last end is seen;
  // wall_s and cpu_s are of bursts alone. Once, instead of run().
  LoopResult run_bursts(std::int32_t count, const std::function<void()>& between);

  std::string description() const { return storage_->description(); }
  Bytes alignment_bytes() const { return storage_->alignment_bytes(); }

 private:
  struct Read {
    TicketId ticket = 0;
    std::vector<BlockId> blocks;
    std::vector<SlotId> slots;
  };

  std::size_t depth() const { return static_cast<std::size_t>(spec_.depth); }
  std::size_t place_of(TicketId ticket) const;
  SlotId next_slot();
  void post(std::size_t place);
  void submit(Read& read, std::int32_t requests);
  void check(const FlashEnded& ended) const;

  LoopSpec spec_;
  std::vector<std::int32_t> pieces_;
  std::size_t most_pieces_;
  Bytes blocks_;
  AlignedMemory memory_;
  std::span<std::byte> arena_;
  std::unique_ptr<Storage> storage_;
  FlashReader reader_;
  std::vector<Read> reads_;
  RandomStream random_;
  TicketId last_ticket_ = 0;
  SlotId next_slot_ = 0;
  LoopResult result_;
};

}  // namespace leanstream::hardware
