// What of a model stays in memory while its MLPs stream from flash: embedding, attention, norms and
// head, in the types in which they are stored. Reads nothing from files once it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/types.h"
#include "engine/model/shape.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/kernels.h"
#include "engine/transformer/model.h"
#include "engine/transformer/sampling.h"

namespace leanstream::transformer {

// [rows, columns], row-major as in GGUF.
struct StoredMatrix {
  TensorType type = TensorType::kF16;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::byte> bytes;
};

struct DecoderLayer {
  std::vector<float> attention_norm;  // [hidden]
  StoredMatrix query, key, value;     // [query_size | kv_size, hidden]
  StoredMatrix output;                // [hidden, query_size]
  std::vector<float> mlp_norm;        // [hidden]
};

struct Decoder {
  LlamaShape shape;
  StoredMatrix embedding;  // [vocab, hidden]
  StoredMatrix head;       // [vocab, hidden]; no rows when tied to the embedding
  std::vector<float> final_norm;
  std::vector<double> rope_rates;  // [rope_size / 2]: radians a position
  std::vector<DecoderLayer> layers;

  Bytes bytes() const;
};

// Copies out of the file. Throws UserError as Model does.
Decoder read_decoder(const GgufFile& file);

// Of a model of which its shape alone is known, for up to `context` tokens: rotation and norm as is
// usual.
LlamaShape llama_shape(const model::ModelShape& shape, TokenId context);

// Seeded weights of variance 1 ÷ columns, of type f16 or q8_0.
Decoder random_decoder(const LlamaShape& shape, TensorType type, std::uint64_t seed);

}  // namespace leanstream::transformer
