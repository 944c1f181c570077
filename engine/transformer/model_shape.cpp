#include <cmath>
#include <string>

#include "engine/base/error.h"
#include "engine/transformer/model.h"

namespace leanstream::transformer {
namespace {

constexpr std::int64_t kLargestSize = 1 << 24;

std::int32_t size(const GgufFile& file, const std::string& key, std::int64_t value) {
  if (value < 1 || value > kLargestSize) {
    throw UserError("{}: metadata '{}' is {}; possible are 1 to {}", file.path(), key, value,
                    kLargestSize);
  }
  return static_cast<std::int32_t>(value);
}

std::int32_t size(const GgufFile& file, const std::string& key) {
  return size(file, key, file.integer(key));
}

double positive(const GgufFile& file, const std::string& key, double value) {
  if (!std::isfinite(value) || value <= 0) {
    throw UserError("{}: metadata '{}' is {}; it must be above 0", file.path(), key, value);
  }
  return value;
}

void check_variant(const GgufFile& file) {
  const auto architecture = file.text("general.architecture");
  if (architecture != "llama") {
    throw UserError("{}: architecture '{}' is not supported; 'llama' is", file.path(),
                    architecture);
  }
  const auto scaling = file.text("llama.rope.scaling.type", "none");
  if (scaling != "none") {
    throw UserError("{}: rope scaling '{}' is not supported", file.path(), scaling);
  }
  if (file.integer("llama.expert_count", 0) != 0) {
    throw UserError("{}: mixtures of experts are not supported", file.path());
  }
}

}  // namespace

LlamaShape read_shape(const GgufFile& file) {
  check_variant(file);
  LlamaShape shape;
  shape.layers = size(file, "llama.block_count");
  shape.hidden = size(file, "llama.embedding_length");
  shape.ffn = size(file, "llama.feed_forward_length");
  shape.context = size(file, "llama.context_length");
  shape.heads = size(file, "llama.attention.head_count");
  const std::string kv = "llama.attention.head_count_kv";
  shape.kv_heads = size(file, kv, file.integer(kv, shape.heads));
  if (shape.heads % shape.kv_heads != 0) {
    throw UserError("{}: {} heads cannot share {} key/value heads", file.path(), shape.heads,
                    shape.kv_heads);
  }
  const std::string key = "llama.attention.key_length";
  shape.head_size = size(file, key, file.integer(key, shape.hidden / shape.heads));
  const std::string rope = "llama.rope.dimension_count";
  shape.rope_size = size(file, rope, file.integer(rope, shape.head_size));
  if (shape.head_size % 2 != 0 || shape.rope_size % 2 != 0 || shape.rope_size > shape.head_size) {
    throw UserError("{}: heads of {} with {} rotated dimensions: both must be even", file.path(),
                    shape.head_size, shape.rope_size);
  }
  if (std::int64_t{shape.heads} * shape.head_size > kLargestSize) {
    throw UserError("{}: {} heads of {} are too many", file.path(), shape.heads, shape.head_size);
  }
  shape.vocab = size(file, "rows of token_embd.weight", file.tensor("token_embd.weight").rows());
  const std::string base = "llama.rope.freq_base";
  shape.rope_base = positive(file, base, file.number(base, 10'000.0));
  const std::string epsilon = "llama.attention.layer_norm_rms_epsilon";
  shape.norm_epsilon = positive(file, epsilon, file.number(epsilon));
  return shape;
}

}  // namespace leanstream::transformer
