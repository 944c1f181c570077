// Caches that order blocks by what is known of their uses, as plain arrays: see naive_policy.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tests/traces/naive_policy.h"

namespace leanstream::traces {

class NaiveLru : public NaivePolicy {
 public:
  explicit NaiveLru(const NaiveShape& shape) : NaivePolicy(shape), last_(shape.all(), -1) {}
  void used(int id, int step) override { last_[at(id)] = step; }
  int victim(const std::vector<char>& may_go, int) override {
    return lowest(may_go, [&](int id) { return last_[at(id)]; });
  }

 protected:
  std::vector<int> last_;
};

// Fewest uses first; of equal counts the layer computed longest ago, then the lower block.
class NaiveLfu : public NaivePolicy {
 public:
  NaiveLfu(const NaiveShape& shape, bool forgets, int halve_every = 0)
      : NaivePolicy(shape), forgets_(forgets), halve_every_(halve_every), count_(shape.all()) {}
  void arrived(int id, int) override {
    if (forgets_) count_[at(id)] = 0;
  }
  void used(int id, int step) override {
    if (halve_every_ > 0 && step / shape_.layers() / halve_every_ > halvings_) {
      ++halvings_;
      for (int& count : count_) count /= 2;
    }
    ++count_[at(id)];
  }
  int victim(const std::vector<char>& may_go, int layer) override {
    return lowest(may_go,
                  [&](int id) { return std::tuple(count_[at(id)], age_of_layer(id, layer), id); });
  }

 protected:
  int age_of_layer(int id, int layer) const {
    return (id / shape_.blocks() - layer - 1 + shape_.layers()) % shape_.layers();
  }

  bool forgets_;
  int halve_every_;
  int halvings_ = 0;
  std::vector<int> count_;
};

// Lists by last use as arrays of times; −1: not in the list.
struct NaiveTimes {
  explicit NaiveTimes(std::size_t all) : time(all, -1) {}
  bool holds(int id) const { return time[static_cast<std::size_t>(id)] >= 0; }
  void put(int id, int now) {
    size += holds(id) ? 0 : 1;
    time[static_cast<std::size_t>(id)] = now;
  }
  void take(int id) {
    size -= holds(id) ? 1 : 0;
    time[static_cast<std::size_t>(id)] = -1;
  }
  int oldest(const std::vector<char>* may_go = nullptr) const {
    int best = -1;
    for (int id = 0; id < static_cast<int>(time.size()); ++id) {
      if (!holds(id) || (may_go != nullptr && !(*may_go)[static_cast<std::size_t>(id)])) continue;
      if (best < 0 || time[static_cast<std::size_t>(id)] < time[static_cast<std::size_t>(best)]) {
        best = id;
      }
    }
    return best;
  }
  std::vector<int> time;
  int size = 0;
};

class NaiveArc final : public NaivePolicy {
 public:
  explicit NaiveArc(const NaiveShape& shape)
      : NaivePolicy(shape), t1_(shape.all()), t2_(t1_), b1_(t1_), b2_(t1_) {}

  void arrived(int id, int step) override {
    now_ = step;
    if (b1_.holds(id)) {
      p_ = std::min(shape_.slots, p_ + std::max(1, b2_.size / b1_.size));
      b1_.take(id);
      t2_.put(id, now_);
    } else if (b2_.holds(id)) {
      p_ = std::max(0, p_ - std::max(1, b1_.size / b2_.size));
      b2_.take(id);
      t2_.put(id, now_);
    } else {
      t1_.put(id, now_);
    }
  }
  void all_arrived() override {
    const int c = shape_.slots;
    while (t1_.size + b1_.size > c && b1_.size > 0) b1_.take(b1_.oldest());
    while (t1_.size + t2_.size + b1_.size + b2_.size > 2 * c && b2_.size > 0)
      b2_.take(b2_.oldest());
  }
  void used(int, int step) override { now_ = step; }
  void reused(int id, int step) override {
    if (!t1_.holds(id) && !t2_.holds(id)) return;
    t1_.take(id);
    t2_.put(id, step);
  }
  int victim(const std::vector<char>& may_go, int) override {
    const bool first = t1_.size > p_;
    int id = (first ? t1_ : t2_).oldest(&may_go);
    if (id < 0) id = (first ? t2_ : t1_).oldest(&may_go);
    if (id < 0) return id;
    (t1_.holds(id) ? b1_ : b2_).put(id, now_);
    t1_.take(id);
    t2_.take(id);
    return id;
  }

 private:
  NaiveTimes t1_, t2_, b1_, b2_;
  int p_ = 0;
  int now_ = 0;
};

class NaiveWTinyLfu final : public NaivePolicy {
 public:
  explicit NaiveWTinyLfu(const NaiveShape& shape)
      : NaivePolicy(shape),
        window_slots_(std::max(1, static_cast<int>(shape.slots * 0.01))),
        main_slots_(shape.slots - window_slots_),
        protected_slots_(static_cast<int>(main_slots_ * 0.8)),
        count_(shape.all()),
        window_(shape.all()),
        probation_(window_),
        protected_(window_) {}

  void arrived(int id, int step) override {
    now_ = step;
    window_.put(id, step);
  }
  void all_arrived() override {
    while (window_.size > window_slots_ && probation_.size + protected_.size < main_slots_) {
      admit(window_.oldest());
    }
  }
  void used(int id, int step) override {
    now_ = step;
    ++count_[at(id)];
    ++uses_;
  }
  void reused(int id, int step) override {
    if (window_.holds(id)) {
      window_.put(id, step);
    } else if (probation_.holds(id) || protected_.holds(id)) {
      probation_.take(id);
      protected_.put(id, step);
    }
  }
  void all_used() override {
    for (; uses_ >= 10 * shape_.slots; uses_ -= 10 * shape_.slots) {
      for (int& count : count_) count /= 2;
    }
    while (protected_.size > protected_slots_) {
      const int id = protected_.oldest();
      protected_.take(id);
      probation_.put(id, now_);
    }
  }
  void room_needed(int count) override { coming_ = count; }
  int victim(const std::vector<char>& may_go, int) override {
    const int newcomer = window_.oldest(&may_go);
    int old = probation_.oldest(&may_go);
    if (old < 0) old = protected_.oldest(&may_go);
    if (newcomer < 0 && old < 0) return -1;
    int goes = old < 0 ? newcomer : old;
    if (old >= 0 && newcomer >= 0 && window_.size + coming_ > window_slots_) {
      if (count_[at(newcomer)] <= count_[at(old)]) {
        goes = newcomer;
      } else {
        admit(newcomer);
      }
    }
    for (NaiveTimes* list : {&window_, &probation_, &protected_}) list->take(goes);
    return goes;
  }

 private:
  void admit(int id) {
    window_.take(id);
    probation_.put(id, now_);
  }

  int window_slots_, main_slots_, protected_slots_;
  std::vector<int> count_;
  NaiveTimes window_, probation_, protected_;
  int coming_ = 0;
  int now_ = 0;
  int uses_ = 0;
};

class NaiveStaticHot final : public NaivePolicy {
 public:
  explicit NaiveStaticHot(const NaiveShape& shape)
      : NaivePolicy(shape), count_(shape.all()), hot_(shape.all()) {}
  void used(int id, int) override { ++count_[at(id)]; }
  void prompt_ended() override {
    std::vector<int> order;
    for (int id = 0; id < static_cast<int>(hot_.size()); ++id) order.push_back(id);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return count_[at(a)] > count_[at(b)]; });
    order.resize(at(static_cast<int>(shape_.slots * 0.9 + 1e-9)));
    for (const int id : order) hot_[at(id)] = 1;
  }
  int victim(const std::vector<char>& may_go, int layer) override {
    std::vector<char> cold = may_go;
    for (std::size_t i = 0; i < cold.size(); ++i) cold[i] = cold[i] && !hot_[i];
    return lowest(cold, [&](int id) {
      const int layers = shape_.layers();
      return std::tuple(count_[at(id)], (id / shape_.blocks() - layer - 1 + layers) % layers, id);
    });
  }

 private:
  std::vector<int> count_;
  std::vector<char> hot_;
};

// Three tokens' sets.
class NaiveWindow final : public NaiveLru {
 public:
  using NaiveLru::NaiveLru;
  bool drops(int id, int layer, int step) override {
    const int layers = shape_.layers();
    if (step < shape_.prompt_tokens * layers) return false;
    // The newest use of the layer is of this step's token or, when the prompt ends, of the last.
    const int newest = newest_[at(layer)];
    return last_[at(id)] <= newest - 3 * layers;
  }
  void used(int id, int step) override {
    NaiveLru::used(id, step);
    newest_[at(id / shape_.blocks())] = step;
  }

 private:
  std::map<std::size_t, int> newest_;  // of each layer, the step of its newest use
};

// With a quarter for hot blocks.
class NaiveHotCold final : public NaiveLru {
 public:
  explicit NaiveHotCold(const NaiveShape& shape)
      : NaiveLru(shape), count_(shape.all()), hot_(shape.all()) {}
  void used(int id, int step) override {
    NaiveLru::used(id, step);
    ++count_[at(id)];
  }
  void prompt_ended() override {
    std::vector<int> order;
    for (int id = 0; id < static_cast<int>(hot_.size()); ++id) {
      if (2 * count_[at(id)] >= shape_.prompt_tokens) order.push_back(id);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return count_[at(a)] > count_[at(b)]; });
    std::vector<int> room;
    for (int l = 0; l < shape_.layers(); ++l) room.push_back(shape_.sets.at(0, l).count());
    int left = static_cast<int>(shape_.slots * 0.25);
    for (const int id : order) {
      if (left == 0 || room[at(id / shape_.blocks())] == 0) continue;
      --room[at(id / shape_.blocks())], --left;
      hot_[at(id)] = 1;
    }
  }
  int victim(const std::vector<char>& may_go, int) override {
    return lowest(may_go, [&](int id) { return std::tuple(hot_[at(id)], last_[at(id)]); });
  }

 private:
  std::vector<int> count_;
  std::vector<char> hot_;
};

class NaiveBelady final : public NaivePolicy {
 public:
  explicit NaiveBelady(const NaiveShape& shape)
      : NaivePolicy(shape), uses_(shape.all()), at_(shape.all()) {
    for (int t = 0; t < shape.sets.tokens(); ++t) {
      for (int l = 0; l < shape.layers(); ++l) {
        shape.sets.at(t, l).for_each([&](BlockId b) {
          uses_[at(l * shape.blocks() + b)].push_back(t * shape.layers() + l);
        });
      }
    }
  }
  void used(int id, int) override { ++at_[at(id)]; }
  int victim(const std::vector<char>& may_go, int) override {
    return lowest(may_go, [&](int id) { return -next(id); });
  }

 private:
  std::int64_t next(int id) const {
    const auto& uses = uses_[at(id)];
    return at_[at(id)] < uses.size() ? uses[at_[at(id)]] : std::int64_t{1} << 40;
  }
  std::vector<std::vector<int>> uses_;  // of each block, the steps that want it
  std::vector<std::size_t> at_;         // of them, the next
};

}  // namespace leanstream::traces
