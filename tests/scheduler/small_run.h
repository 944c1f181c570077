// A small model, its activations and a device in virtual time, for tests of decisions.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/random.h"
#include "engine/model/activations.h"
#include "engine/scheduler/scheduler.h"

namespace leanstream::scheduler {

// Importance codes are drawn once, skewed and persistent between tokens; level c stands for c.
class SmallActivations final : public model::Activations {
 public:
  SmallActivations(TokenId tokens, LayerId layers, std::int32_t ffn, std::uint64_t seed = 1)
      : tokens_(tokens), layers_(layers), ffn_(ffn), levels_(model::kLevels) {
    for (std::size_t c = 0; c < levels_.size(); ++c) levels_[c] = static_cast<float>(c);
    RandomStream random(seed, "test.activations");
    codes_.resize(static_cast<std::size_t>(tokens * layers * ffn));
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const auto before = static_cast<std::size_t>(layers * ffn);
      const bool keep = i >= before && random.next_below(2) == 0;
      codes_[i] = keep ? codes_[i - before] : static_cast<std::uint8_t>(random.next_below(256));
    }
  }

  TokenId tokens() const override { return tokens_; }
  LayerId layers() const override { return layers_; }
  std::int32_t ffn() const override { return ffn_; }
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const override {
    const auto row = static_cast<std::size_t>(token * layers_ + layer);
    return {&codes_[row * static_cast<std::size_t>(ffn_)], static_cast<std::size_t>(ffn_)};
  }
  std::span<const float> levels(LayerId) const override { return levels_; }

  // Sets the codes of one layer of one token.
  void set(TokenId token, LayerId layer, const std::vector<std::uint8_t>& codes) {
    const auto row = static_cast<std::size_t>(token * layers_ + layer);
    std::copy(codes.begin(), codes.end(),
              codes_.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(ffn_)));
  }

 private:
  TokenId tokens_;
  LayerId layers_;
  std::int32_t ffn_;
  std::vector<float> levels_;
  std::vector<std::uint8_t> codes_;
};

// What things take, in nanoseconds.
struct Costs {
  TimeNs read = 100, read_block = 50;
  TimeNs attention = 200, block = 20, head = 300;
  TimeNs prediction = 40;
};

// One flash queue, one accelerator, one processor; each serves in order. Everything that ends at
// one date is one batch. Keeps a transcript of all commands.
class VirtualWorld final : public backend::Backend {
 public:
  VirtualWorld(Costs costs, const policy::Predictor& predictor, std::int32_t ffn)
      : costs_(costs), predictor_(predictor), ffn_(ffn) {}

  TimeNs now() override { return now_; }

  void submit(std::span<const Command> commands) override {
    for (const Command& c : commands) {
      transcript.push_back(describe(c));
      auto& free_at = free_at_[unit(c.kind)];
      const TimeNs start = std::max(now_, free_at);
      free_at = start + duration(c);
      running_.push_back({free_at, c});
      blocks_read += c.kind == CommandKind::read ? static_cast<std::int64_t>(c.blocks.size()) : 0;
    }
  }

  std::span<const Completion> wait(TimeNs deadline) override {
    batch_.clear();
    std::sort(running_.begin(), running_.end(), [](const Running& a, const Running& b) {
      return std::pair(a.end, a.command.ticket) < std::pair(b.end, b.command.ticket);
    });
    if (running_.empty() || running_.front().end > deadline) {
      now_ = deadline;
      batch_.push_back({.time_ns = now_, .status = Status::timed_out});
      return batch_;
    }
    now_ = running_.front().end;
    scores_.clear();
    while (!running_.empty() && running_.front().end == now_) {
      batch_.push_back(complete(running_.front().command));
      running_.erase(running_.begin());
    }
    return batch_;
  }

  std::vector<std::string> transcript;
  std::int64_t blocks_read = 0;
  TicketId fail_ticket = 0;  // completes as failed

 private:
  struct Running {
    TimeNs end;
    Command command;
  };

  static std::size_t unit(CommandKind kind) {
    return kind == CommandKind::read ? 0 : kind == CommandKind::predict ? 2 : 1;
  }

  TimeNs duration(const Command& c) const {
    const auto blocks = static_cast<TimeNs>(c.blocks.size());
    switch (c.kind) {
      case CommandKind::read:
        return costs_.read + blocks * costs_.read_block;
      case CommandKind::attention:
        return costs_.attention;
      case CommandKind::release:
        return blocks * costs_.block;
      case CommandKind::head:
        return costs_.head;
      case CommandKind::predict:
        return costs_.prediction;
      default:
        return 0;
    }
  }

  Completion complete(const Command& c) {
    Completion done{.ticket = c.ticket,
                    .time_ns = now_,
                    .status = c.ticket == fail_ticket ? Status::failed : Status::ok,
                    .work_ns = unit(c.kind) == 1 ? duration(c) : 0};
    if (c.kind == CommandKind::predict) {
      auto& codes = scores_.emplace_back(static_cast<std::size_t>(ffn_));
      predictor_.predict(c.token, c.layer, c.feature, codes);
      done.scores = codes;
    }
    return done;
  }

  // "read L1 t2: 3>0 4>1", "release L0 t2 #1: 3>0", "predict L1 t2 f8", "head t2".
  static std::string describe(const Command& c) {
    std::string text = name_of(c.kind);
    if (c.layer != kNone) text += fmt::format(" L{}", c.layer);
    text += fmt::format(" t{}", c.token);
    if (c.kind == CommandKind::predict) text += fmt::format(" f{}", c.feature);
    if (c.kind == CommandKind::release) text += fmt::format(" #{}", c.segment);
    if (!c.blocks.empty()) text += ":";
    for (std::size_t i = 0; i < c.blocks.size(); ++i) {
      text += fmt::format(" {}>{}", c.blocks[i], c.slots[i]);
    }
    return text;
  }

  Costs costs_;
  const policy::Predictor& predictor_;
  std::int32_t ffn_;
  TimeNs now_ = 0;
  std::array<TimeNs, 3> free_at_{};
  std::vector<Running> running_;
  std::vector<Completion> batch_;
  std::deque<std::vector<std::uint8_t>> scores_;
};

// A run of the small model under policies chosen by name, as a system file would.
struct SmallRun {
  TokenId tokens = 6;
  TokenId prompt_tokens = 2;
  LayerId layers = 3;
  std::int32_t ffn = 16;
  std::int32_t block_neurons = 2;
  SlotId slots = 24;
  double density = 0.5;
  Select select = Select::blocks;
  FinalAt final_at = FinalAt::residual;
  bool refine = true;
  ComputeOrder compute_order = ComputeOrder::priority;
  std::string predictor = "oracle";
  std::string cache = "lru";
  std::string controller = "{policy: static, omega_io: 2, omega_gpu: 2}";
  std::string loader = "prioritised";
  Costs costs;
  std::uint64_t seed = 1;
  TicketId fail_ticket = 0;
  std::shared_ptr<SmallActivations> activations;

  // Filled by run().
  std::vector<std::string> transcript;
  std::int64_t blocks_read = 0;
  std::string failure, hash;
  RunMetrics metrics;

  RunSpec spec() const;
  void run();
};

}  // namespace leanstream::scheduler
