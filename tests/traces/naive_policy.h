// A cache as a plain array, one block after the other, written for clarity only: what the engine's
// must agree with. Blocks are numbered layer · blocks + block.
#pragma once

#include <vector>

#include "traces/active_sets.h"

namespace leanstream::traces {

struct NaiveShape {
  const SetSequence& sets;
  int slots = 0;
  int prompt_tokens = 0;
  int blocks() const { return sets.ffn(); }
  int layers() const { return sets.layers(); }
  std::size_t all() const { return static_cast<std::size_t>(sets.neurons()); }
};

class NaivePolicy {
 public:
  explicit NaivePolicy(const NaiveShape& shape) : shape_(shape), fresh_(shape.all()) {}
  virtual ~NaivePolicy() = default;

  virtual void arrived(int /*id*/, int /*step*/) {}
  virtual void all_arrived() {}                   // of one look-up
  virtual void used(int /*id*/, int /*step*/) {}  // whether or not it is in the cache
  virtual void reused(int /*id*/, int /*step*/) {}
  virtual void all_used() {}  // of one look-up
  virtual void step_ended(int /*step*/) {}
  virtual void prompt_ended() {}
  virtual bool drops(int /*id*/, int /*layer*/, int /*step*/) { return false; }
  virtual void room_needed(int /*count*/) {}  // so many victims are asked for
  // One of those with may_go[id], or −1: none shall go.
  virtual int victim(const std::vector<char>& may_go, int layer) = 0;

  // The first use since the arrival is what the block was read for.
  void note_arrival(int id, int step) {
    fresh_[at(id)] = 1;
    arrived(id, step);
  }
  void note_use(int id, int step) {
    used(id, step);
    if (!fresh_[at(id)]) reused(id, step);
    fresh_[at(id)] = 0;
  }

 protected:
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  // The block that may go with the lowest key.
  template <typename Key>
  int lowest(const std::vector<char>& may_go, Key&& key) const {
    int best = -1;
    for (int id = 0; id < static_cast<int>(may_go.size()); ++id) {
      if (may_go[at(id)] && (best < 0 || key(id) < key(best))) best = id;
    }
    return best;
  }

  NaiveShape shape_;

 private:
  std::vector<char> fresh_;
};

// A cache of a number of slots that starts empty.
class NaiveCache {
 public:
  NaiveCache(NaivePolicy& policy, const NaiveShape& shape)
      : policy_(policy), shape_(shape), cached_(shape.all()) {}

  // The misses of a step that wants these blocks.
  int use(int layer, const std::vector<int>& wanted, int step) {
    const int missed = look_up(layer, wanted, step);
    drop(layer, step);
    return missed;
  }
  int use_one_by_one(int layer, const std::vector<int>& wanted, int step) {
    int missed = 0;
    for (const int id : wanted) missed += look_up(layer, {id}, step);
    drop(layer, step);
    return missed;
  }
  void end_prompt(int step) {
    policy_.prompt_ended();
    for (int l = 0; l < shape_.layers(); ++l) drop(l, step);
  }

 private:
  int look_up(int layer, const std::vector<int>& wanted, int step) {
    std::vector<int> missing;
    for (const int id : wanted) {
      if (!cached_[static_cast<std::size_t>(id)]) missing.push_back(id);
    }
    std::vector<char> may_go = cached_;
    for (const int id : wanted) may_go[static_cast<std::size_t>(id)] = 0;
    evict(may_go, layer, static_cast<int>(missing.size()));
    for (const int id : missing) {
      cached_[static_cast<std::size_t>(id)] = 1;
      ++held_;
      policy_.note_arrival(id, step);
    }
    if (!missing.empty()) policy_.all_arrived();
    for (const int id : wanted) policy_.note_use(id, step);
    policy_.all_used();
    evict(cached_, layer, 0);
    return static_cast<int>(missing.size());
  }

  void evict(std::vector<char> may_go, int layer, int coming) {
    if (held_ + coming > shape_.slots) policy_.room_needed(held_ + coming - shape_.slots);
    while (held_ + coming > shape_.slots) {
      const int id = policy_.victim(may_go, layer);
      if (id < 0) return;
      may_go[static_cast<std::size_t>(id)] = cached_[static_cast<std::size_t>(id)] = 0;
      --held_;
    }
  }

  void drop(int layer, int step) {
    policy_.step_ended(step);
    for (int b = 0; b < shape_.blocks(); ++b) {
      char& cached = cached_[static_cast<std::size_t>(layer * shape_.blocks() + b)];
      if (!cached || !policy_.drops(layer * shape_.blocks() + b, layer, step)) continue;
      cached = 0;
      --held_;
    }
  }

  NaivePolicy& policy_;
  NaiveShape shape_;
  std::vector<char> cached_;
  int held_ = 0;
};

}  // namespace leanstream::traces
