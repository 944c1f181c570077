#include "engine/backend/log_codec.h"

#include <bit>
#include <cstring>
#include <limits>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::backend {
namespace {

using scheduler::Command;
using scheduler::CommandKind;
using scheduler::Completion;
using scheduler::Status;

constexpr std::uint8_t kWaitTag = 255;
constexpr std::uint64_t kStatusBits = 7;
constexpr auto kStatuses = static_cast<std::uint64_t>(Status::timed_out) + 1;
constexpr std::uint64_t kWork = 8, kSampled = 16, kNotRead = 32, kRequests = 64, kScores = 128;
constexpr std::uint64_t kWholeScores = 256, kNll = 512;
constexpr std::uint64_t kKnownBits = 1023;

using Bytes8 = std::array<std::byte, 8>;

class Out {
 public:
  explicit Out(std::vector<std::byte>& out) : out_(out) {}

  void byte(std::uint64_t value) { out_.push_back(static_cast<std::byte>(value)); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) byte((value & 127) | 128);
    byte(value);
  }
  void zigzag(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void word(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) byte(value >> (8 * i) & 255);
  }
  template <typename T>
  void list(std::span<const T> items) {
    varint(items.size());
    std::int64_t before = 0;
    for (const T item : items) zigzag(item - std::exchange(before, item));
  }
  // Items as they lie in memory, which is little-endian.
  template <typename T>
  void plain(std::span<const T> items) {
    static_assert(std::endian::native == std::endian::little);
    varint(items.size());
    const auto bytes = std::as_bytes(items);
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

 private:
  std::vector<std::byte>& out_;
};

class In {
 public:
  In(std::span<const std::byte>& in, const std::string& name) : in_(in), name_(name) {}

  bool empty() const { return in_.empty(); }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UserError("{}: damaged, or of a later version: {}", name_, what);
  }
  std::uint64_t byte() {
    if (in_.empty()) refuse("an event is incomplete");
    const auto value = static_cast<std::uint64_t>(in_.front());
    in_ = in_.subspan(1);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = byte();
      value |= (next & 127) << shift;
      if (next < 128) return value;
    }
    refuse("a number has no end");
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  // base + a difference, within the range of T.
  template <typename T>
  T after(T base, std::int64_t difference) const {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(static_cast<std::int64_t>(base), difference, &sum) ||
        !std::in_range<T>(sum)) {
      refuse("a number is out of range");
    }
    return static_cast<T>(sum);
  }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= byte() << (8 * i);
    return value;
  }
  template <typename T>
  std::span<const T> list(BufferPool<T>& pool) {
    const std::uint64_t size = varint();
    if (size > in_.size()) refuse("a list is longer than its frame");
    auto& items = pool.take();
    T before = 0;
    for (std::uint64_t i = 0; i < size; ++i) items.push_back(before = after(before, zigzag()));
    return items;
  }
  template <typename T>
  std::span<const T> plain(BufferPool<T>& pool) {
    const std::uint64_t size = varint();
    if (size > in_.size() / sizeof(T)) refuse("a list is longer than its frame");
    auto& items = pool.take();
    items.resize(size);
    if (size > 0) std::memcpy(items.data(), in_.data(), size * sizeof(T));
    in_ = in_.subspan(size * sizeof(T));
    return items;
  }

 private:
  std::span<const std::byte>& in_;
  const std::string& name_;
};

// Sets the fields of a command from the format's; its spans are set elsewhere.
void set_fields(const In& in, const CommandFields& f, Command& c) {
  c.ticket = in.after<TicketId>(0, f[0]);
  c.layer = in.after<LayerId>(0, f[1]);
  c.token = in.after<TokenId>(0, f[2]);
  c.tokens = in.after<std::int32_t>(0, f[3]);
  c.lane = in.after<std::int32_t>(0, f[4]);
  c.merge_blocks = in.after<std::int32_t>(0, f[5]);
  c.segment = in.after<std::int32_t>(0, f[6]);
  c.feature = in.after<std::int32_t>(0, f[7]);
  c.target = in.after<TicketId>(0, f[8]);
}

void read_command(In& in, std::uint64_t kind, CodecState& state, LogBatch& batch) {
  if (kind >= kCommandKinds) in.refuse(fmt::format("an event of kind {}", kind));
  CommandFields& fields = state.last[kind];
  fields[0] = static_cast<std::int64_t>(state.last_command + 1);
  const std::uint64_t differ = in.varint();
  if (differ >> kCommandFields != 0) in.refuse("a command with unknown fields");
  for (std::size_t i = 0; i < kCommandFields; ++i) {
    if ((differ >> i & 1) != 0) fields[i] = in.after(fields[i], in.zigzag());
  }
  Command& command = batch.commands.emplace_back();
  command.kind = static_cast<CommandKind>(kind);
  set_fields(in, fields, command);
  command.blocks = in.list(batch.ids);
  command.slots = in.list(batch.ids);
  state.last_command = command.ticket;
}

void read_completion(In& in, CodecState& state, LogBatch& batch) {
  const std::uint64_t parts = in.varint();
  const std::uint64_t status = parts & kStatusBits;
  if (parts > kKnownBits || status >= kStatuses) in.refuse("a completion with unknown parts");
  Completion& c = batch.completions.emplace_back();
  c.status = static_cast<Status>(status);
  c.ticket = state.last_completion = in.after(state.last_completion + 1, in.zigzag());
  const std::uint64_t later = in.varint();
  if (!std::in_range<TimeNs>(later)) in.refuse("a date is out of range");
  c.time_ns = state.time_ns = in.after(state.time_ns, static_cast<TimeNs>(later));
  if ((parts & kWork) != 0) c.work_ns = in.zigzag();
  if ((parts & kSampled) != 0) c.sampled = in.after<std::int32_t>(0, in.zigzag());
  if ((parts & kNotRead) != 0) c.not_read = in.list(batch.ids);
  if ((parts & kRequests) != 0) c.request_ns = in.list(batch.times);
  const std::uint64_t hash = (parts & kScores) != 0 ? in.word() : 0;
  batch.scores_hash.push_back(hash);
  if ((parts & kWholeScores) != 0) {
    c.scores = in.plain(batch.codes);
    if (c.scores.empty() || hash64(std::as_bytes(c.scores)) != hash) {
      in.refuse("scores that do not have their hash");
    }
  }
  if ((parts & kNll) != 0) c.nll = in.plain(batch.numbers);
}

}  // namespace

CommandFields fields_of(const Command& c) {
  return {static_cast<std::int64_t>(c.ticket),
          c.layer,
          c.token,
          c.tokens,
          c.lane,
          c.merge_blocks,
          c.segment,
          c.feature,
          static_cast<std::int64_t>(c.target)};
}

const char* field_name(std::size_t index) {
  constexpr std::array<const char*, kCommandFields> kNames{
      "ticket", "layer", "token", "tokens", "lane", "merge_blocks", "segment", "feature", "target"};
  return kNames.at(index);
}

void LogEncoder::commands(std::span<const Command> commands, std::vector<std::byte>& bytes) {
  Out out(bytes);
  for (const Command& command : commands) {
    const auto kind = static_cast<std::size_t>(command.kind);
    LEANSTREAM_CHECK(kind < kCommandKinds, "a command of kind {}", kind);
    CommandFields& last = state_.last[kind];
    last[0] = static_cast<std::int64_t>(state_.last_command + 1);
    const CommandFields fields = fields_of(command);
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < kCommandFields; ++i) {
      differ |= std::uint64_t{fields[i] != last[i]} << i;
    }
    out.byte(kind);
    out.varint(differ);
    for (std::size_t i = 0; i < kCommandFields; ++i) {
      if (fields[i] != last[i]) out.zigzag(fields[i] - last[i]);
    }
    out.list(command.blocks);
    out.list(command.slots);
    last = fields;
    state_.last_command = command.ticket;
  }
}

void LogEncoder::wait(std::span<const Completion> completions,
                      std::span<const std::uint64_t> scores_hash, std::vector<std::byte>& bytes) {
  LEANSTREAM_CHECK(completions.size() == scores_hash.size(), "{} hashes for {} completions",
                   scores_hash.size(), completions.size());
  Out out(bytes);
  out.byte(kWaitTag);
  out.varint(completions.size());
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const Completion& c = completions[i];
    LEANSTREAM_CHECK(c.time_ns >= state_.time_ns, "time went back to {} ns", c.time_ns);
    std::uint64_t parts = static_cast<std::uint64_t>(c.status);
    if (c.work_ns != 0) parts |= kWork;
    if (c.sampled != kNone) parts |= kSampled;
    if (!c.not_read.empty()) parts |= kNotRead;
    if (!c.request_ns.empty()) parts |= kRequests;
    if (scores_hash[i] != 0) parts |= kScores;
    if (keep_ == KeepScores::whole && !c.scores.empty()) parts |= kWholeScores;
    if (!c.nll.empty()) parts |= kNll;
    out.varint(parts);
    out.zigzag(static_cast<std::int64_t>(c.ticket - (state_.last_completion + 1)));
    out.varint(static_cast<std::uint64_t>(c.time_ns - state_.time_ns));
    if ((parts & kWork) != 0) out.zigzag(c.work_ns);
    if ((parts & kSampled) != 0) out.zigzag(c.sampled);
    if ((parts & kNotRead) != 0) out.list(c.not_read);
    if ((parts & kRequests) != 0) out.list(c.request_ns);
    if ((parts & kScores) != 0) out.word(scores_hash[i]);
    if ((parts & kWholeScores) != 0) out.plain(c.scores);
    if ((parts & kNll) != 0) out.plain(c.nll);
    state_.last_completion = c.ticket;
    state_.time_ns = c.time_ns;
  }
}

bool LogDecoder::read(std::span<const std::byte>& bytes, LogBatch& batch) {
  In in(bytes, name_);
  while (!in.empty()) {
    const std::uint64_t tag = in.byte();
    if (tag != kWaitTag) {
      read_command(in, tag, state_, batch);
      continue;
    }
    const std::uint64_t count = in.varint();
    if (count == 0) in.refuse("a wait that ended with nothing");
    for (std::uint64_t i = 0; i < count; ++i) read_completion(in, state_, batch);
    return true;
  }
  return false;
}

}  // namespace leanstream::backend
