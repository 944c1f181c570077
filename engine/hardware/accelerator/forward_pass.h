// What the commands of the accelerator compute, cut into parts that threads can do at once: the
// forward pass with activations in f32 and weights as they are stored. Knows nothing of threads but
// their number; whoever calls keeps the order that Phase states.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "engine/hardware/accelerator/accelerator.h"
#include "engine/transformer/decoder_parts.h"

namespace leanstream::hardware {

// A command is one or more phases. Parts of one phase may run at once, and those of `blocks` with
// those of the next; every other phase needs what comes before it to have ended.
enum class Phase : std::uint8_t {
  open_layer,  // attention: room for the layer's results, norm
  project,     // some rows of query, key and value
  rotate,
  attend,    // a head
  output,    // some rows; they are added to the residual
  open_mlp,  // begin_layer: the MLP's input
  blocks,    // release: a chunk of its blocks for a group of tokens, into a row of its own
  close_layer,
  open_head,  // norm of some tokens
  logits,     // of a share of the vocabulary
  choose,     // likelihoods of these tokens and, with the last of them, the next token
};

struct Job {
  scheduler::Command command;
  Phase phase = Phase::open_layer;
  bool last = false;       // phase of the command
  std::int64_t first = 0;  // head: rows of the residual that these phases are about
  std::int64_t rows = 0;
};

class ForwardPass {
 public:
  // A partial result is that of neighbours in a release's list with about so many neurons.
  static constexpr std::int32_t kChunkNeurons = 32;

  // `rows`: partial results that exist at once.
  ForwardPass(const AcceleratorSpec& spec, std::size_t rows);

  // The phases of a command in order, and into how many parts each is cut.
  struct Cut {
    Job job;
    std::int64_t parts;
  };
  // `residual_rows`: tokens of the layers before a head.
  void cut(const scheduler::Command& command, std::int32_t residual_rows,
           std::vector<Cut>& out) const;

  // One part, by thread `worker` of 0 … threads − 1. `row`: of blocks, where its result goes.
  void compute(const Job& job, std::int64_t part, std::size_t row, int worker);

  // blocks: adds the result of the part to the layer's sum, in the order of parts.
  void add(const Job& job, std::int64_t part, std::size_t row);

  // The command's phases have all been computed and added: what it answers.
  void answer(const Job& job, Ended& ended);

  // Of any thread.
  std::span<const float> nll() const { return std::span(nll_).first(nll_count_.load()); }
  std::vector<std::pair<std::string, Bytes>> memory() const;

 private:
  using Matrix = transformer::Matrix;
  using MutableRows = transformer::MutableRows;
  using ConstRows = transformer::ConstRows;

  // Residuals of one layer.
  struct Layer {
    Matrix attention;            // [tokens, hidden] after it
    Matrix sum;                  // and what of the MLP has been added
    std::deque<Matrix> partial;  // [1, hidden]: the sum after each release
    std::size_t partials = 0;
  };
  struct Worker {
    Matrix h;  // [tokens of a group, neurons of a block]
    std::vector<float> norms;
  };

  // Rows of the residual.
  struct Tokens {
    std::int64_t first;
    std::int64_t count;
  };

  std::int64_t groups(const scheduler::Command& command) const;
  Tokens tokens_of(const Job& job, std::int64_t part) const;  // of blocks
  std::int64_t chunk_blocks() const;
  std::int64_t projected_rows() const;
  Layer& layer() { return layers_[step_ % layers_.size()]; }
  void open_layer(const Job& job);
  void open_mlp(const Job& job);
  void blocks(const Job& job, std::int64_t part, std::size_t row, Worker& worker);
  // Of the i-th block of a release.
  void note_importance(const Job& job, std::size_t i, Tokens tokens, Worker& worker);
  void open_head(const Job& job);
  void choose(const Job& job);
  std::span<const std::byte> slot(SlotId s) const;
  void note_memory();

  const AcceleratorSpec& spec_;
  const transformer::Decoder& decoder_;
  const transformer::LlamaShape& shape_;
  RandomStream random_;
  transformer::KvCache cache_;
  std::optional<transformer::AttentionPass> attention_;
  std::vector<Worker> workers_;
  std::vector<Matrix> rows_;  // [tokens of a group, hidden]: partial results

  std::array<Layer, 2> layers_;  // this one and the one before
  std::uint64_t step_ = 0;       // layers opened
  ConstRows residual_{};         // what the next layer or the head begins with
  Matrix input_;                 // of the MLP
  Matrix importance_;            // [tokens, ffn]
  Matrix head_input_, logits_;   // of the rows of a job
  std::array<Matrix, 2> next_;   // embedding of the next token and of the one before
  std::size_t next_at_ = 0;      // the newest
  std::int32_t sampled_ = kNone;
  std::vector<float> nll_;
  std::atomic<std::size_t> nll_count_{0};
  std::atomic<Bytes> activation_bytes_{0};  // most so far
  std::atomic<Bytes> row_bytes_{0};
};

}  // namespace leanstream::hardware
