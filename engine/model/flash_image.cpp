#include "engine/model/flash_image.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/model/flash_image_header.h"
#include "engine/model/permutation.h"

namespace leanstream::model {
namespace {

// A file or block device, for reading only.
class Input {
 public:
  explicit Input(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) {
      const char* what_to_do = errno == ENOENT ? " (make it with 'leanstream pack')"
                               : errno == EACCES || errno == EPERM
                                   ? " (chmod u+r; for a block device join the group disk)"
                                   : "";
      throw UserError("{}: cannot open: {}{}", path, std::strerror(errno), what_to_do);
    }
    struct stat info {};
    const bool known = ::fstat(fd_, &info) == 0;
    device_ = known && S_ISBLK(info.st_mode);
    const off_t end = known && (device_ || S_ISREG(info.st_mode)) ? ::lseek(fd_, 0, SEEK_END) : -1;
    if (end < 0) {
      ::close(fd_);
      throw UserError("{}: neither a file nor a block device", path);
    }
    bytes_ = static_cast<Bytes>(end);
  }
  ~Input() { ::close(fd_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  Bytes bytes() const { return bytes_; }
  bool is_device() const { return device_; }

  // 0, or why `out` could not be filled; the end of the file is EIO.
  int read(Bytes offset, std::span<std::byte> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got < 0 ? errno : EIO;
      offset += static_cast<Bytes>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return 0;
  }
  void must_read(Bytes offset, std::span<std::byte> out) const {
    if (const int error = read(offset, out); error != 0) {
      throw UserError("{}: cannot read {} bytes at {}: {}", path_, out.size(), offset,
                      std::strerror(error));
    }
  }
  // No more is read than is asked for, or blocks behind a header would stay in the page cache.
  void read_nothing_ahead() const { ::posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM); }
  // What was read shall come from the device the next time.
  void forget(Bytes offset, Bytes bytes) const {
    ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                    POSIX_FADV_DONTNEED);
  }

 private:
  std::string path_;
  int fd_;
  bool device_ = false;
  Bytes bytes_ = 0;
};

image::Fixed read_fixed(const std::string& path, const Input& input) {
  image::Fixed fixed;
  std::array<std::byte, sizeof fixed> bytes{};
  const auto there = std::min<Bytes>(input.bytes(), bytes.size());
  input.must_read(0, std::span(bytes).first(there));
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  if (there < fixed.magic.size() || fixed.magic != image::kMagic) {
    throw UserError("{}: no flash image; `leanstream pack` writes them", path);
  }
  if (there < sizeof fixed) throw UserError("{}: truncated: it has {} bytes", path, there);
  if (fixed.version != image::kVersion) {
    throw UserError("{}: a flash image of version {}; this program reads version {}", path,
                    fixed.version, image::kVersion);
  }
  if (fixed.data_offset > image::kMostHeaderBytes || fixed.data_offset < sizeof fixed ||
      fixed.json_bytes > fixed.data_offset - sizeof fixed) {
    throw UserError("{}: the header is damaged: it cannot have {} bytes", path, fixed.data_offset);
  }
  if (fixed.data_offset > input.bytes()) {
    throw UserError("{}: truncated: the header has {} bytes, the file {}", path, fixed.data_offset,
                    input.bytes());
  }
  return fixed;
}

template <typename T>
std::vector<T> read_numbers(std::span<const std::byte> header, Bytes offset, std::size_t count) {
  std::vector<T> out(count);
  std::memcpy(out.data(), header.data() + offset, count * sizeof(T));
  return out;
}

void check_size(const std::string& path, const Input& input, Bytes expected) {
  if (input.bytes() < expected) {
    throw UserError("{}: truncated: the image has {} bytes, {} of them are there", path, expected,
                    input.bytes());
  }
  if (input.bytes() > expected && !input.is_device()) {
    throw UserError("{}: the image has {} bytes, the file {}", path, expected, input.bytes());
  }
}

}  // namespace

std::span<const std::int32_t> FlashImageInfo::order(LayerId layer) const {
  if (orders.empty()) return {};
  return orders[static_cast<std::size_t>(layer)];
}

std::span<const std::int32_t> FlashImageInfo::neurons(LayerId layer, BlockId block,
                                                      std::vector<std::int32_t>& scratch) const {
  const std::int32_t first = geometry.first_neuron(block);
  const auto count = static_cast<std::size_t>(geometry.neurons(block));
  if (!orders.empty()) return order(layer).subspan(static_cast<std::size_t>(first), count);
  scratch.resize(count);
  std::iota(scratch.begin(), scratch.end(), first);
  return scratch;
}

double FlashImageInfo::read_amplification() const {
  return static_cast<double>(data_bytes()) / shape.mlp_bytes();
}

FlashImage::FlashImage(const std::string& path) : path_(path) {
  const Input input(path);
  input.read_nothing_ahead();
  const image::Fixed fixed = read_fixed(path, input);
  std::vector<std::byte> header(fixed.data_offset);
  input.must_read(0, header);
  constexpr auto kChecksumAt = offsetof(image::Fixed, checksum);
  std::fill_n(header.begin() + kChecksumAt, sizeof fixed.checksum, std::byte{0});
  if (hash64(header) != fixed.checksum) {
    throw UserError("{}: the header is damaged: its checksum is wrong", path);
  }
  info_ = image::from_json(
      path, {reinterpret_cast<const char*>(header.data()) + sizeof fixed, fixed.json_bytes});
  const image::Sections at = image::sections(info_, fixed.json_bytes);
  if (at.data != fixed.data_offset) {
    throw UserError("{}: the header has {} bytes; for what it says it needs {}", path,
                    fixed.data_offset, at.data);
  }
  const auto ffn = static_cast<std::size_t>(info_.shape.ffn);
  for (LayerId l = 0; l < static_cast<LayerId>(info_.orders.size()); ++l) {
    auto& order = info_.orders[static_cast<std::size_t>(l)];
    order = read_numbers<std::int32_t>(
        header, at.orders + static_cast<std::size_t>(l) * ffn * sizeof(std::int32_t), ffn);
    check_permutation(path, l, order);
  }
  checksums_ =
      read_numbers<std::uint64_t>(header, at.checksums, static_cast<std::size_t>(info_.blocks()));
  data_offset_ = at.data;
  check_size(path, input, bytes());
}

Bytes FlashImage::header_bytes_in_memory() const {
  Bytes bytes = checksums_.size() * sizeof(std::uint64_t);
  for (const auto& order : info_.orders) bytes += order.size() * sizeof(std::int32_t);
  return bytes;
}

std::vector<BadBlock> find_bad_blocks(const FlashImage& image,
                                      const std::function<void(LayerId)>& layer_done) {
  const Input input(image.path());
  const BlockGeometry& g = image.info().geometry;
  const Bytes layer_bytes = static_cast<Bytes>(g.blocks_per_layer) * g.block_bytes;
  std::vector<std::byte> bytes(g.block_bytes);
  std::vector<BadBlock> bad;
  for (LayerId l = 0; l < image.info().shape.layers; ++l) {
    const Bytes begin = image.offset(l, 0);
    input.forget(begin, layer_bytes);  // the device is asked, not the page cache
    for (BlockId b = 0; b < g.blocks_per_layer; ++b) {
      const bool read = input.read(image.offset(l, b), bytes) == 0;
      if (!read || hash64(bytes) != image.checksum(l, b)) bad.push_back({l, b});
    }
    input.forget(begin, layer_bytes);
    layer_done(l + 1);
  }
  return bad;
}

FlashImageWriter::FlashImageWriter(const std::string& path, FlashImageInfo info)
    : info_(std::move(info)), file_(path), json_(image::to_json(info_)) {
  data_offset_ = image::sections(info_, json_.size()).data;
  if (data_offset_ > image::kMostHeaderBytes ||
      info_.geometry.block_bytes > image::kMostBlockBytes) {
    throw UserError("{}: {} blocks of {} bytes are more than an image can have", path,
                    info_.blocks(), info_.geometry.block_bytes);
  }
  file_.reserve(data_offset_ + info_.data_bytes());
  file_.seek(data_offset_);
  checksums_.reserve(static_cast<std::size_t>(info_.blocks()));
}

void FlashImageWriter::append(std::span<const std::byte> block) {
  LEANSTREAM_CHECK(block.size() == info_.geometry.block_bytes &&
                       checksums_.size() < static_cast<std::size_t>(info_.blocks()),
                   "block {} of {}, {} bytes", checksums_.size(), info_.blocks(), block.size());
  checksums_.push_back(hash64(block));
  file_.write(block);
}

void FlashImageWriter::commit() {
  LEANSTREAM_CHECK(checksums_.size() == static_cast<std::size_t>(info_.blocks()), "{} of {} blocks",
                   checksums_.size(), info_.blocks());
  const image::Sections at = image::sections(info_, json_.size());
  std::vector<std::byte> header(at.data);
  const auto put = [&](Bytes offset, std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(header.data() + offset, bytes.data(), bytes.size());
  };
  image::Fixed fixed;
  fixed.json_bytes = static_cast<std::uint32_t>(json_.size());
  fixed.data_offset = at.data;
  put(0, std::as_bytes(std::span(&fixed, 1)));
  put(sizeof fixed, std::as_bytes(std::span(json_)));
  Bytes next = at.orders;
  for (const auto& order : info_.orders) {
    const auto bytes = std::as_bytes(std::span(order));
    put(next, bytes);
    next += bytes.size();
  }
  put(at.checksums, std::as_bytes(std::span(checksums_)));
  fixed.checksum = hash64(header);
  put(0, std::as_bytes(std::span(&fixed, 1)));
  file_.seek(0);
  file_.write(header);
  file_.settle();
  file_.commit();
}

}  // namespace leanstream::model
