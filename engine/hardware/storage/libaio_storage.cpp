#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/hardware/storage/aio_calls.h"
#include "engine/hardware/storage/engines.h"

namespace leanstream::hardware {
namespace {

class LibaioStorage final : public LaneStorage {
 public:
  LibaioStorage(const StorageSpec& spec, ImageFile file)
      : LaneStorage(spec, std::move(file)),
        context_(capacity() + 1),
        calls_(capacity() + 1),
        events_(capacity() + 1) {
    if (context_.error() != 0) {
      throw UserError(
          "libaio gave no context for {} reads at once: {}; raise fs.aio-max-nr or lower the depth",
          capacity(), std::strerror(context_.error()));
    }
    pending_.reserve(calls_.size());
    poll_wake();
  }

  std::string own_description() const override { return "libaio: O_DIRECT"; }
  Bytes own_memory_bytes() const override {
    // The events once more: the ring that the kernel maps.
    return calls_.size() * (sizeof(iocb) + sizeof(void*)) + 2 * events_.size() * sizeof(io_event);
  }

 private:
  void start(std::uint32_t place) override {
    const StorageRequest& request = taken(place).request;
    iocb& call = calls_[place];
    if (request.into.size() == 1) {
      prepare_pread(call, fd(), request.into[0].iov_base, request.into[0].iov_len,
                    request.offset_bytes);
    } else {
      prepare_preadv(call, fd(), request.into, request.offset_bytes);
    }
    call.aio_data = place;
    pending_.push_back(&call);
  }

  // What the kernel does not take for now stays pending; what it refuses has ended.
  void flush() override {
    std::size_t done = 0;
    while (done < pending_.size()) {
      const long taken = context_.submit(std::span(pending_).subspan(done));
      if (taken == -EAGAIN || taken == -EINTR || taken == 0) break;
      if (taken > 0) {
        done += static_cast<std::size_t>(taken);
        continue;
      }
      const iocb& refused = *pending_[done++];
      LEANSTREAM_CHECK(refused.aio_data != wake_place(), "libaio does not poll: error {}", -taken);
      ended(static_cast<std::uint32_t>(refused.aio_data), taken);
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  }

  void reap() override {
    while (got_ == 0 && context_.any_ended()) {
      const long got = context_.wait(0, events_, 0);
      if (got == -EINTR) continue;
      LEANSTREAM_CHECK(got >= 0, "io_getevents: error {}", -got);
      got_ = static_cast<std::size_t>(got);
      break;
    }
    for (const io_event& event : std::span(events_).first(got_)) {
      if (event.data == wake_place()) {
        event_.clear();
        poll_wake();
      } else {
        ended(static_cast<std::uint32_t>(event.data), event.res);
      }
    }
    got_ = 0;
  }

  // Keeps what it gets for reap().
  void sleep(TimeNs at_most_ns) override {
    if (got_ > 0) return;
    flush();
    const long got = context_.wait(1, events_, at_most_ns);
    if (got > 0) got_ = static_cast<std::size_t>(got);
  }

  void ring() override { event_.ring(); }

  std::uint64_t wake_place() const { return capacity(); }

  void poll_wake() {
    prepare_poll(calls_[wake_place()], event_.fd());
    calls_[wake_place()].aio_data = wake_place();
    pending_.push_back(&calls_[wake_place()]);
  }

  EventDescriptor event_{EFD_NONBLOCK};
  AioContext context_;
  std::vector<iocb> calls_;  // by place; the last polls the eventfd
  std::vector<iocb*> pending_;
  std::vector<io_event> events_;
  std::size_t got_ = 0;  // events that reap() has not seen
};

}  // namespace

std::unique_ptr<LaneStorage> make_libaio(const StorageSpec& spec, ImageFile file) {
  return std::make_unique<LibaioStorage>(spec, std::move(file));
}

}  // namespace leanstream::hardware
