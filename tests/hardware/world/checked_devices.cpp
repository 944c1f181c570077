#include "tests/hardware/world/checked_devices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "engine/hardware/accelerator/registry.h"
#include "tests/hardware/any_order_storage.h"

namespace leanstream::hardware::test {
namespace {

using scheduler::Command;
using scheduler::CommandKind;

constexpr int kPoison = 0xff;  // NaN as f16 and as f32

Seen* watched = nullptr;

// "cpu" between two looks at the slots of each release.
class CheckedAccelerator final : public Accelerator {
 public:
  CheckedAccelerator(const AcceleratorSpec& spec, Seen& seen)
      : arena_(spec.arena),
        geometry_(spec.geometry),
        seen_(seen),
        inner_(make_accelerator("cpu", spec)) {}

  void submit(const Command& command) override {
    look(command);
    if (command.kind == CommandKind::release) {
      seen_.blocks_computed += static_cast<std::int64_t>(command.blocks.size());
      under_way_.push_back(command);
    }
    inner_->submit(command);
  }

  void poll(std::vector<Ended>& out) override {
    const std::size_t before = out.size();
    inner_->poll(out);
    for (const Ended& ended : std::span(out).subspan(before)) {
      if (!under_way_.empty() && under_way_.front().ticket == ended.ticket) {
        look(under_way_.front());
        under_way_.pop_front();
      }
      if (ended.sampled != kNone) seen_.sampled.push_back(ended.sampled);
      if (ended.residual.empty()) continue;
      const bool finite =
          std::ranges::all_of(ended.residual, [](float x) { return std::isfinite(x); });
      seen_.not_finite += finite ? 0 : 1;
      if (ended.sampled == kNone) {
        seen_.last_residual.assign(ended.residual.begin(), ended.residual.end());
      }
    }
  }

  std::span<const float> nll() const override { return inner_->nll(); }
  std::vector<std::pair<std::string, Bytes>> memory() const override { return inner_->memory(); }

 private:
  void look(const Command& command) {
    if (command.kind != CommandKind::release) return;
    for (std::size_t i = 0; i < command.blocks.size(); ++i) {
      const Bytes block = geometry_.block_bytes;
      const auto index = static_cast<Bytes>(command.layer * geometry_.blocks_per_layer) +
                         static_cast<Bytes>(command.blocks[i]);
      const auto there = arena_.subspan(static_cast<std::size_t>(command.slots[i]) * block, block);
      const auto right = seen_.image.subspan(seen_.data_offset + index * block, block);
      if (!std::ranges::equal(there, right)) ++seen_.wrong_blocks;
    }
  }

  std::span<const std::byte> arena_;
  model::BlockGeometry geometry_;
  Seen& seen_;
  std::deque<Command> under_way_;  // releases
  std::unique_ptr<Accelerator> inner_;
};

class PoisoningStorage final : public Storage {
 public:
  PoisoningStorage(const StorageSpec& spec, std::span<const std::byte> image, std::uint64_t seed,
                   TimeNs most_delay_ns)
      : inner_(image, seed, most_delay_ns, static_cast<std::size_t>(spec.lanes * spec.depth)) {
    std::memset(spec.arena.data(), kPoison, spec.arena.size());
  }

  void submit(std::span<const StorageRequest> requests) override {
    for (const StorageRequest& request : requests) {
      for (const iovec& piece : request.into) std::memset(piece.iov_base, kPoison, piece.iov_len);
    }
    inner_.submit(requests);
  }
  void cancel(std::uint64_t first_id, std::uint64_t last_id) override {
    inner_.cancel(first_id, last_id);
  }
  void poll(std::vector<StorageResult>& out) override { inner_.poll(out); }
  void wait(TimeNs at_most_ns) override { inner_.wait(at_most_ns); }
  void wake() override { inner_.wake(); }
  Bytes alignment_bytes() const override { return inner_.alignment_bytes(); }
  Bytes memory_bytes() const override { return inner_.memory_bytes(); }
  std::string description() const override { return inner_.description(); }

 private:
  AnyOrderStorage inner_;
};

[[maybe_unused]] const bool kRegistered = register_accelerator(
    "checked", "cpu, with every byte looked at", [](const AcceleratorSpec& spec) {
      return std::unique_ptr<Accelerator>(std::make_unique<CheckedAccelerator>(spec, *watched));
    });

}  // namespace

void watch(Seen& seen) {
  watched = &seen;
}

std::unique_ptr<Storage> poisoning_storage(const StorageSpec& spec,
                                           std::span<const std::byte> image, std::uint64_t seed,
                                           TimeNs most_delay_ns) {
  return std::make_unique<PoisoningStorage>(spec, image, seed, most_delay_ns);
}

}  // namespace leanstream::hardware::test
