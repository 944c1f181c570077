// Files that appear whole or not at all: written beside their final name, renamed on commit.
#pragma once

#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace leanstream {

class AtomicFile {
 public:
  // Creates the missing parent folders. Throws UserError when the file cannot be created.
  explicit AtomicFile(std::string path);
  // Without commit() the partial file is removed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  // Flushes and renames. Throws UserError (disk full, permission); the partial file is removed.
  void commit();

 private:
  std::string path_;
  std::string partial_;
  std::ofstream out_;
  bool committed_ = false;
};

// Writes a whole text file atomically.
void write_file(const std::string& path, std::string_view text);

// Reads a whole text file. Throws UserError when it cannot.
std::string read_file(const std::string& path);

}  // namespace leanstream
