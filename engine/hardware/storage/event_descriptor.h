// An eventfd: how another thread ends a sleep in the kernel.
#pragma once

#include <cerrno>
#include <cstdint>
#include <unistd.h>

#include <sys/eventfd.h>

#include "engine/base/check.h"

namespace leanstream::hardware {

class EventDescriptor {
 public:
  explicit EventDescriptor(int flags) : fd_(::eventfd(0, flags | EFD_CLOEXEC)) {
    LEANSTREAM_CHECK(fd_ >= 0, "no eventfd: error {}", errno);
  }
  ~EventDescriptor() { ::close(fd_); }
  EventDescriptor(const EventDescriptor&) = delete;
  EventDescriptor& operator=(const EventDescriptor&) = delete;

  int fd() const { return fd_; }
  void ring() const {
    const std::uint64_t one = 1;
    while (::write(fd_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  // Of a non-blocking one: rung no more.
  void clear() const {
    std::uint64_t count = 0;
    while (::read(fd_, &count, sizeof count) < 0 && errno == EINTR) {
    }
  }

 private:
  int fd_;
};

}  // namespace leanstream::hardware
