// The completion log as a file: what a run was, everything its world was asked and answered, and
// how it ended. Whole frames are written as the run goes on, so a run that is killed leaves a log
// up to its last frame; the end mark tells it from a whole one.
//
//   8 bytes  "LSLOG\0\0" and the version, 1
//   frames: the header, events, the end mark; numbers are little-endian
//     u32  kind: 1 header, 2 events, 3 end
//     u32  bytes of the payload
//     u64  hash64 of the payload
//     u64  hash64 of the 16 bytes before
//     the payload, compressed with zstd (its content size stated)
//   header: a text (JSON) by which the reader's owner knows the run again
//   events: log_codec.h, going on from frame to frame; a wait may be cut only at the file's end.
//     With scores themselves (KeepScores::whole) the log of a model that computed live can be
//     played where that model is not
//   end: commands_hash, completions_hash and results (LogEnd), each a u32 length and its bytes
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/log_batch.h"
#include "engine/backend/log_codec.h"
#include "engine/base/mapped_file.h"

namespace leanstream::backend {

class LogWriter {
 public:
  // Creates the missing parent folders and the file. Throws UserError (as every member does) when
  // it cannot be written.
  LogWriter(const std::string& path, const std::string& header, KeepScores keep = KeepScores::hash);
  // Without finish() the log is that of a run that was cut short; what was added is in it.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // A wait: any number of calls with the commands before it, then its completions and, for each,
  // the hash of its scores (0: none).
  void commands(std::span<const scheduler::Command> commands);
  void wait(std::span<const scheduler::Completion> completions,
            std::span<const std::uint64_t> scores_hash);

  // Writes what is left, so that the file holds all that was added.
  void flush();
  // The same, and the end mark. Nothing follows.
  void finish(const LogEnd& end);

 private:
  void write_frame(std::uint32_t kind, std::span<const std::byte> payload);

  std::string path_;
  std::ofstream out_;
  LogEncoder encoder_;
  std::vector<std::byte> events_;  // not written yet
  std::vector<std::byte> packed_;  // scratch
};

class LogReader {
 public:
  // Throws UserError when the file is missing, no log, of another version, or ends in its header.
  explicit LogReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::string& header() const { return header_; }

  // The next wait. False at the end of the log. The last one of a log that was cut may have no
  // completions. Throws UserError when the file is damaged.
  bool next(LogBatch& batch);
  // How many next() gave.
  std::int64_t batches() const { return batches_; }
  // Once next() was false: the end mark, or nothing when the file was cut before it.
  const std::optional<LogEnd>& end() const { return end_; }

 private:
  struct Frame {
    std::uint32_t kind = 0;
    std::vector<std::byte> payload;
  };

  // False where the file ends within the frame or before it.
  bool read_frame(Frame& frame);
  [[noreturn]] void refuse(const std::string& what) const;

  MappedFile file_;
  std::span<const std::byte> rest_;
  std::string header_;
  Frame frame_;  // the events at work
  std::span<const std::byte> events_;
  LogDecoder decoder_;
  std::int64_t batches_ = 0;
  std::optional<LogEnd> end_;
  bool over_ = false;
};

// Reads a log to its end and checks all of it. Throws UserError when it is no sound log; one that
// was cut is sound.
struct LogSummary {
  std::string header;
  std::optional<LogEnd> end;
  std::int64_t batches = 0;
  std::int64_t completions = 0;
};
LogSummary read_through(const std::string& path);

}  // namespace leanstream::backend
