#include "engine/base/atomic_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mapped_file.h"

namespace leanstream {

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), partial_(fmt::format("{}.partial-{}", path_, ::getpid())) {
  const auto parent = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) throw UserError("{}: cannot create the folder: {}", path_, error.message());
  out_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!out_) throw UserError("{}: cannot write: {}", path_, std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void AtomicFile::write(std::string_view text) {
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::commit() {
  out_.close();
  if (!out_) throw UserError("{}: cannot write: {}", path_, std::strerror(errno));
  std::error_code error;
  std::filesystem::rename(partial_, path_, error);
  if (error) throw UserError("{}: cannot rename into place: {}", path_, error.message());
  committed_ = true;
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace leanstream
