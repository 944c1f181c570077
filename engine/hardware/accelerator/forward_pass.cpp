#include "engine/hardware/accelerator/forward_pass.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/transformer/block_kernel.h"
#include "engine/transformer/forward.h"

namespace leanstream::hardware {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using transformer::Matrix;

constexpr std::int64_t kGroupTokens = 16;  // that share a partial result
constexpr std::int64_t kRows = 64;         // of an attention matrix: a part
constexpr std::int64_t kVocabRows = 256;
constexpr std::int64_t kHeadTokens = 16;  // logits of so many exist at once

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Gives memory back, unlike resize: a prompt's matrices are large. Contents are lost.
void fit(Matrix& m, std::int64_t rows, std::int64_t columns) {
  if (m.rows() != rows || m.columns() != columns) m = Matrix(rows, columns);
}

void copy_rows(transformer::ConstRows from, transformer::MutableRows to) {
  for (std::int64_t t = 0; t < from.rows; ++t) {
    std::copy(from[t].begin(), from[t].end(), to[t].begin());
  }
}

void add_to(std::span<const float> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

Bytes bytes_of(const Matrix& m) {
  return static_cast<Bytes>(m.rows() * m.columns()) * sizeof(float);
}

void note_most(std::atomic<Bytes>& most, Bytes now) {
  if (now > most.load()) most.store(now);
}

// The prompt, however short: all that begins with token 0.
bool is_prefill(const Command& command) {
  return command.token == 0;
}

}  // namespace

ForwardPass::ForwardPass(const AcceleratorSpec& spec, std::size_t rows)
    : spec_(spec),
      decoder_(*spec.decoder),
      shape_(decoder_.shape),
      random_(spec.feed.seed, "hardware.sampling"),
      cache_(shape_.layers, shape_.kv_size(), spec.tokens),
      attention_(std::in_place, decoder_),
      workers_(static_cast<std::size_t>(spec.threads)),
      rows_(rows),
      nll_(spec.keep_nll ? spec.feed.ids.size() : 0) {
  for (Worker& worker : workers_) {
    worker.norms.resize(static_cast<std::size_t>(spec.geometry.block_neurons));
  }
}

std::int64_t ForwardPass::groups(const Command& command) const {
  return divide_up(command.tokens, kGroupTokens);
}

// Parts: for each chunk all groups of tokens.
ForwardPass::Tokens ForwardPass::tokens_of(const Job& job, std::int64_t part) const {
  const std::int64_t first = part % groups(job.command) * kGroupTokens;
  return {first, std::min(kGroupTokens, job.command.tokens - first)};
}

std::int64_t ForwardPass::projected_rows() const {
  return shape_.query_size() + 2 * shape_.kv_size();
}

std::int64_t ForwardPass::chunk_blocks() const {
  return std::max(1, kChunkNeurons / spec_.geometry.block_neurons);
}

void ForwardPass::cut(const Command& command, std::int32_t residual_rows,
                      std::vector<Cut>& out) const {
  const auto add = [&](Phase phase, std::int64_t parts, std::int64_t first = 0,
                       std::int64_t rows = 0) {
    out.push_back({{command, phase, false, first, rows}, parts});
  };
  switch (command.kind) {
    case CommandKind::attention:
      add(Phase::open_layer, 1);
      add(Phase::project, divide_up(projected_rows(), kRows));
      add(Phase::rotate, 1);
      add(Phase::attend, shape_.heads);
      add(Phase::output, divide_up(shape_.hidden, kRows));
      break;
    case CommandKind::begin_layer:
      add(Phase::open_mlp, 1);
      break;
    case CommandKind::release:
      add(Phase::blocks,
          groups(command) *
              divide_up(static_cast<std::int64_t>(command.blocks.size()), chunk_blocks()));
      break;
    case CommandKind::end_layer:
      add(Phase::close_layer, 1);
      break;
    case CommandKind::head:
      // Only the last token's, unless the likelihood of all is asked for.
      for (std::int64_t row = spec_.keep_nll ? 0 : residual_rows - 1; row < residual_rows;) {
        const std::int64_t count = std::min(kHeadTokens, residual_rows - row);
        add(Phase::open_head, 1, row, count);
        add(Phase::logits, divide_up(shape_.vocab, kVocabRows), row, count);
        add(Phase::choose, 1, row, count);
        row += count;
      }
      break;
    case CommandKind::read:
    case CommandKind::predict:
    case CommandKind::cancel:
      LEANSTREAM_CHECK(false, "{} is no command of the accelerator", name_of(command.kind));
  }
  out.back().job.last = true;
}

void ForwardPass::compute(const Job& job, std::int64_t part, std::size_t row, int worker) {
  const auto share = [&](std::int64_t most, std::int64_t all, const auto& use) {
    use(part * most, std::min(most, all - part * most));
  };
  switch (job.phase) {
    case Phase::open_layer:
      return open_layer(job);
    case Phase::project:
      return share(kRows, projected_rows(),
                   [&](auto first, auto count) { attention_->project(first, count); });
    case Phase::rotate:
      return attention_->rotate();
    case Phase::attend:
      return attention_->attend(static_cast<std::int32_t>(part), 1);
    case Phase::output:
      return share(kRows, shape_.hidden, [&](auto first, auto count) {
        attention_->add_output(first, count, layer().attention.view());
      });
    case Phase::open_mlp:
      return open_mlp(job);
    case Phase::blocks:
      return blocks(job, part, row, workers_[static_cast<std::size_t>(worker)]);
    case Phase::close_layer:
      residual_ = layer().sum.view();
      return note_memory();
    case Phase::open_head:
      return open_head(job);
    case Phase::logits:
      return share(kVocabRows, shape_.vocab, [&](auto first, auto count) {
        transformer::head_logits(decoder_, head_input_.view(), first, count, logits_.view());
      });
    case Phase::choose:
      return choose(job);
  }
}

void ForwardPass::open_layer(const Job& job) {
  const Command& command = job.command;
  const std::int64_t n = command.tokens;
  if (command.layer == 0 && is_prefill(command)) {
    fit(next_[next_at_], n, shape_.hidden);
    transformer::embed(decoder_, std::span(spec_.feed.ids).first(static_cast<std::size_t>(n)),
                       next_[next_at_].view());
    residual_ = next_[next_at_].view();
  }
  LEANSTREAM_CHECK(residual_.rows == n, "{} tokens after {}", n, residual_.rows);
  ++step_;
  layer().partials = 0;
  fit(layer().attention, n, shape_.hidden);
  fit(layer().sum, n, shape_.hidden);
  copy_rows(residual_, layer().attention.view());
  if (input_.rows() != n) attention_.emplace(decoder_);
  fit(input_, n, shape_.hidden);
  cache_.advance(command.token - cache_.length());
  attention_->begin(command.layer, cache_, residual_);
}

void ForwardPass::open_mlp(const Job& job) {
  transformer::mlp_input(decoder_, job.command.layer, layer().attention.view(), input_.view());
  copy_rows(layer().attention.view(), layer().sum.view());
  const std::int64_t n = job.command.tokens, group = std::min(n, kGroupTokens);
  for (Matrix& row : rows_) fit(row, group, shape_.hidden);
  for (Worker& worker : workers_) fit(worker.h, group, spec_.geometry.block_neurons);
  if (is_prefill(job.command)) {
    importance_.resize(n, shape_.ffn);
  } else {
    importance_ = {};
  }
}

void ForwardPass::blocks(const Job& job, std::int64_t part, std::size_t row, Worker& worker) {
  const Command& command = job.command;
  const Tokens tokens = tokens_of(job, part);
  const ConstRows input = input_.view().rows_from(tokens.first, tokens.count);
  const MutableRows sum = rows_[row].view().rows_from(0, tokens.count);
  for (std::int64_t t = 0; t < tokens.count; ++t) std::fill(sum[t].begin(), sum[t].end(), 0.0F);
  const auto from = static_cast<std::size_t>(part / groups(command) * chunk_blocks());
  const std::size_t to =
      std::min(command.blocks.size(), from + static_cast<std::size_t>(chunk_blocks()));
  const bool alone = workers_.size() == 1;  // then the next part is this thread's, too
  const std::size_t mine = alone ? command.slots.size() : to;
  if (from == 0 || !alone) transformer::fetch_block(spec_.layout, slot(command.slots[from]));
  for (std::size_t i = from; i < to; ++i) {
    const std::int32_t neurons = spec_.geometry.neurons(command.blocks[i]);
    const auto next = i + 1 < mine ? slot(command.slots[i + 1]) : std::span<const std::byte>{};
    transformer::add_block(spec_.layout, slot(command.slots[i]), neurons, input,
                           worker.h.view().rows_from(0, tokens.count).columns_from(0, neurons), sum,
                           next);
    if (is_prefill(command)) note_importance(job, i, tokens, worker);
  }
}

// |h| · ‖down column‖₂, put where the model has the neuron.
void ForwardPass::note_importance(const Job& job, std::size_t i, Tokens tokens, Worker& worker) {
  const BlockId block = job.command.blocks[i];
  const std::int32_t neurons = spec_.geometry.neurons(block);
  const std::int32_t first = spec_.geometry.first_neuron(block);
  const auto order = spec_.order ? spec_.order(job.command.layer) : std::span<const std::int32_t>{};
  const auto norms = std::span(worker.norms).first(static_cast<std::size_t>(neurons));
  transformer::down_norms(spec_.layout, slot(job.command.slots[i]), neurons, norms);
  for (std::int32_t j = 0; j < neurons; ++j) {
    const std::int32_t at = first + j;
    const auto neuron =
        static_cast<std::size_t>(order.empty() ? at : order[static_cast<std::size_t>(at)]);
    const auto column = static_cast<std::size_t>(j);
    for (std::int64_t t = 0; t < tokens.count; ++t) {
      importance_[tokens.first + t][neuron] = std::abs(worker.h[t][column]) * norms[column];
    }
  }
}

void ForwardPass::add(const Job& job, std::int64_t part, std::size_t row) {
  const Tokens tokens = tokens_of(job, part);
  for (std::int64_t t = 0; t < tokens.count; ++t) {
    add_to(std::as_const(rows_[row])[t], layer().sum[tokens.first + t]);
  }
}

void ForwardPass::open_head(const Job& job) {
  const Matrix& from = layer().sum;
  fit(head_input_, job.rows, shape_.hidden);
  fit(logits_, job.rows, shape_.vocab);
  transformer::head_input(decoder_, from.view().rows_from(job.first, job.rows), head_input_.view());
  note_memory();
}

void ForwardPass::choose(const Job& job) {
  const auto& ids = spec_.feed.ids;
  const Matrix& all = layer().sum;
  const auto first_token = static_cast<std::size_t>(job.command.token + 1 - all.rows() + job.first);
  std::size_t known = nll_count_.load();
  for (std::int64_t r = 0; spec_.keep_nll && r < job.rows; ++r) {
    const std::size_t next = first_token + static_cast<std::size_t>(r) + 1;
    if (next >= ids.size()) break;
    LEANSTREAM_CHECK(next == known + 1, "the likelihood of token {} after that of {}", next, known);
    nll_[known++] = transformer::nll_of_row(std::as_const(logits_)[r], ids[next]);
  }
  nll_count_.store(known);
  if (!job.last) return;
  const auto next = static_cast<std::size_t>(job.command.token) + 1;
  sampled_ = next < ids.size() ? ids[next]
                               : transformer::sample(std::as_const(logits_)[job.rows - 1],
                                                     spec_.feed.sampling, random_);
  next_at_ = 1 - next_at_;
  fit(next_[next_at_], 1, shape_.hidden);
  transformer::embed(decoder_, std::span(&sampled_, 1), next_[next_at_].view());
  residual_ = next_[next_at_].view();
}

std::span<const std::byte> ForwardPass::slot(SlotId s) const {
  return spec_.arena.subspan(static_cast<std::size_t>(s) * spec_.geometry.block_bytes,
                             spec_.geometry.block_bytes);
}

void ForwardPass::answer(const Job& job, Ended& ended) {
  const auto all = [](const Matrix& m) {
    return std::span(m.view().data, static_cast<std::size_t>(m.rows() * m.columns()));
  };
  Layer& now = layer();
  switch (job.command.kind) {
    case CommandKind::attention:
      ended.residual = all(now.attention);
      return;
    case CommandKind::release: {
      if (job.command.tokens > 1) return;
      if (now.partials == now.partial.size()) now.partial.emplace_back(1, shape_.hidden);
      Matrix& copy = now.partial[now.partials++];
      copy_rows(now.sum.view(), copy.view());
      ended.residual = all(copy);
      return;
    }
    case CommandKind::end_layer:
      ended.residual = all(now.sum);
      ended.importance = all(importance_);
      return;
    case CommandKind::head:
      ended.sampled = sampled_;
      ended.residual = all(next_[next_at_]);
      return;
    default:
      return;
  }
}

void ForwardPass::note_memory() {
  const std::int64_t of_attention =
      shape_.hidden + 2 * shape_.query_size() + shape_.rope_size;  // normed, query, joined, angles
  Bytes bytes = static_cast<Bytes>(input_.rows() * of_attention) * sizeof(float);
  bytes += bytes_of(input_) + bytes_of(importance_) + bytes_of(head_input_) + bytes_of(logits_) +
           bytes_of(next_[0]) + bytes_of(next_[1]);
  for (const Layer& layer : layers_) {
    bytes += bytes_of(layer.attention) + bytes_of(layer.sum);
    for (const Matrix& m : layer.partial) bytes += bytes_of(m);
  }
  for (const Worker& worker : workers_) bytes += bytes_of(worker.h);
  note_most(activation_bytes_, bytes);
  Bytes rows = 0;
  for (const Matrix& row : rows_) rows += bytes_of(row);
  note_most(row_bytes_, rows);
}

std::vector<std::pair<std::string, Bytes>> ForwardPass::memory() const {
  const auto cache = static_cast<Bytes>(2 * shape_.layers * shape_.kv_size()) * sizeof(float) *
                     static_cast<Bytes>(cache_.capacity());
  return {{"key/value cache", cache},
          {"activations", activation_bytes_.load()},
          {"partial results", row_bytes_.load()}};
}

}  // namespace leanstream::hardware
