// A whole file mapped read-only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace leanstream {

class MappedFile {
 public:
  // Throws UserError when the path is missing, no regular file, or not readable.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Valid as long as the object lives; empty for an empty file.
  std::span<const std::byte> bytes() const { return bytes_; }
  // `part` of bytes() leaves this process's memory until it is looked at again.
  void forget(std::span<const std::byte> part) const;
  const std::string& path() const { return path_; }

 private:
  void unmap();

  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace leanstream
