// Reading and writing safetensors files: 8 bytes header length, a JSON header, then the tensors'
// bytes (little-endian, row-major). Format: github.com/huggingface/safetensors, "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/atomic_file.h"
#include "engine/base/mapped_file.h"

namespace leanstream::model {

enum class Dtype { kU8, kU16, kI32, kI64, kF16, kF32 };

std::size_t width_bytes(Dtype dtype);
std::string_view name(Dtype dtype);  // as in the file: "U8", "F16", …

// The element type that C++ code uses for a dtype; f16 is handled as its 16 bits.
template <typename T>
bool holds(Dtype dtype);

// What the header says of one tensor. Its elements (product of the shape) fit in memory.
struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::vector<std::int64_t> shape;  // outermost first; a 0 means no elements
  std::uint64_t offset_bytes = 0;   // from the start of the data section
  std::uint64_t size_bytes = 0;

  std::int64_t elements() const;
};

// A file opened for reading. The constructor checks everything: header at most 100 MB, valid JSON
// without duplicate names, known dtypes, shapes that agree with the offsets, tensors that cover the
// data section without overlap or hole. Throws UserError: file, tensor, what would be right.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Throws UserError when the header has no such metadata entry.
  const std::string& metadata(const std::string& key) const;
  std::span<const TensorInfo> tensors() const { return tensors_; }  // in order of offset
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const TensorInfo* find(std::string_view name) const;

  // The tensor of this name and dtype; `shape` may hold −1 for any extent. Throws UserError when it
  // is missing or different.
  const TensorInfo& require(std::string_view name, Dtype dtype,
                            std::span<const std::int64_t> shape) const;

  // The stored bytes, valid as long as the reader lives. Not aligned.
  std::span<const std::byte> bytes(const TensorInfo& tensor) const;

  // Copies elements first … first + out.size() − 1 (in row-major order) of a tensor of T.
  template <typename T>
  void read(const TensorInfo& tensor, std::int64_t first, std::span<T> out) const {
    check_range(tensor, holds<T>(tensor.dtype), first, out.size());
    if (out.empty()) return;
    std::memcpy(out.data(), bytes(tensor).data() + static_cast<std::size_t>(first) * sizeof(T),
                out.size_bytes());
  }

  // All elements.
  template <typename T>
  std::vector<T> read(const TensorInfo& tensor) const {
    std::vector<T> out(static_cast<std::size_t>(tensor.elements()));
    read<T>(tensor, 0, out);
    return out;
  }

 private:
  static void check_range(const TensorInfo& tensor, bool type_fits, std::int64_t first,
                          std::size_t count);
  void parse_header(std::string_view json);
  void check_layout() const;

  MappedFile file_;
  std::size_t data_offset_ = 0;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorInfo> tensors_;
};

// What a writer is told of one tensor before any data.
struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::vector<std::int64_t> shape;
};

// Writes a file atomically: all tensors are declared first, then their bytes are appended in the
// order of declaration, in pieces of any size. The data section starts at a multiple of 8; wide
// elements should be declared before narrow ones so that they stay aligned.
class SafetensorsWriter {
 public:
  // Throws UserError when the file cannot be created.
  SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors,
                    const std::map<std::string, std::string>& metadata);

  // The next elements of tensor `name`, which must be the first one that is not yet complete.
  template <typename T>
  void append(std::string_view name, std::span<const T> elements) {
    append_bytes(name, holds<T>(current_dtype(name)), std::as_bytes(elements));
  }

  // Every tensor must be complete. Throws UserError when the disk is full.
  void commit();

 private:
  Dtype current_dtype(std::string_view name);
  void append_bytes(std::string_view name, bool type_fits, std::span<const std::byte> bytes);

  AtomicFile file_;
  std::vector<TensorSpec> tensors_;
  std::size_t current_ = 0;
  std::uint64_t left_bytes_ = 0;  // of tensors_[current_]
};

template <>
inline bool holds<std::uint8_t>(Dtype dtype) {
  return dtype == Dtype::kU8;
}
template <>
inline bool holds<std::uint16_t>(Dtype dtype) {
  return dtype == Dtype::kU16 || dtype == Dtype::kF16;
}
template <>
inline bool holds<std::int32_t>(Dtype dtype) {
  return dtype == Dtype::kI32;
}
template <>
inline bool holds<std::int64_t>(Dtype dtype) {
  return dtype == Dtype::kI64;
}
template <>
inline bool holds<float>(Dtype dtype) {
  return dtype == Dtype::kF32;
}

}  // namespace leanstream::model
