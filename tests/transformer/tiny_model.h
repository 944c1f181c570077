// Writes small GGUF files: metadata and tensors of any kind, and a whole random llama model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {

// Collects values and tensors in order; bytes() is the file, version 3, alignment 32.
class GgufBuilder {
 public:
  void add_u32(std::string_view key, std::uint32_t value);
  void add_f32(std::string_view key, float value);
  void add_flag(std::string_view key, bool value);
  void add_text(std::string_view key, std::string_view value);
  void add_texts(std::string_view key, const std::vector<std::string>& values);
  void add_i32s(std::string_view key, const std::vector<std::int32_t>& values);
  // A value of any type, its bytes given.
  void add_raw(std::string_view key, std::uint32_t type, std::string_view bytes);

  // shape: innermost first. Values are stored as `type` (quantised by rounding).
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& shape, TensorType type,
                  const std::vector<float>& values);
  // A tensor whose header says what it likes.
  void add_raw_tensor(std::string_view name, const std::vector<std::uint64_t>& shape,
                      std::uint32_t type, std::uint64_t offset, std::string_view data);

  std::string bytes() const;

 private:
  std::uint64_t value_count_ = 0;
  std::uint64_t tensor_count_ = 0;
  std::string values_, tensors_, data_;
};

// Little-endian bytes of a number; length and bytes of a text.
template <typename T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string raw_text(std::string_view text);

// As `type` stores them.
std::string encode_weights(TensorType type, const std::vector<float>& values);

// All types there are.
std::vector<TensorType> all_tensor_types();

struct TinyOptions {
  TensorType type = TensorType::kF32;  // of the matrices
  bool tied = true;                    // no output.weight
  std::uint64_t seed = 1;
};

// A llama model of 2 layers, hidden 64, ffn 96, 4 heads sharing 2, and a byte-level vocabulary of
// 256 bytes, the merges "he", "ll", "hell", "hello", and three control tokens of ChatML.
std::string tiny_model(const TinyOptions& options = {});

// Metadata and vocabulary of that model, without tensors.
GgufBuilder tiny_metadata();

// A file in the test's folder of temporary files; removed at the end of the program.
std::string write_temporary(const std::string& name, std::string_view bytes);

}  // namespace leanstream::transformer
