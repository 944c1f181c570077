#include "engine/scheduler/arena.h"

#include <utility>

#include "engine/base/check.h"

namespace leanstream::scheduler {

Arena::Arena(LayerId layers, BlockId blocks_per_layer, SlotId slots)
    : blocks_per_layer_(blocks_per_layer),
      slots_(slots),
      resident_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
      in_flight_(static_cast<std::size_t>(layers), BlockSet(blocks_per_layer)),
      version_(static_cast<std::size_t>(layers), 1),
      held_(static_cast<std::size_t>(layers)),
      slot_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(blocks_per_layer), kNone) {
  free_.reserve(static_cast<std::size_t>(slots));
  for (SlotId s = slots; s-- > 0;) free_.push_back(s);
}

void Arena::reserve(LayerId l, std::span<const BlockId> blocks, std::span<SlotId> slots) {
  LEANSTREAM_CHECK(free_.size() >= blocks.size() && slots.size() == blocks.size(),
                   "{} free slots for {} blocks of layer {}", free_.size(), blocks.size(), l);
  SlotId* const slot_of_block = slot_.data() + index(l, 0);
  BlockSet& in_flight = in_flight_[static_cast<std::size_t>(l)];
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BlockId b = blocks[i];
    LEANSTREAM_CHECK(slot_of_block[b] == kNone, "block {} of layer {} is there already", b, l);
    slots[i] = slot_of_block[b] = free_[free_.size() - 1 - i];
    in_flight.set(b);
  }
  free_.resize(free_.size() - blocks.size());
  in_flight_count_ += static_cast<SlotId>(blocks.size());
  held_[static_cast<std::size_t>(l)] += static_cast<SlotId>(blocks.size());
}

void Arena::reserve(LayerId l, std::span<const BlockId> blocks, const BlockSet& passing,
                    std::span<SlotId> slots) {
  LEANSTREAM_CHECK(free_.size() >= blocks.size() && slots.size() == blocks.size(),
                   "{} free slots for {} blocks of layer {}", free_.size(), blocks.size(), l);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!passing.test(blocks[i])) {
      reserve(l, blocks.subspan(i, 1), slots.subspan(i, 1));
      continue;
    }
    slots[i] = free_.back();
    free_.pop_back();
    ++passing_count_;
    ++held_[static_cast<std::size_t>(l)];
  }
}

void Arena::free_passed(LayerId l, SlotId slot) {
  LEANSTREAM_CHECK(passing_count_ > 0, "slot {} is given back, but nothing passes", slot);
  --passing_count_;
  --held_[static_cast<std::size_t>(l)];
  free_.push_back(slot);
}

void Arena::arrived(LayerId l, std::span<const BlockId> blocks) {
  auto& in_flight = in_flight_[static_cast<std::size_t>(l)];
  auto& resident = resident_[static_cast<std::size_t>(l)];
  for (const BlockId b : blocks) {
    LEANSTREAM_CHECK(in_flight.test(b), "block {} of layer {} arrives but was not in flight", b, l);
    in_flight.reset(b);
    resident.set(b);
  }
  in_flight_count_ -= static_cast<SlotId>(blocks.size());
  ++version_[static_cast<std::size_t>(l)];
}

void Arena::cancel(LayerId l, BlockId b) {
  auto& set = in_flight_[static_cast<std::size_t>(l)];
  LEANSTREAM_CHECK(set.test(b), "block {} of layer {} fails but was not in flight", b, l);
  set.reset(b);
  --in_flight_count_;
  --held_[static_cast<std::size_t>(l)];
  free_.push_back(std::exchange(slot_[index(l, b)], kNone));
}

void Arena::evict(LayerId l, std::span<const policy::BlockRef> victims) {
  SlotId* const slot_of_block = slot_.data() + index(l, 0);
  auto& set = resident_[static_cast<std::size_t>(l)];
  for (const auto& [layer, b] : victims) {
    LEANSTREAM_CHECK(layer == l && set.test(b), "block {} of layer {} is evicted but not resident",
                     b, layer);
    set.reset(b);
    free_.push_back(std::exchange(slot_of_block[b], kNone));
  }
  held_[static_cast<std::size_t>(l)] -= static_cast<SlotId>(victims.size());
  ++version_[static_cast<std::size_t>(l)];
}

void Arena::check() const {
  SlotId held = 0;
  for (const auto& set : resident_) held += set.count();
  LEANSTREAM_CHECK(held + in_flight_count_ + passing_count_ + free_slots() == slots_,
                   "{} resident + {} in flight + {} passing + {} free are not {} slots", held,
                   in_flight_count_, passing_count_, free_slots(), slots_);
}

}  // namespace leanstream::scheduler
