#include "engine/scheduler/stack_distances.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/check.h"

namespace leanstream::scheduler {
namespace {

constexpr std::size_t kFewestPlaces = 1024;

}  // namespace

StackDistances::StackDistances(LayerId layers, BlockId blocks_per_layer)
    : classes_(static_cast<std::size_t>(layers)),
      sums_(kFewestPlaces),
      hits_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(blocks_per_layer) + 1),
      common_(blocks_per_layer),
      one_(blocks_per_layer) {}

void StackDistances::add(LayerId layer, const BlockSet& used, StepId step) {
  bool any_empty = false;
  for (Class& c : classes_[static_cast<std::size_t>(layer)]) {
    take_from(c, used);
    any_empty |= c.count == 0;
  }
  if (any_empty) drop_empty(layer);
  const BlockId count = used.count();
  uses_ += count;
  if (count > 0) append(layer, used, count, step);
}

void StackDistances::add(LayerId layer, BlockId used, StepId step) {
  one_.set(used);
  for (Class& c : classes_[static_cast<std::size_t>(layer)]) {
    if (!c.blocks.test(used)) continue;
    take_from(c, one_);
    if (c.count == 0) drop_empty(layer);
    break;
  }
  ++uses_;
  append(layer, one_, 1, step);
  one_.reset(used);
}

// Counts the hits in the class, which leave it. A hit needs room for all newer classes and for the
// blocks of its own class from itself on.
void StackDistances::take_from(Class& c, const BlockSet& used) {
  const auto mine = c.blocks.words();
  const auto wanted = used.words();
  BlockSet::Word any = 0;
  for (std::size_t w = 0; w < mine.size(); ++w) any |= common_.words()[w] = mine[w] & wanted[w];
  if (any == 0) return;
  std::int64_t distance = newer_than(c.place);
  BlockId taken = 0;
  for (std::size_t w = mine.size(); w-- > 0;) {
    BlockSet::Word hit = common_.words()[w];
    taken += std::popcount(hit);
    for (; hit != 0; hit &= hit - 1) {
      const BlockSet::Word from_here = mine[w] >> std::countr_zero(hit);
      ++hits_[static_cast<std::size_t>(distance + std::popcount(from_here))];
    }
    distance += std::popcount(mine[w]);
    mine[w] &= ~common_.words()[w];
  }
  c.count -= taken;
  change(c.place, -taken);
  total_ -= taken;
}

void StackDistances::append(LayerId layer, const BlockSet& used, BlockId count, StepId step) {
  auto& classes = classes_[static_cast<std::size_t>(layer)];
  if (classes.empty() || classes.back().step != step) {
    LEANSTREAM_CHECK(classes.empty() || classes.back().step < step, "layer {}: step {} after {}",
                     layer, step, classes.back().step);
    if (next_place_ == static_cast<std::int64_t>(sums_.size())) renumber();
    Class fresh{step, next_place_++, 0, {}};
    if (!spare_.empty()) {
      fresh.blocks = std::move(spare_.back());
      spare_.pop_back();
    }
    fresh.blocks = used;
    classes.push_back(std::move(fresh));
  } else {
    classes.back().blocks |= used;
  }
  classes.back().count += count;
  change(classes.back().place, count);
  total_ += count;
}

void StackDistances::drop_empty(LayerId layer) {
  std::erase_if(classes_[static_cast<std::size_t>(layer)], [&](Class& c) {
    if (c.count != 0) return false;
    spare_.push_back(std::move(c.blocks));
    return true;
  });
}

// Places without a class are given up; at least half are free afterwards.
void StackDistances::renumber() {
  std::vector<Class*> order;
  for (auto& of_layer : classes_) {
    for (Class& c : of_layer) order.push_back(&c);
  }
  std::sort(order.begin(), order.end(),
            [](const Class* a, const Class* b) { return a->place < b->place; });
  sums_.assign(std::max(kFewestPlaces, 2 * order.size()), 0);
  next_place_ = 0;
  for (Class* c : order) {
    c->place = next_place_++;
    change(c->place, c->count);
  }
}

void StackDistances::change(std::int64_t place, BlockId by) {
  for (auto i = static_cast<std::size_t>(place); i < sums_.size(); i |= i + 1) sums_[i] += by;
}

std::int64_t StackDistances::newer_than(std::int64_t place) const {
  std::int64_t up_to = 0;
  for (auto i = static_cast<std::size_t>(place) + 1; i > 0; i &= i - 1) up_to += sums_[i - 1];
  return total_ - up_to;
}

std::int64_t StackDistances::misses(std::int64_t slots) const {
  std::int64_t left = uses_;
  const auto end = std::min<std::int64_t>(slots, static_cast<std::int64_t>(hits_.size()) - 1);
  for (std::int64_t s = 0; s <= end; ++s) left -= hits_[static_cast<std::size_t>(s)];
  return left;
}

void StackDistances::forget_counts() {
  std::fill(hits_.begin(), hits_.end(), 0);
  uses_ = 0;
}

}  // namespace leanstream::scheduler
