#include "engine/model/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::model {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kLengthBytes = 8;

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::size_t width_bytes;
};
constexpr std::array<DtypeRow, 6> kDtypes{{{Dtype::kU8, "U8", 1},
                                           {Dtype::kU16, "U16", 2},
                                           {Dtype::kI32, "I32", 4},
                                           {Dtype::kI64, "I64", 8},
                                           {Dtype::kF16, "F16", 2},
                                           {Dtype::kF32, "F32", 4}}};

const DtypeRow& row(Dtype dtype) {
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const DtypeRow& r) { return r.dtype == dtype; });
  LEANSTREAM_CHECK(found != kDtypes.end(), "dtype {}", static_cast<int>(dtype));
  return *found;
}

// False when the product does not fit in 63 bits.
bool size_of(std::span<const std::int64_t> shape, std::size_t width, std::uint64_t& bytes) {
  std::int64_t product = static_cast<std::int64_t>(width);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const std::int64_t extent : shape) {
    if (extent < 0) return false;
    if (!empty && __builtin_mul_overflow(product, extent, &product)) return false;
  }
  bytes = empty ? 0 : static_cast<std::uint64_t>(product);
  return true;
}

std::string text_of(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    text += fmt::format("{}{}", text.size() > 1 ? ", " : "", extent);
  }
  return text + "]";
}

// Parses JSON; a name that comes twice at the top level is an error of the file.
nlohmann::json parse_unique(const std::string& path, std::string_view text) {
  std::set<std::string> names;
  std::string duplicate;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names.insert(name).second) duplicate = name;
    }
    return true;
  };
  nlohmann::json header;
  try {
    header = nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    throw UserError("{}: the safetensors header is not JSON: {}", path, error.what());
  }
  if (!duplicate.empty()) throw UserError("{}: tensor '{}' is there twice", path, duplicate);
  if (!header.is_object()) throw UserError("{}: the safetensors header is no object", path);
  return header;
}

// A JSON array of non-negative integers below 2^63.
std::vector<std::int64_t> integers(const nlohmann::json& entry, const char* key,
                                   const std::string& where) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) {
    throw UserError("{}: '{}' must be a list of integers", where, key);
  }
  std::vector<std::int64_t> values;
  for (const auto& item : *found) {
    if (!item.is_number_unsigned() ||
        item.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      throw UserError("{}: '{}' holds {}, which is no size", where, key, item.dump());
    }
    values.push_back(static_cast<std::int64_t>(item.get<std::uint64_t>()));
  }
  return values;
}

TensorInfo parse_tensor(const std::string& path, const std::string& name,
                        const nlohmann::json& entry, std::uint64_t data_bytes) {
  const std::string where = fmt::format("{}: tensor '{}'", path, name);
  if (!entry.is_object()) throw UserError("{}: its entry is no object", where);
  TensorInfo tensor;
  tensor.name = name;
  const auto type = entry.find("dtype");
  const std::string word = type != entry.end() && type->is_string() ? type->get<std::string>() : "";
  const auto* found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                   [&](const DtypeRow& r) { return r.name == word; });
  if (found == kDtypes.end()) {
    throw UserError("{}: dtype '{}' is not supported; U8, U16, I32, I64, F16, F32 are", where,
                    word);
  }
  tensor.dtype = found->dtype;
  tensor.shape = integers(entry, "shape", where);
  const auto offsets = integers(entry, "data_offsets", where);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    throw UserError("{}: 'data_offsets' must be [begin, end]", where);
  }
  if (static_cast<std::uint64_t>(offsets[1]) > data_bytes) {
    throw UserError("{}: ends at byte {} of {} data bytes: the file is cut", where, offsets[1],
                    data_bytes);
  }
  tensor.offset_bytes = static_cast<std::uint64_t>(offsets[0]);
  if (!size_of(tensor.shape, found->width_bytes, tensor.size_bytes) ||
      tensor.size_bytes != static_cast<std::uint64_t>(offsets[1] - offsets[0])) {
    throw UserError("{}: shape {} of {} does not fill bytes {} to {}", where, text_of(tensor.shape),
                    word, offsets[0], offsets[1]);
  }
  return tensor;
}

}  // namespace

std::size_t width_bytes(Dtype dtype) {
  return row(dtype).width_bytes;
}
std::string_view name(Dtype dtype) {
  return row(dtype).name;
}

std::int64_t TensorInfo::elements() const {
  return static_cast<std::int64_t>(size_bytes / width_bytes(dtype));
}

SafetensorsReader::SafetensorsReader(const std::string& path) : file_(path) {
  const auto all = file_.bytes();
  std::uint64_t length = 0;
  if (all.size() < kLengthBytes) {
    throw UserError("{}: {} bytes are too few for a safetensors file", path, all.size());
  }
  std::memcpy(&length, all.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > all.size() - kLengthBytes) {
    throw UserError("{}: header of {} bytes in a file of {}: no safetensors file, or cut", path,
                    length, all.size());
  }
  data_offset_ = kLengthBytes + static_cast<std::size_t>(length);
  parse_header(
      {reinterpret_cast<const char*>(all.data()) + kLengthBytes, static_cast<std::size_t>(length)});
  check_layout();
}

void SafetensorsReader::parse_header(std::string_view json) {
  const std::uint64_t data_bytes = file_.bytes().size() - data_offset_;
  const auto header = parse_unique(path(), json);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_.push_back(parse_tensor(path(), name, entry, data_bytes));
      continue;
    }
    if (!entry.is_object()) throw UserError("{}: '__metadata__' is no object", path());
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) throw UserError("{}: metadata '{}' is no string", path(), key);
      metadata_[key] = value.get<std::string>();
    }
  }
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset_bytes, a.size_bytes) < std::pair(b.offset_bytes, b.size_bytes);
  });
}

void SafetensorsReader::check_layout() const {
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.offset_bytes != end) {
      throw UserError("{}: tensor '{}' starts at data byte {}, the one before ends at {}", path(),
                      tensor.name, tensor.offset_bytes, end);
    }
    end += tensor.size_bytes;
  }
  const std::uint64_t data_bytes = file_.bytes().size() - data_offset_;
  if (end != data_bytes) {
    throw UserError("{}: tensors end at data byte {}, the file has {}", path(), end, data_bytes);
  }
}

const std::string& SafetensorsReader::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) throw UserError("{}: no metadata entry '{}'", path(), key);
  return found->second;
}

const TensorInfo* SafetensorsReader::find(std::string_view name) const {
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

const TensorInfo& SafetensorsReader::require(std::string_view name, Dtype dtype,
                                             std::span<const std::int64_t> shape) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    std::string names;
    for (const TensorInfo& t : tensors_) names += (names.empty() ? "" : ", ") + t.name;
    throw UserError("{}: no tensor '{}'; it has: {}", path(), name, names);
  }
  bool fits = tensor->dtype == dtype && tensor->shape.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] < 0 || shape[i] == tensor->shape[i];
  }
  if (!fits) {
    throw UserError("{}: tensor '{}' is {} {}, wanted {} {}", path(), name, row(tensor->dtype).name,
                    text_of(tensor->shape), row(dtype).name, text_of(shape));
  }
  return *tensor;
}

std::span<const std::byte> SafetensorsReader::bytes(const TensorInfo& tensor) const {
  return file_.bytes().subspan(data_offset_ + static_cast<std::size_t>(tensor.offset_bytes),
                               static_cast<std::size_t>(tensor.size_bytes));
}

void SafetensorsReader::check_range(const TensorInfo& tensor, bool type_fits, std::int64_t first,
                                    std::size_t count) {
  LEANSTREAM_CHECK(type_fits, "tensor '{}' is {}", tensor.name, row(tensor.dtype).name);
  LEANSTREAM_CHECK(first >= 0 && first <= tensor.elements() &&
                       count <= static_cast<std::size_t>(tensor.elements() - first),
                   "tensor '{}': elements {} + {} of {}", tensor.name, first, count,
                   tensor.elements());
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path), tensors_(std::move(tensors)) {
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors_) {
    LEANSTREAM_CHECK(!header.contains(tensor.name), "tensor '{}' declared twice", tensor.name);
    std::uint64_t bytes = 0;
    LEANSTREAM_CHECK(size_of(tensor.shape, width_bytes(tensor.dtype), bytes), "shape of '{}'",
                     tensor.name);
    header[tensor.name] = {{"dtype", std::string(row(tensor.dtype).name)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(text);
  if (!tensors_.empty()) {
    size_of(tensors_[0].shape, width_bytes(tensors_[0].dtype), left_bytes_);
  }
}

Dtype SafetensorsWriter::current_dtype(std::string_view name) {
  while (current_ < tensors_.size() && left_bytes_ == 0 && tensors_[current_].name != name) {
    if (++current_ < tensors_.size()) {
      const TensorSpec& next = tensors_[current_];
      size_of(next.shape, width_bytes(next.dtype), left_bytes_);
    }
  }
  LEANSTREAM_CHECK(current_ < tensors_.size() && tensors_[current_].name == name,
                   "tensor '{}' is not the next one to write", name);
  return tensors_[current_].dtype;
}

void SafetensorsWriter::append_bytes(std::string_view name, bool type_fits,
                                     std::span<const std::byte> bytes) {
  LEANSTREAM_CHECK(type_fits, "tensor '{}' has another dtype", name);
  LEANSTREAM_CHECK(bytes.size() <= left_bytes_, "tensor '{}': {} bytes too many", name,
                   bytes.size() - left_bytes_);
  file_.write(bytes);
  left_bytes_ -= bytes.size();
}

void SafetensorsWriter::commit() {
  LEANSTREAM_CHECK(left_bytes_ == 0, "tensor '{}' misses {} bytes", tensors_[current_].name,
                   left_bytes_);
  for (std::size_t i = current_ + 1; i < tensors_.size(); ++i) {
    std::uint64_t bytes = 0;
    size_of(tensors_[i].shape, width_bytes(tensors_[i].dtype), bytes);
    LEANSTREAM_CHECK(bytes == 0, "tensor '{}' was not written", tensors_[i].name);
  }
  file_.commit();
}

}  // namespace leanstream::model
