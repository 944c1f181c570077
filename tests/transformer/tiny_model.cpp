#include "tests/transformer/tiny_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unistd.h>

#include "engine/base/atomic_file.h"
#include "engine/base/random.h"
#include "engine/transformer/unicode.h"

namespace leanstream::transformer {
namespace {

constexpr std::uint32_t kHidden = 64, kFfn = 96, kHeads = 4, kKvHeads = 2, kLayers = 2;

std::string half(float value) {
  return raw(float_to_half(value));
}

std::string encode_block(TensorType type, const float* w) {
  const auto [low, high] = std::minmax_element(w, w + kBlockWeights);
  const float most = std::max(std::abs(*low), std::abs(*high));
  const auto step = [](float value, float scale) {
    return scale == 0 ? 0 : static_cast<int>(std::lround(value / scale));
  };
  std::string out;
  if (type == TensorType::kQ8_0) {
    const float scale = most / 127;
    out = half(scale);
    for (int i = 0; i < kBlockWeights; ++i) out += static_cast<char>(step(w[i], scale));
    return out;
  }
  const bool has_minimum = type == TensorType::kQ4_1;
  const float scale = has_minimum ? (*high - *low) / 15 : most / 7;
  const float offset = has_minimum ? *low : -8 * scale;
  out = half(scale) + (has_minimum ? half(*low) : "");
  const auto nibble = [&](int i) { return std::clamp(step(w[i] - offset, scale), 0, 15); };
  for (int i = 0; i < kBlockWeights / 2; ++i) {
    out += static_cast<char>(nibble(i) | nibble(i + kBlockWeights / 2) << 4);
  }
  return out;
}

std::vector<float> random_weights(RandomStream& random, std::size_t count, double size) {
  std::vector<float> out(count);
  for (float& v : out) v = static_cast<float>((2 * random.next_unit() - 1) * size);
  return out;
}

// GPT-2's spelling of bytes, in order of bytes.
std::vector<std::string> byte_tokens() {
  std::vector<std::string> tokens;
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    append_utf8(tokens.emplace_back(), printable ? b : next++);
  }
  return tokens;
}

}  // namespace

std::string raw_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

std::string encode_weights(TensorType type, const std::vector<float>& values) {
  std::string out;
  if (find_tensor_type(static_cast<std::uint32_t>(type))->block_weights == kBlockWeights) {
    for (std::size_t i = 0; i < values.size(); i += kBlockWeights) {
      out += encode_block(type, values.data() + i);
    }
    return out;
  }
  for (const float v : values) {
    if (type == TensorType::kF32) out += raw(v);
    if (type == TensorType::kF16) out += half(v);
    if (type == TensorType::kBf16) {
      out += raw(v).substr(2);  // cut, not rounded
    }
  }
  return out;
}

std::vector<TensorType> all_tensor_types() {
  return {TensorType::kF32,  TensorType::kF16,  TensorType::kBf16,
          TensorType::kQ8_0, TensorType::kQ4_0, TensorType::kQ4_1};
}

void GgufBuilder::add_raw(std::string_view key, std::uint32_t type, std::string_view bytes) {
  values_ += raw_text(key) + raw(type) + std::string(bytes);
  ++value_count_;
}
void GgufBuilder::add_u32(std::string_view key, std::uint32_t value) {
  add_raw(key, 4, raw(value));
}
void GgufBuilder::add_f32(std::string_view key, float value) {
  add_raw(key, 6, raw(value));
}
void GgufBuilder::add_flag(std::string_view key, bool value) {
  add_raw(key, 7, raw(static_cast<std::uint8_t>(value)));
}
void GgufBuilder::add_text(std::string_view key, std::string_view value) {
  add_raw(key, 8, raw_text(value));
}
void GgufBuilder::add_texts(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes = raw(std::uint32_t{8}) + raw(std::uint64_t{values.size()});
  for (const std::string& value : values) bytes += raw_text(value);
  add_raw(key, 9, bytes);
}
void GgufBuilder::add_i32s(std::string_view key, const std::vector<std::int32_t>& values) {
  std::string bytes = raw(std::uint32_t{5}) + raw(std::uint64_t{values.size()});
  for (const std::int32_t value : values) bytes += raw(value);
  add_raw(key, 9, bytes);
}

void GgufBuilder::add_tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
                             TensorType type, const std::vector<float>& values) {
  add_raw_tensor(name, shape, static_cast<std::uint32_t>(type), data_.size(),
                 encode_weights(type, values));
}

void GgufBuilder::add_raw_tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
                                 std::uint32_t type, std::uint64_t offset, std::string_view data) {
  tensors_ += raw_text(name) + raw(static_cast<std::uint32_t>(shape.size()));
  for (const std::uint64_t extent : shape) tensors_ += raw(extent);
  tensors_ += raw(type) + raw(offset);
  data_ += data;
  data_.append((32 - data_.size() % 32) % 32, '\0');
  ++tensor_count_;
}

std::string GgufBuilder::bytes() const {
  std::string out = "GGUF" + raw(std::uint32_t{3}) + raw(tensor_count_) + raw(value_count_);
  out += values_ + tensors_;
  out.append((32 - out.size() % 32) % 32, '\0');
  return out + data_;
}

GgufBuilder tiny_metadata() {
  GgufBuilder file;
  file.add_text("general.architecture", "llama");
  file.add_u32("llama.block_count", kLayers);
  file.add_u32("llama.context_length", 256);
  file.add_u32("llama.embedding_length", kHidden);
  file.add_u32("llama.feed_forward_length", kFfn);
  file.add_u32("llama.attention.head_count", kHeads);
  file.add_u32("llama.attention.head_count_kv", kKvHeads);
  file.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  file.add_text("tokenizer.ggml.model", "gpt2");
  file.add_text("tokenizer.ggml.pre", "gpt-2");
  auto tokens = byte_tokens();
  std::vector<std::int32_t> types(tokens.size() + 4, 1);
  tokens.insert(tokens.end(), {"he", "ll", "hell", "hello"});
  tokens.insert(tokens.end(), {"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  types.insert(types.end(), 3, 3);
  file.add_texts("tokenizer.ggml.tokens", tokens);
  file.add_i32s("tokenizer.ggml.token_type", types);
  file.add_texts("tokenizer.ggml.merges", {"l l", "h e", "he ll", "hell o"});
  file.add_u32("tokenizer.ggml.eos_token_id", 262);
  file.add_text("tokenizer.chat_template",
                "{{ '<|im_start|>system\nBe brief<|im_end|>\n' }}{% for m in messages %}...");
  return file;
}

std::string tiny_model(const TinyOptions& options) {
  GgufBuilder file = tiny_metadata();
  RandomStream random(options.seed, "tests.tiny_model");
  constexpr std::uint64_t kVocab = 263;
  const auto matrix = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows) {
    file.add_tensor(name, {columns, rows}, options.type,
                    random_weights(random, columns * rows, 2.0 / std::sqrt(double(columns))));
  };
  const auto ones = [&](const std::string& name) {
    file.add_tensor(name, {kHidden}, TensorType::kF32, std::vector<float>(kHidden, 1.0F));
  };
  matrix("token_embd.weight", kHidden, kVocab);
  if (!options.tied) matrix("output.weight", kHidden, kVocab);
  ones("output_norm.weight");
  for (std::uint32_t l = 0; l < kLayers; ++l) {
    const std::string layer = "blk." + std::to_string(l) + ".";
    ones(layer + "attn_norm.weight");
    matrix(layer + "attn_q.weight", kHidden, kHidden);
    matrix(layer + "attn_k.weight", kHidden, kHidden / kHeads * kKvHeads);
    matrix(layer + "attn_v.weight", kHidden, kHidden / kHeads * kKvHeads);
    matrix(layer + "attn_output.weight", kHidden, kHidden);
    ones(layer + "ffn_norm.weight");
    matrix(layer + "ffn_gate.weight", kHidden, kFfn);
    matrix(layer + "ffn_up.weight", kHidden, kFfn);
    matrix(layer + "ffn_down.weight", kFfn, kHidden);
  }
  return file.bytes();
}

std::string write_temporary(const std::string& name, std::string_view bytes) {
  struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("leanstream_transformer_" + std::to_string(::getpid()));
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  const auto path = (folder.path / name).string();
  write_file(path, bytes);
  return path;
}

}  // namespace leanstream::transformer
