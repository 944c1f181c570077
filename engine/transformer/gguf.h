// Reads GGUF files, versions 2 and 3, little-endian. Format: github.com/ggml-org/ggml,
// docs/gguf.md. Everything is checked when a file is opened, so that later look-ups cannot fail on
// damaged bytes, only on values that are missing or of another type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/mapped_file.h"
#include "engine/transformer/tensor_type.h"

namespace leanstream::transformer {

// Types of metadata values, numbered as in the file.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

struct GgufTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<std::int64_t> shape;  // innermost first, as in the file: [row length, rows, …]
  std::uint64_t offset_bytes = 0;   // from the start of the file
  std::uint64_t size_bytes = 0;

  std::int64_t row_length() const { return shape.empty() ? 1 : shape[0]; }
  std::int64_t rows() const;  // product of the other extents
};

class GgufFile {
 public:
  // Throws UserError naming file, item, byte offset and what would be right.
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return file_.path(); }

  // Metadata. The look-ups without a fallback throw UserError when the key is missing; all throw
  // when the value has another type. Views live as long as the file object.
  bool has(const std::string& key) const { return values_.contains(key); }
  std::int64_t integer(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double fallback) const;
  bool flag(const std::string& key, bool fallback) const;
  std::string_view text(const std::string& key) const;
  std::string_view text(const std::string& key, std::string_view fallback) const;
  std::vector<std::string_view> texts(const std::string& key) const;
  std::vector<std::int64_t> integers(const std::string& key) const;

  std::span<const GgufTensor> tensors() const { return tensors_; }  // in file order
  const GgufTensor* find(std::string_view name) const;
  // Throws UserError when there is none of that name.
  const GgufTensor& tensor(std::string_view name) const;
  std::span<const std::byte> bytes(const GgufTensor& tensor) const;
  // Its bytes have been copied: they leave this process's memory.
  void forget(const GgufTensor& tensor) const { file_.forget(bytes(tensor)); }
  // Row `row` as f32; out.size() = row_length.
  void read_row(const GgufTensor& tensor, std::int64_t row, std::span<float> out) const;

 private:
  class Cursor;
  struct Value {
    GgufType type = GgufType::kU8;
    GgufType element = GgufType::kU8;  // of an array
    std::uint64_t count = 1;           // of an array
    std::size_t offset = 0;            // of the first byte of the (first) value
  };

  void read_header(Cursor& cursor, std::uint64_t& tensor_count, std::uint64_t& value_count) const;
  Value read_value(Cursor& cursor, const std::string& key) const;
  void read_values(Cursor& cursor, std::uint64_t count);
  void read_tensors(Cursor& cursor, std::uint64_t count);
  void place_tensors(std::size_t header_end);
  const Value& value(const std::string& key) const;
  std::optional<std::int64_t> integer_at(GgufType type, std::size_t offset) const;
  [[noreturn]] void wrong_type(const std::string& key, std::string_view wanted) const;

  MappedFile file_;
  std::map<std::string, Value> values_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace leanstream::transformer
