// Typed look-ups of metadata values.
#include <limits>

#include "engine/base/error.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/gguf_bytes.h"

namespace leanstream::transformer {
namespace {

// 0 for what is no integer; booleans count as bytes.
std::size_t integer_bytes(GgufType type) {
  const bool is_float = type == GgufType::kF32 || type == GgufType::kF64;
  return is_float ? 0 : fixed_bytes(type);
}

}  // namespace

const GgufFile::Value& GgufFile::value(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw UserError("{}: the metadata lacks '{}'", path(), key);
  return found->second;
}

void GgufFile::wrong_type(const std::string& key, std::string_view wanted) const {
  throw UserError("{}: metadata '{}' (byte {}) must be {}", path(), key, value(key).offset, wanted);
}

std::optional<std::int64_t> GgufFile::integer_at(GgufType type, std::size_t offset) const {
  const auto bytes = file_.bytes();
  switch (type) {
    case GgufType::kU8:
      return load<std::uint8_t>(bytes, offset);
    case GgufType::kI8:
      return load<std::int8_t>(bytes, offset);
    case GgufType::kU16:
      return load<std::uint16_t>(bytes, offset);
    case GgufType::kI16:
      return load<std::int16_t>(bytes, offset);
    case GgufType::kU32:
      return load<std::uint32_t>(bytes, offset);
    case GgufType::kI32:
      return load<std::int32_t>(bytes, offset);
    case GgufType::kI64:
      return load<std::int64_t>(bytes, offset);
    case GgufType::kU64: {
      const auto wide = load<std::uint64_t>(bytes, offset);
      if (wide > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      return static_cast<std::int64_t>(wide);
    }
    default:
      return std::nullopt;
  }
}

std::int64_t GgufFile::integer(const std::string& key) const {
  const Value& found = value(key);
  const auto number = integer_at(found.type, found.offset);
  if (!number) wrong_type(key, "an integer below 2^63");
  return *number;
}

std::int64_t GgufFile::integer(const std::string& key, std::int64_t fallback) const {
  return has(key) ? integer(key) : fallback;
}

double GgufFile::number(const std::string& key) const {
  const Value& found = value(key);
  if (found.type == GgufType::kF32) return load<float>(file_.bytes(), found.offset);
  if (found.type == GgufType::kF64) return load<double>(file_.bytes(), found.offset);
  wrong_type(key, "a floating-point number");
}

double GgufFile::number(const std::string& key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

bool GgufFile::flag(const std::string& key, bool fallback) const {
  if (!has(key)) return fallback;
  const Value& found = value(key);
  if (found.type != GgufType::kBool) wrong_type(key, "true or false");
  return load<std::uint8_t>(file_.bytes(), found.offset) != 0;
}

std::string_view GgufFile::text(const std::string& key) const {
  const Value& found = value(key);
  if (found.type != GgufType::kText) wrong_type(key, "text");
  const auto length = load<std::uint64_t>(file_.bytes(), found.offset);
  return {reinterpret_cast<const char*>(file_.bytes().data()) + found.offset + sizeof length,
          static_cast<std::size_t>(length)};
}

std::string_view GgufFile::text(const std::string& key, std::string_view fallback) const {
  return has(key) ? text(key) : fallback;
}

std::vector<std::string_view> GgufFile::texts(const std::string& key) const {
  const Value& found = value(key);
  if (found.type != GgufType::kArray || found.element != GgufType::kText) {
    wrong_type(key, "a list of texts");
  }
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(found.count));
  std::size_t at = found.offset;
  for (std::uint64_t i = 0; i < found.count; ++i) {
    const auto length = static_cast<std::size_t>(load<std::uint64_t>(file_.bytes(), at));
    at += sizeof(std::uint64_t);
    out.emplace_back(reinterpret_cast<const char*>(file_.bytes().data()) + at, length);
    at += length;
  }
  return out;
}

std::vector<std::int64_t> GgufFile::integers(const std::string& key) const {
  const Value& found = value(key);
  const std::size_t width = integer_bytes(found.element);
  if (found.type != GgufType::kArray || width == 0) wrong_type(key, "a list of integers");
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < found.count; ++i) {
    const auto number = integer_at(found.element, found.offset + i * width);
    if (!number) wrong_type(key, "a list of integers below 2^63");
    out.push_back(*number);
  }
  return out;
}

}  // namespace leanstream::transformer
