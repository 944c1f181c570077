// A flash image: the MLP weights of a model as blocks that can be read past the page cache, behind
// a header that says what they are. README.md of this folder has the format to the byte.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/atomic_file.h"
#include "engine/base/types.h"
#include "engine/model/shape.h"

namespace leanstream::model {

// How the weights of a block are stored; engine/transformer/image_layout.h gives the meaning.
struct StoredWeights {
  std::string gate, up, down;  // names of types: "F16", "Q4_1", …
  bool down_in_groups = false;
  std::string note;  // why they differ from the model's, empty when they do not
};

// What a header states.
struct FlashImageInfo {
  ModelShape shape;  // bytes_per_weight: the mean over the weights of the MLPs
  StoredWeights weights;
  BlockGeometry geometry;
  Bytes logical_block_bytes = 4096;  // a power of two; blocks are padded to it
  std::string placement;             // name of the policy
  std::string placement_source;      // what it was fitted on, in words; may be empty
  // [layers][ffn]: orders[l][p] is the neuron at flash position p. Empty: the model's own order.
  std::vector<std::vector<std::int32_t>> orders;
  std::string source;       // name of the model file, or "random weights"
  std::string source_hash;  // XXH3-128 of the model file; empty for random weights
  std::uint64_t seed = 0;   // of random weights
  std::string tool;         // what wrote it, and its version

  std::int64_t blocks() const { return std::int64_t{shape.layers} * geometry.blocks_per_layer; }
  Bytes data_bytes() const { return static_cast<Bytes>(blocks()) * geometry.block_bytes; }
  // Empty for the model's own order.
  std::span<const std::int32_t> order(LayerId layer) const;
  // Neurons of a block in flash order. `scratch` holds them when the order is the model's own.
  std::span<const std::int32_t> neurons(LayerId layer, BlockId block,
                                        std::vector<std::int32_t>& scratch) const;
  // Bytes of all blocks ÷ bytes of the weights in them: padding and short last blocks.
  double read_amplification() const;
};

// An image opened for reading: a file, or a block device that begins with one. Reads the header
// only and keeps nothing open.
class FlashImage {
 public:
  // Checks all of the header and the size. Throws UserError: no image, of another version, damaged
  // (where), truncated.
  explicit FlashImage(const std::string& path);

  const std::string& path() const { return path_; }
  const FlashImageInfo& info() const { return info_; }
  Bytes data_offset() const { return data_offset_; }
  Bytes bytes() const { return data_offset_ + info_.data_bytes(); }
  Bytes header_bytes_in_memory() const;  // orders and checksums

  // Where a block begins in the file: a multiple of the logical block size.
  Bytes offset(LayerId layer, BlockId block) const {
    return data_offset_ + index(layer, block) * info_.geometry.block_bytes;
  }
  // hash64 of its block_bytes bytes.
  std::uint64_t checksum(LayerId layer, BlockId block) const {
    return checksums_[index(layer, block)];
  }

 private:
  std::size_t index(LayerId layer, BlockId block) const {
    return static_cast<std::size_t>(layer) *
               static_cast<std::size_t>(info_.geometry.blocks_per_layer) +
           static_cast<std::size_t>(block);
  }

  std::string path_;
  FlashImageInfo info_;
  Bytes data_offset_ = 0;
  std::vector<std::uint64_t> checksums_;
};

struct BadBlock {
  LayerId layer = 0;
  BlockId block = 0;
};

// The blocks whose bytes cannot be read or do not have their checksum, in flash order. Calls
// layer_done with the number of layers read. Throws UserError when the file cannot be opened.
std::vector<BadBlock> find_bad_blocks(const FlashImage& image,
                                      const std::function<void(LayerId)>& layer_done);

// Writes an image atomically, block by block.
class FlashImageWriter {
 public:
  // Takes the room on the disk. Throws UserError: no room, not writable.
  FlashImageWriter(const std::string& path, FlashImageInfo info);

  const FlashImageInfo& info() const { return info_; }
  Bytes data_offset() const { return data_offset_; }

  // The next block in flash order, layer by layer: block_bytes bytes. Throws UserError.
  void append(std::span<const std::byte> block);

  // Every block must be there. Writes the header, waits for the device and puts the file in place.
  // Throws UserError.
  void commit();

 private:
  FlashImageInfo info_;
  AtomicFile file_;
  std::string json_;
  Bytes data_offset_ = 0;
  std::vector<std::uint64_t> checksums_;
};

}  // namespace leanstream::model
