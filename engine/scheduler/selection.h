// From importance codes of neurons to the wanted blocks of a layer. Everything is decided on
// integers, so that every compiler and machine chooses the same set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/block_set.h"
#include "engine/base/code_sums.h"
#include "engine/base/top_choice.h"
#include "engine/model/activations.h"
#include "engine/scheduler/run_spec.h"

namespace leanstream::scheduler {

// What is known of a layer's blocks from the scores of its neurons.
struct BlockScores {
  explicit BlockScores(BlockId blocks)
      : wanted(blocks),
        units(static_cast<std::size_t>(blocks)),
        priority(static_cast<std::size_t>(blocks)) {}

  BlockSet wanted;
  std::vector<std::uint32_t> units;    // summed importance; a neuron of the layer's highest level
                                       // has (2^31 − 1) ÷ neurons of a block
  std::vector<std::uint8_t> priority;  // class_of(units): higher is more important
};

class Selection {
 public:
  Selection(const RunSpec& spec, const model::Activations& activations);

  // Blocks wanted of a layer at the run's density; with Select::neurons the number of neurons.
  static std::int32_t wanted_count(const RunSpec& spec);

  // Scores the blocks from codes[ffn] in neuron order and chooses the wanted ones. Ties are broken
  // by a hash of (token, index). Blocks of `always` (may be null) are wanted whatever their
  // importance and take the place of others.
  void choose(TokenId token, LayerId layer, std::span<const std::uint8_t> codes,
              const BlockSet* always, BlockScores& out);

  // Only the units.
  void sum(LayerId layer, std::span<const std::uint8_t> codes,
           std::span<std::uint32_t> units) const;

 private:
  // What lies at each position on flash; the argument itself where that is the model's own order.
  // Everything below is by position.
  std::span<const std::uint8_t> in_flash_order(LayerId layer,
                                               std::span<const std::uint8_t> codes) const;
  void sum_placed(LayerId layer, std::span<const std::uint8_t> codes,
                  std::span<std::uint32_t> units) const;
  void choose_neurons(TokenId token, std::span<const std::uint8_t> codes, const BlockSet* always,
                      BlockSet& wanted);
  void choose_blocks(TokenId token, const BlockSet* always, BlockScores& scores);

  model::BlockGeometry geometry_;
  Select select_;
  std::int32_t wanted_count_;
  const policy::Placement* placement_;
  std::vector<CodeSums> units_;  // of each layer, importance of each code
  TopChoice top_;
  mutable std::vector<std::uint8_t> placed_;  // scratch
  BlockSet neurons_;                          // scratch
  std::vector<std::uint8_t> raised_;  // scratch: codes or priorities, those of `always` highest
  std::vector<std::uint32_t> raised_units_;  // scratch
};

}  // namespace leanstream::scheduler
