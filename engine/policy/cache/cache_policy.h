// Cache policies: which blocks to give up when room is needed, and which not to keep at all.
#pragma once

#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/types.h"
#include "engine/policy/registry.h"

namespace leanstream::policy {

struct BlockRef {
  LayerId layer = 0;
  BlockId block = 0;
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

// The sets that will be computed, known in advance where activations are recorded: for bounds.
class Future {
 public:
  virtual ~Future() = default;
  virtual TokenId tokens() const = 0;
  virtual BlockSet wanted(TokenId token, LayerId layer) const = 0;
};

// What may be evicted now. As a rule: resident, and wanted neither by the layer being computed nor
// by the newest prediction for the next one.
struct CacheView {
  std::span<const BlockSet> evictable;  // one set a layer
  LayerId current_layer = 0;            // being computed
  // For policies that remember something between calls; both may be empty: unknown.
  std::span<const BlockSet> resident{};  // one set a layer, what is evictable among it
  // Of a layer, not 0: its evictable set is what it was at the last call with this version, less
  // the victims named since.
  std::span<const std::uint64_t> versions{};
};

// Victims as sets, for who keeps residents as sets (replays).
class VictimSets {
 public:
  struct Chunk {
    LayerId layer = 0;
    BlockSet blocks;
  };

  VictimSets(LayerId layers, BlockId blocks_per_layer)
      : blocks_per_layer_(blocks_per_layer), single_(static_cast<std::size_t>(layers), kUnused) {}

  void clear() {
    for (const Chunk& chunk : chunks()) single_[static_cast<std::size_t>(chunk.layer)] = kUnused;
    used_ = 0, count_ = 0;
  }
  // `number` blocks of a layer, none of them named before.
  void add(LayerId layer, const BlockSet& blocks, BlockId number) {
    Chunk& chunk = next(layer);
    chunk.blocks = blocks;
    count_ += number;
  }
  void add(const BlockRef& ref) {
    std::size_t& chunk = single_[static_cast<std::size_t>(ref.layer)];
    if (chunk == kUnused) {
      chunk = used_;
      next(ref.layer).blocks.clear();
    }
    chunks_[chunk].blocks.set(ref.block);
    ++count_;
  }

  BlockId count() const { return count_; }
  std::span<const Chunk> chunks() const { return {chunks_.data(), used_}; }

 private:
  Chunk& next(LayerId layer) {
    if (used_ == chunks_.size()) chunks_.push_back({layer, BlockSet(blocks_per_layer_)});
    chunks_[used_].layer = layer;
    return chunks_[used_++];
  }

  static constexpr std::size_t kUnused = ~std::size_t{0};

  BlockId blocks_per_layer_;
  std::vector<std::size_t> single_;  // of each layer, the chunk of its blocks named one by one
  std::vector<Chunk> chunks_;        // those that are not in use keep their room
  std::size_t used_ = 0;
  BlockId count_ = 0;
};

// Hooks have no-op defaults; none may keep a reference to its arguments. Steps count layers of
// tokens: step = token · layers + layer.
class CachePolicy {
 public:
  static constexpr const char* kKind = "cache";

  struct Context {
    LayerId layers = 0;
    BlockId blocks_per_layer = 0;
    SlotId slots = 0;
    TokenId prompt_tokens = 0;
    const Future* future = nullptr;  // of this run; outlives the policy
  };

  virtual ~CachePolicy() = default;

  // The blocks of a layer were computed. In prefill: once for each prompt token in order, after
  // the layer is done, with that token's active set. Cost bound: a few words a block.
  virtual void used(LayerId, const BlockSet& /*blocks*/, StepId) {}

  // Blocks of a layer have arrived from flash for `step`.
  virtual void inserted(LayerId, const BlockSet& /*blocks*/, StepId) {}

  // Whether scored() shall be called.
  virtual bool reads_scores() const { return false; }

  // The layer's blocks have these scores for `step`: its final prediction, in prefill the truth of
  // one token. Called before used(), unless everything is wanted.
  virtual void scored(LayerId, std::span<const std::uint32_t> /*units*/, StepId) {}

  // Appends at most `count` evictable blocks to `out`, the first to go first. With
  // `cache.resident`, what is named is evicted.
  virtual void victims(const CacheView& cache, BlockId count, std::vector<BlockRef>& out) const = 0;

  // Adds the same blocks to `out`.
  virtual void victim_sets(const CacheView& cache, BlockId count, VictimSets& out) const {
    listed_.clear();
    victims(cache, count, listed_);
    for (const BlockRef& ref : listed_) out.add(ref);
  }

  // Marks in `out` the resident blocks of a layer that shall be dropped though no room is needed.
  // Called when the layer has been computed (`step`), in prefill as well, and for every layer once
  // more when prefill ends (with the first step of the first decoded token).
  virtual void expired(LayerId, const BlockSet& /*resident*/, StepId, BlockSet& /*out*/) {}

  // The last layer of the prompt was computed; its head is still to come. Who plans for decoding
  // does so here: it takes the prompt's time, not the first token's.
  virtual void prompt_ended() {}

  // Blocks of a layer that are computed for every decoded token, whatever is predicted: they take
  // their place within the run's density. nullptr: none. May change only in prompt_ended().
  virtual const BlockSet* always_computed(LayerId) const { return nullptr; }

 private:
  mutable std::vector<BlockRef> listed_;  // scratch
};

}  // namespace leanstream::policy

#define LEANSTREAM_CACHE_POLICY(Policy, name, help) \
  LEANSTREAM_POLICY(::leanstream::policy::CachePolicy, Policy, name, help)
