// A file to read from, where no other is named.
#pragma once

#include <string>

#include "engine/base/types.h"

namespace leanstream::hardware {

// Random bytes in the current folder (/tmp may be memory), not in the page cache, there while this
// object is.
class TemporaryImage {
 public:
  // Throws UserError when there is no room.
  explicit TemporaryImage(Bytes mib);
  ~TemporaryImage();
  TemporaryImage(const TemporaryImage&) = delete;
  TemporaryImage& operator=(const TemporaryImage&) = delete;

  // Takes the name away, so that nothing is left of it however the process ends. Other processes
  // cannot open it any more.
  void unname();
  // Where this process can open it.
  const std::string& path() const { return path_; }

 private:
  void remove();
  std::string name_;  // "": it has none
  std::string path_;
  int fd_ = -1;
};

}  // namespace leanstream::hardware
