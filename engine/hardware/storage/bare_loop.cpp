#include "engine/hardware/storage/bare_loop.h"

#include <cstring>
#include <ctime>

#include "engine/base/error.h"
#include "engine/base/random.h"
#include "engine/hardware/storage/aligned_memory.h"
#include "engine/hardware/storage/lane_storage.h"
#include "engine/hardware/storage/probe.h"

#ifdef LEANSTREAM_HAVE_LIBURING
#include <liburing.h>
#endif

namespace leanstream::hardware {

double thread_cpu_s() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

#ifdef LEANSTREAM_HAVE_LIBURING
namespace {

class BareLoop {
 public:
  explicit BareLoop(const LoopSpec& spec)
      : spec_(spec),
        file_(spec.path),
        bytes_(spec.read_bytes * static_cast<Bytes>(spec.depth)),
        memory_(aligned_memory(std::max(bytes_, kHugePageBytes), 4096)),  // as an arena has
        begun_ns_(static_cast<std::size_t>(spec.depth)),
        random_(spec.seed, "bench.storage") {
    const IoUringProbe probe = probe_io_uring(file_);
    if (!probe.why_not.empty()) throw UserError("{}", probe.why_not);
    const auto depth = static_cast<unsigned>(spec.depth);
    check(io_uring_queue_init(depth, &ring_, probe.setup_flags));
    const iovec all{memory_.get(), bytes_};
    const int image = file_.fd();
    check(io_uring_register_buffers(&ring_, &all, 1));
    check(io_uring_register_files(&ring_, &image, 1));
  }
  ~BareLoop() { io_uring_queue_exit(&ring_); }
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  LoopResult run() {
    const double cpu_s = thread_cpu_s();
    const TimeNs from_ns = steady_ns();
    const TimeNs end_ns = from_ns + static_cast<TimeNs>(spec_.seconds * kNsPerSecond);
    TimeNs now_ns = from_ns;
    for (int i = 0; i < spec_.depth; ++i) post(static_cast<std::size_t>(i), now_ns);
    std::int32_t under_way = spec_.depth;
    while (under_way > 0) {
      check(io_uring_submit_and_wait(&ring_, 1));
      now_ns = steady_ns();
      io_uring_cqe* cqe = nullptr;
      unsigned head = 0;
      unsigned count = 0;
      io_uring_for_each_cqe(&ring_, head, cqe) {
        ++count;
        check(cqe->res);
        const auto place = static_cast<std::size_t>(cqe->user_data);
        result_.latency_ns.push_back(now_ns - begun_ns_[place]);
        if (now_ns < end_ns) {
          post(place, now_ns);
        } else {
          --under_way;
        }
      }
      io_uring_cq_advance(&ring_, count);
    }
    result_.reads = static_cast<std::int64_t>(result_.latency_ns.size());
    result_.wall_s = static_cast<double>(now_ns - from_ns) / kNsPerSecond;
    result_.cpu_s = thread_cpu_s() - cpu_s;
    return std::move(result_);
  }

 private:
  static void check(int result) {
    if (result < 0) throw UserError("a bare io_uring loop cannot run: {}", std::strerror(-result));
  }

  void post(std::size_t place, TimeNs now_ns) {
    const Bytes at = random_.next_below(file_.size_bytes() / spec_.read_bytes) * spec_.read_bytes;
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_read_fixed(sqe, 0, memory_.get() + place * spec_.read_bytes,
                             static_cast<unsigned>(spec_.read_bytes), at, 0);
    sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, place);
    begun_ns_[place] = now_ns;
  }

  LoopSpec spec_;
  ImageFile file_;
  Bytes bytes_;
  AlignedMemory memory_;
  std::vector<TimeNs> begun_ns_;
  RandomStream random_;
  io_uring ring_{};
  LoopResult result_;
};

}  // namespace

LoopResult bare_io_uring_loop(const LoopSpec& spec) {
  return BareLoop(spec).run();
}

#else

LoopResult bare_io_uring_loop(const LoopSpec& spec) {
  throw UserError("{}", probe_io_uring(ImageFile(spec.path)).why_not);
}

#endif

}  // namespace leanstream::hardware
