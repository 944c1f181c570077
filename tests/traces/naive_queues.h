// Caches that are queues of blocks, as lists: see naive_policy.h.
#pragma once

#include <algorithm>
#include <list>
#include <vector>

#include "tests/traces/naive_policy.h"

namespace leanstream::traces {

class NaiveFifo final : public NaivePolicy {
 public:
  using NaivePolicy::NaivePolicy;
  void arrived(int id, int) override { queue_.push_back(id); }
  int victim(const std::vector<char>& may_go, int) override {
    for (auto i = queue_.begin(); i != queue_.end(); ++i) {
      if (!may_go[at(*i)]) continue;
      const int id = *i;
      queue_.erase(i);
      return id;
    }
    return -1;
  }

 private:
  std::list<int> queue_;
};

class NaiveClock final : public NaivePolicy {
 public:
  explicit NaiveClock(const NaiveShape& shape) : NaivePolicy(shape), marked_(shape.all()) {}
  void arrived(int id, int) override {
    queue_.push_back(id);
    marked_[at(id)] = 0;
  }
  void reused(int id, int) override { marked_[at(id)] = 1; }
  int victim(const std::vector<char>& may_go, int) override {
    for (int round = 0; round < 2; ++round) {
      const std::list<int> order = queue_;
      for (const int id : order) {
        if (!may_go[at(id)]) continue;
        queue_.remove(id);
        if (!marked_[at(id)]) return id;
        marked_[at(id)] = 0;
        queue_.push_back(id);
      }
    }
    return -1;
  }

 private:
  std::list<int> queue_;
  std::vector<char> marked_;
};

class NaiveSieve final : public NaivePolicy {
 public:
  explicit NaiveSieve(const NaiveShape& shape)
      : NaivePolicy(shape), marked_(shape.all()), hand_(queue_.end()) {}
  void arrived(int id, int) override {
    queue_.push_back(id);
    marked_[at(id)] = 0;
  }
  void reused(int id, int) override { marked_[at(id)] = 1; }
  int victim(const std::vector<char>& may_go, int) override {
    for (std::size_t left = 2 * queue_.size(); left > 0; --left) {
      if (hand_ == queue_.end()) hand_ = queue_.begin();
      const int id = *hand_;
      if (may_go[at(id)] && !marked_[at(id)]) {
        hand_ = queue_.erase(hand_);
        if (hand_ == queue_.end()) hand_ = queue_.begin();  // not to what is yet to arrive
        return id;
      }
      if (may_go[at(id)]) marked_[at(id)] = 0;
      if (++hand_ == queue_.end()) hand_ = queue_.begin();
    }
    return -1;
  }

 private:
  std::list<int> queue_;  // oldest first
  std::vector<char> marked_;
  std::list<int>::iterator hand_;
};

class NaiveS3Fifo final : public NaivePolicy {
 public:
  explicit NaiveS3Fifo(const NaiveShape& shape)
      : NaivePolicy(shape),
        small_slots_(static_cast<std::size_t>(shape.slots * 0.1)),
        ghost_slots_(static_cast<std::size_t>(shape.slots * 0.9)),
        uses_(shape.all()) {}

  void arrived(int id, int) override {
    uses_[at(id)] = 0;
    const auto ghost = std::find(ghosts_.begin(), ghosts_.end(), id);
    if (ghost != ghosts_.end()) {
      ghosts_.erase(ghost);
      main_.push_back(id);
    } else if (!evicted_ && small_.size() >= small_slots_) {
      main_.push_back(id);
    } else {
      small_.push_back(id);
    }
  }
  void all_arrived() override {
    while (ghosts_.size() > ghost_slots_) ghosts_.pop_front();
  }
  void reused(int id, int) override { uses_[at(id)] = std::min(3, uses_[at(id)] + 1); }

  int victim(const std::vector<char>& may_go, int) override {
    evicted_ = true;
    const auto goes = [&](int id) { return may_go[at(id)] != 0; };
    while (true) {
      const auto small = std::find_if(small_.begin(), small_.end(), goes);
      const auto main = std::find_if(main_.begin(), main_.end(), goes);
      const bool too_large = main_.size() > at(shape_.slots) - small_slots_;
      if (small == small_.end() && main == main_.end()) return -1;
      const bool from_main = small == small_.end() || (too_large && main != main_.end());
      const int id = from_main ? one_of_main(goes) : one_of_small(goes);
      if (id >= 0) return id;
    }
  }

 private:
  template <typename Goes>
  int one_of_small(Goes goes) {
    for (auto i = small_.begin(); i != small_.end();) {
      const int id = *i;
      if (!goes(id)) {
        ++i;
        continue;
      }
      i = small_.erase(i);
      if (uses_[at(id)] < 2) {
        if (std::find(ghosts_.begin(), ghosts_.end(), id) == ghosts_.end()) ghosts_.push_back(id);
        return id;
      }
      uses_[at(id)] = 0;
      main_.push_back(id);
    }
    return -1;
  }

  template <typename Goes>
  int one_of_main(Goes goes) {
    for (auto i = main_.begin(); i != main_.end();) {
      const int id = *i;
      if (!goes(id)) {
        ++i;
        continue;
      }
      i = main_.erase(i);
      if (uses_[at(id)] == 0) return id;
      --uses_[at(id)];
      main_.push_back(id);
      if (i == main_.end()) i = std::prev(main_.end());
    }
    return -1;
  }

  std::size_t small_slots_, ghost_slots_;
  std::list<int> small_, main_, ghosts_;
  std::vector<int> uses_;
  bool evicted_ = false;
};

}  // namespace leanstream::traces
