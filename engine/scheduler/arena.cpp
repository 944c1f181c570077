#include "engine/scheduler/arena.h"

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

SlotId Arena::reserve(LayerId l, BlockId b) {
  LEANSTREAM_CHECK(!free_.empty(), "no free slot for block {} of layer {}", b, l);
  LEANSTREAM_CHECK(slot_[index(l, b)] == kNone, "block {} of layer {} is there already", b, l);
  const SlotId slot = free_.back();
  free_.pop_back();
  slot_[index(l, b)] = slot;
  in_flight_[static_cast<std::size_t>(l)].set(b);
  ++in_flight_count_;
  ++held_[static_cast<std::size_t>(l)];
  return slot;
}

void Arena::arrived(LayerId l, BlockId b) {
  auto& set = in_flight_[static_cast<std::size_t>(l)];
  LEANSTREAM_CHECK(set.test(b), "block {} of layer {} arrives but was not in flight", b, l);
  set.reset(b);
  --in_flight_count_;
  resident_[static_cast<std::size_t>(l)].set(b);
  ++version_[static_cast<std::size_t>(l)];
}

void Arena::cancel(LayerId l, BlockId b) {
  auto& set = in_flight_[static_cast<std::size_t>(l)];
  LEANSTREAM_CHECK(set.test(b), "block {} of layer {} fails but was not in flight", b, l);
  set.reset(b);
  --in_flight_count_;
  release_slot(l, b);
}

void Arena::evict(LayerId l, BlockId b) {
  auto& set = resident_[static_cast<std::size_t>(l)];
  LEANSTREAM_CHECK(set.test(b), "block {} of layer {} is evicted but not resident", b, l);
  set.reset(b);
  ++version_[static_cast<std::size_t>(l)];
  release_slot(l, b);
}

void Arena::release_slot(LayerId l, BlockId b) {
  --held_[static_cast<std::size_t>(l)];
  free_.push_back(slot_[index(l, b)]);
  slot_[index(l, b)] = kNone;
}

void Arena::check() const {
  SlotId held = 0;
  for (const auto& set : resident_) held += set.count();
  LEANSTREAM_CHECK(held + in_flight_count_ + free_slots() == slots_,
                   "{} resident + {} in flight + {} free are not {} slots", held, in_flight_count_,
                   free_slots(), slots_);
}

}  // namespace leanstream::scheduler
