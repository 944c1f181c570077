#include "engine/transformer/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/transformer/gguf_bytes.h"

namespace leanstream::transformer {
namespace {

constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::size_t kMaxDimensions = 4;
constexpr std::uint64_t kMaxNameBytes = 65'535;
constexpr std::uint64_t kSmallestValueBytes = 8 + 4 + 1;  // key length, type, one byte
constexpr std::uint64_t kSmallestTensorBytes = 8 + 4 + 4 + 8;

}  // namespace

// Walks over the header; every step checks that the bytes are there.
class GgufFile::Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::size_t at() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }

  template <typename T>
  T take(std::string_view what) {
    const std::size_t from = skip(sizeof(T), what);
    return load<T>(bytes_, from);
  }

  std::string_view take_text(std::string_view what, std::uint64_t limit) {
    const std::size_t start = at_;
    const auto length = take<std::uint64_t>(what);
    if (length > limit) fail(start, "{} of {} bytes; at most {}", what, length, limit);
    const std::size_t from = skip(length, what);
    return {reinterpret_cast<const char*>(bytes_.data()) + from, static_cast<std::size_t>(length)};
  }

  // Moves on by `count` bytes; gives where they start.
  std::size_t skip(std::uint64_t count, std::string_view what) {
    if (count > left()) fail(at_, "{} needs {} bytes, the file ends after {}", what, count, left());
    return std::exchange(at_, at_ + static_cast<std::size_t>(count));
  }

  template <typename... Args>
  [[noreturn]] void fail(std::size_t offset, fmt::format_string<Args...> format,
                         Args&&... args) const {
    throw UserError("{}: byte {}: {}", path_, offset,
                    fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

std::int64_t GgufTensor::rows() const {
  std::int64_t product = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) product *= shape[i];
  return product;
}

GgufFile::GgufFile(const std::string& path) : file_(path) {
  static_assert(std::endian::native == std::endian::little, "the files are little-endian");
  Cursor cursor(file_.bytes(), path);
  std::uint64_t tensor_count = 0, value_count = 0;
  read_header(cursor, tensor_count, value_count);
  read_values(cursor, value_count);
  read_tensors(cursor, tensor_count);
  place_tensors(cursor.at());
}

void GgufFile::read_header(Cursor& cursor, std::uint64_t& tensor_count,
                           std::uint64_t& value_count) const {
  const auto magic = cursor.take<std::uint32_t>("the magic number");
  if (magic != kMagic) cursor.fail(0, "this is no GGUF file: it must start with 'GGUF'");
  const auto version = cursor.take<std::uint32_t>("the version");
  if (version != 2 && version != 3) {
    cursor.fail(4, "GGUF version {} is not supported; 2 and 3, little-endian, are", version);
  }
  tensor_count = cursor.take<std::uint64_t>("the number of tensors");
  if (tensor_count > cursor.left() / kSmallestTensorBytes) {
    cursor.fail(8, "{} tensors do not fit in this file", tensor_count);
  }
  value_count = cursor.take<std::uint64_t>("the number of metadata values");
  if (value_count > cursor.left() / kSmallestValueBytes) {
    cursor.fail(16, "{} metadata values do not fit in this file", value_count);
  }
}

GgufFile::Value GgufFile::read_value(Cursor& cursor, const std::string& key) const {
  const std::string what = fmt::format("the value of '{}'", key);
  const std::size_t start = cursor.at();
  Value value;
  value.type = static_cast<GgufType>(cursor.take<std::uint32_t>(what));
  const bool array = value.type == GgufType::kArray;
  if (array) {
    value.element = static_cast<GgufType>(cursor.take<std::uint32_t>(what));
    value.count = cursor.take<std::uint64_t>(what);
  }
  const GgufType element = array ? value.element : value.type;
  const std::size_t width = fixed_bytes(element);
  if (width == 0 && element != GgufType::kText) {
    cursor.fail(start, "{} has type {}, which is {}", what, static_cast<std::uint32_t>(element),
                element == GgufType::kArray ? "an array inside an array: not supported"
                                            : "unknown; 0 to 12 are");
  }
  value.offset = cursor.at();
  const std::uint64_t smallest = width == 0 ? sizeof(std::uint64_t) : width;
  if (value.count > cursor.left() / smallest) {
    cursor.fail(start, "{} does not fit in this file: {} × {} bytes, {} are left", what,
                value.count, smallest, cursor.left());
  }
  if (width != 0) {
    cursor.skip(value.count * width, what);
  } else {
    for (std::uint64_t i = 0; i < value.count; ++i) cursor.take_text(what, cursor.left());
  }
  if (element == GgufType::kBool) {
    for (std::size_t i = 0; i < value.count; ++i) {
      if (load<std::uint8_t>(file_.bytes(), value.offset + i) > 1) {
        cursor.fail(value.offset + i, "{} is neither true (1) nor false (0)", what);
      }
    }
  }
  return value;
}

void GgufFile::read_values(Cursor& cursor, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t start = cursor.at();
    const std::string key(cursor.take_text("a metadata key", kMaxNameBytes));
    const Value value = read_value(cursor, key);
    if (!values_.emplace(key, value).second) {
      cursor.fail(start, "metadata key '{}' is there twice", key);
    }
  }
}

void GgufFile::read_tensors(Cursor& cursor, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t start = cursor.at();
    GgufTensor tensor;
    tensor.name = cursor.take_text("a tensor name", kMaxNameBytes);
    const std::string what = fmt::format("tensor '{}'", tensor.name);
    const auto dimensions = cursor.take<std::uint32_t>(what);
    if (dimensions < 1 || dimensions > kMaxDimensions) {
      cursor.fail(start, "{} has {} dimensions; 1 to {} are possible", what, dimensions,
                  kMaxDimensions);
    }
    std::int64_t weights = 1;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const auto extent = cursor.take<std::uint64_t>(what);
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
      if (extent < 1 || extent > kMost ||
          __builtin_mul_overflow(weights, static_cast<std::int64_t>(extent), &weights)) {
        cursor.fail(start, "{} has an extent of {}", what, extent);
      }
      tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto number = cursor.take<std::uint32_t>(what);
    const TensorTypeInfo* info = find_tensor_type(number);
    if (info == nullptr) {
      cursor.fail(start, "{} has type {}; supported are {}", what, number, tensor_type_names());
    }
    if (tensor.shape[0] % info->block_weights != 0) {
      cursor.fail(start, "{}: rows of {} weights cannot be {} (a multiple of {})", what,
                  tensor.shape[0], info->name, info->block_weights);
    }
    tensor.type = info->type;
    tensor.offset_bytes = cursor.take<std::uint64_t>(what);
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(weights / info->block_weights),
                               info->block_bytes, &tensor.size_bytes)) {
      cursor.fail(start, "{} is larger than any file", what);
    }
    if (!index_.emplace(tensor.name, tensors_.size()).second) {
      cursor.fail(start, "{} is there twice", what);
    }
    tensors_.push_back(std::move(tensor));
  }
}

// Offsets in the file count from the aligned end of the header; here they become those of the file.
void GgufFile::place_tensors(std::size_t header_end) {
  const std::int64_t wish = integer("general.alignment", 32);
  if (wish < 1 || wish > 1 << 20 || (wish & (wish - 1)) != 0) {
    throw UserError("{}: general.alignment is {}; it must be a power of two", path(), wish);
  }
  const auto alignment = static_cast<std::uint64_t>(wish);
  const std::uint64_t data = (header_end + alignment - 1) / alignment * alignment;
  const std::uint64_t size = file_.bytes().size();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  for (GgufTensor& tensor : tensors_) {
    const std::uint64_t relative = tensor.offset_bytes;
    if (relative % alignment != 0) {
      throw UserError("{}: tensor '{}' starts at {}, no multiple of the alignment {}", path(),
                      tensor.name, relative, alignment);
    }
    if (data > size || relative > size - data || tensor.size_bytes > size - data - relative) {
      throw UserError(
          "{}: tensor '{}' ({} bytes at byte {}) lies beyond the end of the file ({}): "
          "the file is cut or damaged",
          path(), tensor.name, tensor.size_bytes, data + std::min(relative, size), size);
    }
    tensor.offset_bytes = data + relative;
    extents.emplace_back(tensor.offset_bytes, tensor.offset_bytes + tensor.size_bytes);
  }
  std::sort(extents.begin(), extents.end());
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].second) {
      throw UserError("{}: two tensors overlap at byte {}", path(), extents[i].first);
    }
  }
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const GgufTensor& GgufFile::tensor(std::string_view name) const {
  const GgufTensor* found = find(name);
  if (found == nullptr) throw UserError("{}: there is no tensor '{}'", path(), name);
  return *found;
}

std::span<const std::byte> GgufFile::bytes(const GgufTensor& tensor) const {
  return file_.bytes().subspan(static_cast<std::size_t>(tensor.offset_bytes),
                               static_cast<std::size_t>(tensor.size_bytes));
}

void GgufFile::read_row(const GgufTensor& tensor, std::int64_t row, std::span<float> out) const {
  LEANSTREAM_CHECK(row >= 0 && row < tensor.rows() &&
                       static_cast<std::int64_t>(out.size()) == tensor.row_length(),
                   "row {} of tensor '{}'", row, tensor.name);
  const std::size_t row_bytes = tensor.size_bytes / static_cast<std::uint64_t>(tensor.rows());
  dequantise(tensor.type,
             bytes(tensor).subspan(static_cast<std::size_t>(row) * row_bytes, row_bytes), out);
}

}  // namespace leanstream::transformer
