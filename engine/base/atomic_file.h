// Files that appear whole or not at all: written without a name where the system can do that,
// beside their final name elsewhere, and put in place on commit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leanstream {

class AtomicFile {
 public:
  // Creates the missing parent folders. Throws UserError when the file cannot be created.
  explicit AtomicFile(std::string path);
  // Without commit() nothing is left.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Takes room for a file of `bytes` bytes at once, so that a full disk is known before they are
  // made; where the file system cannot, it only looks whether there is. Throws UserError when there
  // is no room.
  void reserve(std::uint64_t bytes);

  // At the position, which is 0 at first and then behind what was written. Throws UserError (disk
  // full, permission); small writes are collected, so a later call may be the one that throws.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  // Moves the position. What is never written reads as zeros.
  void seek(std::uint64_t offset_bytes);

  // Waits until the device has everything, which then leaves the page cache: for large files that
  // are read past it. Throws UserError.
  void settle();

  // Puts the file in place of what has its name. Throws UserError.
  void commit();

 private:
  void flush();
  void write_out(std::span<const std::byte> bytes);
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;
  std::string partial_;  // its name until commit
  bool named_ = false;   // has that name already
  bool committed_ = false;
  int fd_ = -1;
  std::uint64_t position_ = 0;        // of what is collected next to be written
  std::vector<std::byte> collected_;  // from small writes
};

// Throws UserError when a file of that name could not be created: to be asked before minutes of
// work for it. Changes nothing.
void check_writable(const std::string& path);

// Writes a whole text file atomically.
void write_file(const std::string& path, std::string_view text);

// Reads a whole text file. Throws UserError when it cannot.
std::string read_file(const std::string& path);

}  // namespace leanstream
