// Commands and completions as bytes: the payload of a log's event frames.
//
// A stream of events. Each begins with a tag byte:
//   0 … 7   a command of that kind, then
//             varint   which of its fields differ from what is expected: the ticket after the last
//                      command's, and else the field of the last command of its kind
//             zigzag   for each of those, the difference
//             list, list    blocks and slots
//   255     a wait has ended; varint: how many completions follow. Each is
//             varint   status (3 bits), then a bit for each of the optional parts below, from
//                      work_ns on
//             zigzag   ticket − (the ticket of the completion before + 1)
//             varint   time since the completion before
//             zigzag   work_ns
//             zigzag   sampled
//             list     not_read
//             list     request_ns
//             8 bytes  hash64 of the scores, little-endian
//             scores   a varint, their number, and a byte for each; only in a log that holds them
//             nll      a varint, their number, and a little-endian f32 for each
// A list is a varint, its length, and zigzag differences from one item to the next. Unknown tags
// and bits are refused: a later version may hold more. The last two parts came later: a program
// that does not know them refuses the logs that have them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/log_batch.h"

namespace leanstream::backend {

inline constexpr std::size_t kCommandKinds = 8;
inline constexpr std::size_t kCommandFields = 9;
using CommandFields = std::array<std::int64_t, kCommandFields>;

// Of a command, in the order of the format; blocks and slots are not among them.
CommandFields fields_of(const scheduler::Command& command);
const char* field_name(std::size_t index);

// What the next event is told against.
struct CodecState {
  std::array<CommandFields, kCommandKinds> last{};  // by kind
  TicketId last_command = 0;
  TicketId last_completion = 0;
  TimeNs time_ns = 0;
};

// What becomes of scores. Where a predictor makes them again a log needs only their hash.
enum class KeepScores : bool { hash, whole };

class LogEncoder {
 public:
  explicit LogEncoder(KeepScores keep = KeepScores::hash) : keep_(keep) {}

  // Appends to `out`.
  void commands(std::span<const scheduler::Command> commands, std::vector<std::byte>& out);
  // scores_hash[i] belongs to completions[i].
  void wait(std::span<const scheduler::Completion> completions,
            std::span<const std::uint64_t> scores_hash, std::vector<std::byte>& out);

 private:
  KeepScores keep_;
  CodecState state_;
};

class LogDecoder {
 public:
  // `name` is the log's, for messages.
  explicit LogDecoder(std::string name) : name_(std::move(name)) {}

  // Takes events from the front of `in` up to the end of a wait, adding them to `batch`; true when
  // there was one. Throws UserError when the bytes are no events.
  bool read(std::span<const std::byte>& in, LogBatch& batch);

 private:
  std::string name_;
  CodecState state_;
};

}  // namespace leanstream::backend
