// Linux's native asynchronous reads ("libaio"), by their system calls: no library is needed.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <poll.h>
#include <span>
#include <unistd.h>

#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "engine/base/types.h"
#include "engine/hardware/storage/event_descriptor.h"

namespace leanstream::hardware {

inline std::timespec timespec_of(TimeNs ns) {
  return {.tv_sec = static_cast<std::time_t>(ns / kNsPerSecond),
          .tv_nsec = static_cast<long>(ns % kNsPerSecond)};
}

class AioContext {
 public:
  explicit AioContext(unsigned events) {
    if (::syscall(SYS_io_setup, events, &context_) != 0) error_ = errno;
  }
  ~AioContext() {
    if (error_ == 0) ::syscall(SYS_io_destroy, context_);  // waits for what is under way
  }
  AioContext(const AioContext&) = delete;
  AioContext& operator=(const AioContext&) = delete;

  int error() const { return error_; }  // 0: usable

  // How many were taken, or −errno of the first.
  long submit(std::span<iocb*> reads) {
    const long taken = ::syscall(SYS_io_submit, context_, reads.size(), reads.data());
    return taken < 0 ? -errno : taken;
  }

  // How many have ended, at least `least` unless the time is over; or −errno.
  long wait(long least, std::span<io_event> events, TimeNs at_most_ns) {
    std::timespec limit = timespec_of(at_most_ns);
    const long got = ::syscall(SYS_io_getevents, context_, least, events.size(), events.data(),
                               at_most_ns == kNever ? nullptr : &limit);
    return got < 0 ? -errno : got;
  }

  // Whether something has ended, without a system call: the context is the address of the kernel's
  // ring of events (struct aio_ring of fs/aio.c).
  bool any_ended() const {
    constexpr std::uint32_t kMagic = 0xa10a10a1;
    struct EventRing {
      std::uint32_t id, entries, head, tail, magic;
    };
    const auto* ring = reinterpret_cast<const EventRing*>(context_);
    if (ring->magic != kMagic) return true;  // another layout: ask the kernel
    return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) !=
           __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
  }

 private:
  aio_context_t context_ = 0;
  int error_ = 0;
};

inline void prepare_pread(iocb& call, int fd, void* into, std::uint64_t bytes,
                          std::uint64_t offset_bytes) {
  call = {};
  call.aio_lio_opcode = IOCB_CMD_PREAD;
  call.aio_fildes = static_cast<std::uint32_t>(fd);
  call.aio_buf = reinterpret_cast<std::uintptr_t>(into);
  call.aio_nbytes = bytes;
  call.aio_offset = static_cast<std::int64_t>(offset_bytes);
}

inline void prepare_preadv(iocb& call, int fd, std::span<const iovec> into,
                           std::uint64_t offset_bytes) {
  prepare_pread(call, fd, const_cast<iovec*>(into.data()), into.size(), offset_bytes);
  call.aio_lio_opcode = IOCB_CMD_PREADV;
}

// Ends once, when the descriptor can be read.
inline void prepare_poll(iocb& call, int fd) {
  call = {};
  call.aio_lio_opcode = IOCB_CMD_POLL;
  call.aio_fildes = static_cast<std::uint32_t>(fd);
  call.aio_buf = POLLIN;
}

}  // namespace leanstream::hardware
