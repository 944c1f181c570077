// From importance codes of neurons to the wanted blocks of a layer. Everything is decided on
// integers, so that every compiler and machine chooses the same set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/model/activations.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::scheduler {

class Selection {
 public:
  Selection(const RunSpec& spec, const model::Activations& activations);

  // Blocks wanted of a layer at the run's density; with Select::neurons the number of neurons.
  static std::int32_t wanted_count(const RunSpec& spec);

  // Chooses the wanted blocks and the priority byte of every block (a logarithm of its summed
  // importance; higher is more important) from codes[ffn] in neuron order. Ties are broken by a
  // hash of (token, block). Blocks of `always` are wanted whatever their importance and take the
  // place of others. Returns what sum() does.
  std::span<const std::uint64_t> choose(TokenId token, LayerId layer,
                                        std::span<const std::uint8_t> codes, const BlockSet* always,
                                        BlockSet& wanted, std::span<std::uint8_t> priority);

  // Summed importance of each block in integer units (2^35 = the layer's highest level), valid
  // until the next call of choose or sum.
  std::span<const std::uint64_t> sum(LayerId layer, std::span<const std::uint8_t> codes);

 private:
  void choose_neurons(TokenId token, std::span<const std::uint8_t> codes, const BlockSet* always,
                      BlockSet& wanted);
  void choose_blocks(TokenId token, const BlockSet* always, BlockSet& wanted);
  template <typename Take>
  void take_best(Take take);

  model::BlockGeometry geometry_;
  Select select_;
  std::int32_t wanted_count_;
  std::vector<std::vector<std::uint64_t>> units_;  // of each layer, importance of each code
  std::vector<std::uint64_t> sums_;                // of each block
  std::vector<std::uint64_t> keys_;  // importance above, a hash of (token, index) below
  std::vector<std::uint64_t> scratch_;
};

// 6 logarithmic steps an octave; 0 only for 0. units < 2^42.
std::uint8_t priority_of(std::uint64_t units);

}  // namespace leanstream::scheduler
