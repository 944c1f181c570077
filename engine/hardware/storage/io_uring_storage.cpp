#include "engine/hardware/storage/engines.h"

#ifdef LEANSTREAM_HAVE_LIBURING

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <liburing.h>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/hardware/storage/event_descriptor.h"

namespace leanstream::hardware {
namespace {

// User data of what is no read: the read of the eventfd, the tick.
constexpr std::uint64_t kWake = ~std::uint64_t{0} - 1;
constexpr std::uint64_t kTick = ~std::uint64_t{0} - 2;
constexpr std::size_t kMostBuffer = std::size_t{1} << 30;  // of one registered buffer

class IoUringStorage final : public LaneStorage {
 public:
  IoUringStorage(const StorageSpec& spec, ImageFile file, const IoUringProbe& probe)
      : LaneStorage(spec, std::move(file)), arena_(spec.arena), readv_fixed_(probe.readv_fixed) {
    // Entries more for the read of the eventfd and the tick.
    const int error = io_uring_queue_init(capacity() + 2, &ring_, probe.setup_flags);
    if (error != 0) {
      throw UserError("io_uring gave no ring for {} reads at once: {}", capacity(),
                      std::strerror(-error));
    }
    text_ = "io_uring: O_DIRECT, " + probe.setup_text;
    register_file();
    register_arena();
    read_wake();
  }

  ~IoUringStorage() override {
    drain();  // the kernel would only begin to take reads back
    io_uring_queue_exit(&ring_);
  }

  std::string own_description() const override { return text_; }
  Bytes own_memory_bytes() const override {
    return ring_.sq.ring_sz + ring_.sq.ring_entries * (sizeof(io_uring_sqe) + sizeof(unsigned)) +
           ring_.cq.ring_entries * sizeof(io_uring_cqe);
  }

 private:
  void register_file() {
    const int image = fd();
    file_registered_ = io_uring_register_files(&ring_, &image, 1) == 0;
    text_ += file_registered_ ? ", registered file" : ", file not registered";
  }

  void register_arena() {
    std::vector<iovec> buffers;
    for (std::size_t at = 0; at < arena_.size(); at += kMostBuffer) {
      buffers.push_back({arena_.data() + at, std::min(kMostBuffer, arena_.size() - at)});
    }
    if (buffers.empty()) return;
    const int error =
        io_uring_register_buffers(&ring_, buffers.data(), static_cast<unsigned>(buffers.size()));
    arena_registered_ = error == 0;
    text_ += arena_registered_ ? ", registered arena"
             : error == -ENOMEM
                 ? ", arena not registered (the limit of locked memory, ulimit -l, is too low)"
                 : fmt::format(", arena not registered ({})", std::strerror(-error));
    if (arena_registered_ && readv_fixed_) text_ += " also for scattered blocks";
  }

  // Index of the registered buffer that holds all pieces, or kNone.
  std::int32_t buffer_of(std::span<const iovec> pieces) const {
    if (!arena_registered_ || (pieces.size() > 1 && !readv_fixed_)) return kNone;
    std::size_t buffer = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::size_t at =
          reinterpret_cast<std::uintptr_t>(pieces[i].iov_base) -
          reinterpret_cast<std::uintptr_t>(arena_.data());  // large when it lies before
      if (at >= arena_.size() || arena_.size() - at < pieces[i].iov_len) return kNone;
      const std::size_t first = at / kMostBuffer;
      if ((at + pieces[i].iov_len - 1) / kMostBuffer != first || (i > 0 && first != buffer)) {
        return kNone;
      }
      buffer = first;
    }
    return static_cast<std::int32_t>(buffer);
  }

  io_uring_sqe* entry() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    LEANSTREAM_CHECK(sqe != nullptr, "the ring has no room for {} reads", capacity());
    return sqe;
  }

  void start(std::uint32_t place) override {
    const StorageRequest& request = taken(place).request;
    const auto pieces = request.into;
    const std::int32_t buffer = buffer_of(pieces);
    const int file = file_registered_ ? 0 : fd();
    io_uring_sqe* sqe = entry();
    if (pieces.size() == 1 && buffer != kNone) {
      io_uring_prep_read_fixed(sqe, file, pieces[0].iov_base,
                               static_cast<unsigned>(pieces[0].iov_len), request.offset_bytes,
                               buffer);
    } else {
      io_uring_prep_readv(sqe, file, pieces.data(), static_cast<unsigned>(pieces.size()),
                          request.offset_bytes);
      if (buffer != kNone) {
        sqe->opcode = kUringReadvFixed;
        sqe->buf_index = static_cast<std::uint16_t>(buffer);
      }
    }
    if (file_registered_) sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, place);
    started_ = true;
  }

  // Whether ends are not in the ring yet, since the kernel leaves that to this thread.
  bool ends_wait() const {
    return (IO_URING_READ_ONCE(*ring_.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) !=
           0;
  }

  // One call for both ways. What the kernel does not take (EAGAIN, EBUSY) stays in the ring for the
  // next. The read of the eventfd has time until somebody sleeps.
  void flush() override {
    if (!started_ && !ends_wait()) return;
    io_uring_submit_and_get_events(&ring_);
    started_ = io_uring_sq_ready(&ring_) > 0;
  }

  // Does not enter the kernel: flush() and sleep() do.
  void reap() override {
    io_uring_cqe* cqe = nullptr;
    unsigned head = 0;
    unsigned count = 0;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      if (cqe->user_data == kWake) {
        read_wake();
      } else if (cqe->user_data == kTick) {
        ticks_ = false;
      } else if (cqe->user_data != LIBURING_UDATA_TIMEOUT) {
        ended(static_cast<std::uint32_t>(cqe->user_data), cqe->res);
      }
    }
    io_uring_cq_advance(&ring_, count);
  }

  // Who would sleep for long needs no timer of its own: a tick, which serves many sleeps, ends it.
  void sleep(TimeNs at_most_ns) override {
    if (at_most_ns != kNever && at_most_ns >= 2 * kTickNs) {
      if (!ticks_) begin_tick();
      io_uring_submit_and_wait(&ring_, 1);
    } else {
      __kernel_timespec limit{.tv_sec = at_most_ns / kNsPerSecond,
                              .tv_nsec = at_most_ns % kNsPerSecond};
      io_uring_cqe* cqe = nullptr;
      // Also hands over what reap() left in the ring: the next read of the eventfd.
      io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, at_most_ns == kNever ? nullptr : &limit,
                                       nullptr);
    }
    started_ = io_uring_sq_ready(&ring_) > 0;
  }

  void ring() override { event_.ring(); }

  // Polled through the ring, so that a read that ends costs no call beside the wait itself.
  void read_wake() {
    io_uring_sqe* sqe = entry();
    io_uring_prep_read(sqe, event_.fd(), &rung_, sizeof rung_, 0);
    io_uring_sqe_set_data64(sqe, kWake);
  }

  void begin_tick() {
    io_uring_sqe* sqe = entry();
    io_uring_prep_timeout(sqe, &tick_, 0, 0);
    io_uring_sqe_set_data64(sqe, kTick);
    ticks_ = true;
  }

  static constexpr TimeNs kTickNs = 5 * kNsPerSecond;

  io_uring ring_{};
  __kernel_timespec tick_{.tv_sec = kTickNs / kNsPerSecond, .tv_nsec = 0};
  bool ticks_ = false;
  EventDescriptor event_{0};  // blocking: the kernel waits for it
  std::uint64_t rung_ = 0;
  bool started_ = false;  // reads that the kernel may not have
  std::span<std::byte> arena_;
  bool file_registered_ = false;
  bool arena_registered_ = false;
  bool readv_fixed_;
  std::string text_;
};

}  // namespace

std::unique_ptr<LaneStorage> make_io_uring(const StorageSpec& spec, ImageFile file,
                                           const IoUringProbe& probe) {
  return std::make_unique<IoUringStorage>(spec, std::move(file), probe);
}

}  // namespace leanstream::hardware

#else

#include "engine/base/check.h"

namespace leanstream::hardware {

std::unique_ptr<LaneStorage> make_io_uring(const StorageSpec&, ImageFile, const IoUringProbe&) {
  LEANSTREAM_CHECK(false, "this build has no io_uring");
}

}  // namespace leanstream::hardware

#endif
