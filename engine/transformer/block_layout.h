// Where the weights of a block lie in its bytes: the same on flash, in a slot and for every kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {

// A block of k neurons: k gate rows, k up rows, then the down columns of its neurons. Rows and
// columns have `hidden` weights, stored as their type says. The last block of a layer may hold
// fewer neurons; its places are the same, what is unused is zero. No row is aligned.
//
// The down columns are stored one after the other, or, with down_in_groups, as GGUF stores the
// down matrix: for each of the `hidden` outputs the k weights of the block's neurons, k a multiple
// of kBlockWeights. Only so can a quantised down matrix be kept as it is, since its scales are of
// kBlockWeights neighbouring neurons.
struct BlockLayout {
  TensorType gate = TensorType::kF16;
  TensorType up = TensorType::kF16;
  TensorType down = TensorType::kF16;
  bool down_in_groups = false;
  std::int32_t hidden = 0;
  std::int32_t block_neurons = 0;  // k

  std::size_t gate_offset(std::int32_t neuron) const;
  std::size_t up_offset(std::int32_t neuron) const;
  // Of the down column of a neuron; not with down_in_groups.
  std::size_t down_offset(std::int32_t neuron) const;
  // Of the k weights of one output; only with down_in_groups.
  std::size_t down_group_offset(std::int32_t output) const;
  // All of it, without padding.
  std::size_t bytes() const;
};

// Bytes of `weights` weights of one row; a multiple of the type's block is needed.
std::size_t row_bytes(TensorType type, std::int64_t weights);

}  // namespace leanstream::transformer
