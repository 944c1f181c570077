// A flash image, opened for reads around the page cache.
#pragma once

#include <string>

#include "engine/base/types.h"

namespace leanstream::hardware {

class ImageFile {
 public:
  // Opens a regular file or block device read-only with O_DIRECT and finds its logical block size:
  // by statx, by the block device's ioctl, or by trying. Throws UserError.
  explicit ImageFile(const std::string& path);
  ~ImageFile();
  ImageFile(ImageFile&& other) noexcept;
  ImageFile& operator=(ImageFile&&) = delete;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  Bytes size_bytes() const { return size_bytes_; }
  Bytes alignment_bytes() const { return alignment_bytes_; }  // of offset, size and address
  const std::string& alignment_source() const { return alignment_source_; }  // for a report

 private:
  void find_alignment(bool block_device);
  [[noreturn]] void refuse_open(int error, bool block_device) const;

  std::string path_;
  int fd_ = -1;
  Bytes size_bytes_ = 0;
  Bytes alignment_bytes_ = 0;
  std::string alignment_source_;
};

}  // namespace leanstream::hardware
