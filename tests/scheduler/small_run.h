// A small model, its activations and a device in virtual time, for tests of decisions.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/random.h"
#include "engine/config/document.h"
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
  bool known(TokenId, LayerId) const override { return knows; }

  bool knows = true;

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

// A policy as a system file names it: "lru" or "{policy: window, tokens: 5}".
template <typename Kind>
std::unique_ptr<Kind> make_policy(const std::string& yaml, const typename Kind::Context& context) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "test", diagnostics);
  const auto choice = policy::Registry<Kind>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice.make(context);
}

// Which of the blocks that a read has read are not there; empty: none ever.
using Unreadable = std::function<std::vector<BlockId>(TicketId, std::span<const BlockId>)>;

// What a device that computes adds to its answer. Spans are the caller's, until the run is over.
using Computes = std::function<void(const Command&, Completion&)>;

// One flash queue, one accelerator, one processor; each serves in order. A read takes `read`, then
// `read_block` for each block. Everything that ends at one date is one batch. Keeps a transcript of
// all commands.
class VirtualWorld final : public backend::Backend {
 public:
  VirtualWorld(Costs costs, const policy::Predictor& predictor, std::int32_t ffn)
      : costs_(costs), predictor_(predictor), ffn_(ffn) {}

  TimeNs now() override { return now_; }
  void submit(std::span<const Command> commands) override;
  std::span<const Completion> wait(TimeNs deadline) override;

  std::vector<std::string> transcript;
  std::vector<TimeNs> submitted_ns;  // of each line
  std::int64_t blocks_read = 0;
  TicketId fail_ticket = 0;  // completes as failed
  Unreadable unreadable;
  Computes computes;

 private:
  enum Unit : std::uint8_t { flash, accelerator, processor, none };

  struct Running {
    Command command;
    TimeNs begin = 0;
    TimeNs end = 0;
    std::size_t blocks = 0;  // read: that are not taken back
  };

  static Unit unit_of(CommandKind kind);
  TimeNs duration(const Command& command) const;
  void take_back(TicketId read);
  std::string describe(const Command& command) const;
  Completion complete(const Running& done);

  Costs costs_;
  const policy::Predictor& predictor_;
  std::int32_t ffn_;
  TimeNs now_ = 0;
  std::array<TimeNs, 4> free_at_{};
  std::vector<Running> running_;
  std::vector<Completion> batch_;
  std::deque<std::vector<std::uint8_t>> scores_;  // of the batch, as the others
  std::deque<std::vector<BlockId>> not_read_;
  std::deque<std::vector<TimeNs>> request_ns_;
};

// A run of the small model under policies chosen by name, as a system file would. The geometry
// follows from `ffn` and `block_neurons`.
struct SmallRun : RunSpec {
  SmallRun() {
    layers = 3, tokens = 6, prompt_tokens = 2, slots = 24;
    density = 0.5;
  }

  std::int32_t ffn = 16;
  std::int32_t block_neurons = 2;
  std::string predictor = "oracle";
  std::string cache = "lru";
  std::string controller = "{policy: static, omega_io: 2, omega_gpu: 2}";
  std::string loader = "prioritised";
  std::string placed = "identity";          // sets `placement`
  std::vector<policy::StagePlan> sequence;  // by decode step, for clairvoyant_plan
  Costs costs;
  std::uint64_t seed = 1;
  TicketId fail_ticket = 0;
  Unreadable unreadable;
  Computes computes;
  std::shared_ptr<SmallActivations> activations;   // random ones by default
  std::shared_ptr<policy::Predictor> predictions;  // instead of what `predictor` names

  // Filled by run().
  std::vector<std::string> transcript;
  std::vector<TimeNs> submitted_ns;
  std::vector<BlockSet> final_sets;
  std::int64_t blocks_read = 0;
  std::string failure, hash;
  RunMetrics metrics;

  RunSpec spec() const;
  void run();
  // In another world, made when the predictor is; it leaves out what only VirtualWorld knows.
  void run_in(const std::function<backend::Backend&(const policy::Predictor&)>& world);
};

}  // namespace leanstream::scheduler
