#include "engine/hardware/storage/probe.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/utsname.h>

#include "engine/hardware/storage/aio_calls.h"
#include "engine/hardware/storage/aligned_memory.h"

#ifdef LEANSTREAM_HAVE_LIBURING
#include <liburing.h>
#endif

namespace leanstream::hardware {
namespace {

std::string refusal(const char* what, int error) {
  if (error == EPERM || error == EACCES) {
    return fmt::format(
        "the kernel refuses {} (permission; see /proc/sys/kernel/io_uring_disabled, or a seccomp "
        "filter of a container)",
        what);
  }
  if (error == ENOSYS) return fmt::format("this kernel has no {}", what);
  return fmt::format("{}: {}", what, std::strerror(error));
}

#ifdef LEANSTREAM_HAVE_LIBURING

constexpr unsigned kCoopTaskrun = 1U << 8;    // Linux 5.19
constexpr unsigned kTaskrunFlag = 1U << 9;    // 5.19
constexpr unsigned kSingleIssuer = 1U << 12;  // 6.0
constexpr unsigned kDeferTaskrun = 1U << 13;  // 6.1
struct Setup {
  unsigned flags;
  const char* text;
};
constexpr Setup kSetups[] = {
    {kSingleIssuer | kDeferTaskrun | kTaskrunFlag, "SINGLE_ISSUER, DEFER_TASKRUN"},
    {kCoopTaskrun | kTaskrunFlag, "COOP_TASKRUN"},
    {0, "no task-run flags"}};

// A ring for some reads by this thread.
class ProbeRing {
 public:
  explicit ProbeRing(unsigned flags) : error_(-io_uring_queue_init(4, &ring_, flags)) {}
  ~ProbeRing() {
    if (error_ == 0) io_uring_queue_exit(&ring_);
  }
  ProbeRing(const ProbeRing&) = delete;
  ProbeRing& operator=(const ProbeRing&) = delete;

  int error() const { return error_; }
  io_uring* ring() { return &ring_; }
  io_uring_sqe* sqe() { return io_uring_get_sqe(&ring_); }

  // What the prepared read gives.
  int run() {
    if (const int taken = io_uring_submit(&ring_); taken < 0) return taken;
    io_uring_cqe* cqe = nullptr;
    if (const int error = io_uring_wait_cqe(&ring_, &cqe); error < 0) return error;
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    return result;
  }

 private:
  io_uring ring_{};
  int error_;
};

#endif

}  // namespace

#ifdef LEANSTREAM_HAVE_LIBURING

IoUringProbe probe_io_uring(const ImageFile& file) {
  IoUringProbe probe;
  const Bytes bytes = file.alignment_bytes();
  const auto memory = aligned_memory(2 * bytes, bytes);
  iovec all{memory.get(), 2 * bytes};
  for (const Setup& setup : kSetups) {
    ProbeRing ring(setup.flags);
    if (ring.error() == EINVAL && setup.flags != 0) continue;  // an older kernel
    if (ring.error() != 0) {
      probe.why_not = refusal("io_uring", ring.error());
      return probe;
    }
    probe.setup_flags = setup.flags;
    probe.setup_text = setup.text;
    io_uring_prep_readv(ring.sqe(), file.fd(), &all, 1, 0);
    if (const int result = ring.run(); result < 0) {
      probe.why_not = refusal("reads through io_uring", -result);
      return probe;
    }
    if (io_uring_register_buffers(ring.ring(), &all, 1) == 0) {
      iovec halves[] = {{memory.get() + bytes, bytes}, {memory.get(), bytes}};
      io_uring_sqe* sqe = ring.sqe();
      io_uring_prep_readv(sqe, file.fd(), halves, 2, 0);
      sqe->opcode = kUringReadvFixed;
      sqe->buf_index = 0;
      probe.readv_fixed = ring.run() >= 0;
    }
    return probe;
  }
  return probe;
}

#else

IoUringProbe probe_io_uring(const ImageFile&) {
  return {.why_not = "this build has no io_uring (install liburing-dev and configure again)"};
}

#endif

std::string probe_libaio(const ImageFile& file) {
  AioContext context(2);
  if (context.error() != 0) return refusal("libaio (io_setup)", context.error());
  const Bytes bytes = file.alignment_bytes();
  const auto memory = aligned_memory(bytes, bytes);
  iocb read{};
  prepare_pread(read, file.fd(), memory.get(), bytes, 0);
  iocb* reads[] = {&read};
  if (const long taken = context.submit(reads); taken < 0) {
    return refusal("libaio (io_submit)", static_cast<int>(-taken));
  }
  io_event event{};
  if (const long got = context.wait(1, {&event, 1}, kNever); got != 1) {
    return refusal("libaio (io_getevents)", got < 0 ? static_cast<int>(-got) : EIO);
  }
  if (event.res < 0) return refusal("reads through libaio", static_cast<int>(-event.res));
  // Waking a sleep needs polling through the same context (Linux 4.18).
  const EventDescriptor wake(EFD_NONBLOCK);
  prepare_poll(read, wake.fd());
  if (const long taken = context.submit(reads); taken < 0) {
    return refusal("polling through libaio", static_cast<int>(-taken));
  }
  wake.ring();
  if (context.wait(1, {&event, 1}, kNever) != 1) return "polling through libaio gives nothing";
  return "";
}

std::string kernel_text() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "unknown kernel";
}

}  // namespace leanstream::hardware
