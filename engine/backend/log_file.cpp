#include "engine/backend/log_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <zstd.h>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::backend {
namespace {

constexpr std::array<char, 8> kMagic{'L', 'S', 'L', 'O', 'G', 0, 0, 1};
constexpr std::uint32_t kHeader = 1, kEvents = 2, kEnd = 3;
constexpr std::size_t kFrameHead = 24;
constexpr std::size_t kFrameEvents = std::size_t{1} << 16;  // written when so many bytes wait
constexpr unsigned long long kLargestPayload = 1ULL << 30;  // what a sound log never reaches
constexpr int kLevel = 1;                                   // higher ones save a hundredth

void put(std::vector<std::byte>& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i) & 255));
}

std::uint64_t get(std::span<const std::byte> in, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(in[at + i]) << (8 * i);
  }
  return value;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

LogWriter::LogWriter(const std::string& path, const std::string& header, KeepScores keep)
    : path_(path), encoder_(keep) {
  const auto parent = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) throw UserError("{}: cannot create the folder: {}", path_, error.message());
  out_.open(path_, std::ios::binary | std::ios::trunc);
  if (!out_) throw UserError("{}: cannot write: {}", path_, std::strerror(errno));
  out_.write(kMagic.data(), kMagic.size());
  write_frame(kHeader, as_bytes(header));
}

LogWriter::~LogWriter() {
  try {
    flush();
  } catch (const UserError&) {
    // A full disk: what ended the run is being said already.
  }
}

void LogWriter::commands(std::span<const scheduler::Command> commands) {
  encoder_.commands(commands, events_);
}

void LogWriter::wait(std::span<const scheduler::Completion> completions,
                     std::span<const std::uint64_t> scores_hash) {
  encoder_.wait(completions, scores_hash, events_);
  if (events_.size() >= kFrameEvents) flush();
}

void LogWriter::flush() {
  if (!events_.empty()) write_frame(kEvents, events_);
  events_.clear();
}

void LogWriter::finish(const LogEnd& end) {
  flush();
  std::vector<std::byte> payload;
  for (const auto* text : {&end.commands_hash, &end.completions_hash, &end.results}) {
    put(payload, text->size(), 4);
    const auto bytes = as_bytes(*text);
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  }
  write_frame(kEnd, payload);
  out_.close();
  if (!out_) throw UserError("{}: cannot write: {}", path_, std::strerror(errno));
}

void LogWriter::write_frame(std::uint32_t kind, std::span<const std::byte> payload) {
  packed_.resize(ZSTD_compressBound(payload.size()));
  const std::size_t size =
      ZSTD_compress(packed_.data(), packed_.size(), payload.data(), payload.size(), kLevel);
  LEANSTREAM_CHECK(ZSTD_isError(size) == 0 && size <= std::numeric_limits<std::uint32_t>::max(),
                   "{} bytes of a log do not compress: {}", payload.size(),
                   ZSTD_getErrorName(size));
  packed_.resize(size);
  std::vector<std::byte> head;
  put(head, kind, 4);
  put(head, size, 4);
  put(head, hash64(packed_), 8);
  put(head, hash64(head), 8);
  out_.write(reinterpret_cast<const char*>(head.data()), kFrameHead);
  out_.write(reinterpret_cast<const char*>(packed_.data()), static_cast<std::streamsize>(size));
  out_.flush();  // whatever becomes of the run
  if (!out_) throw UserError("{}: cannot write: {}", path_, std::strerror(errno));
}

LogReader::LogReader(const std::string& path) : file_(path), rest_(file_.bytes()), decoder_(path) {
  const std::size_t name = kMagic.size() - 1;
  if (rest_.size() < kMagic.size() || std::memcmp(rest_.data(), kMagic.data(), name) != 0) {
    throw UserError("{}: no completion log (they are written by --log-completions)", path);
  }
  if (rest_[name] != static_cast<std::byte>(kMagic.back())) {
    throw UserError("{}: a completion log of version {}; this program reads version {}", path,
                    static_cast<int>(rest_[name]), static_cast<int>(kMagic.back()));
  }
  rest_ = rest_.subspan(kMagic.size());
  if (!read_frame(frame_)) {
    throw UserError("{}: the log ends within its header; nothing of a run is in it", path);
  }
  if (frame_.kind != kHeader) refuse("its first frame is no header");
  header_ = as_text(frame_.payload);
}

void LogReader::refuse(const std::string& what) const {
  throw UserError("{}: damaged before byte {}: {}", path(), file_.bytes().size() - rest_.size(),
                  what);
}

bool LogReader::read_frame(Frame& frame) {
  if (rest_.size() < kFrameHead) return false;
  const auto head = rest_.first(kFrameHead);
  if (get(head, 16, 8) != hash64(head.first(16))) refuse("the head of a frame is not as written");
  frame.kind = static_cast<std::uint32_t>(get(head, 0, 4));
  const std::size_t size = get(head, 4, 4);
  if (rest_.size() - kFrameHead < size) return false;
  const auto packed = rest_.subspan(kFrameHead, size);
  rest_ = rest_.subspan(kFrameHead + size);
  if (get(head, 8, 8) != hash64(packed)) refuse("a frame is not as written");
  const unsigned long long content = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (content > kLargestPayload) refuse("a frame's content has no sensible size");
  frame.payload.resize(content);
  const std::size_t got =
      ZSTD_decompress(frame.payload.data(), content, packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != content) refuse("a frame does not decompress");
  return true;
}

bool LogReader::next(LogBatch& batch) {
  batch.clear();
  while (!over_) {
    if (decoder_.read(events_, batch)) return ++batches_, true;
    if (!read_frame(frame_)) {
      over_ = true;
      return batch.commands.empty() ? false : (++batches_, true);
    }
    events_ = frame_.payload;
    if (frame_.kind == kEvents) continue;
    if (frame_.kind != kEnd) refuse("a frame of unknown kind");
    over_ = true;
    LogEnd& end = end_.emplace();
    for (auto* text : {&end.commands_hash, &end.completions_hash, &end.results}) {
      const std::size_t size = events_.size() < 4 ? events_.size() : get(events_, 0, 4);
      if (events_.size() < 4 || events_.size() - 4 < size) refuse("its end mark is incomplete");
      *text = as_text(events_.subspan(4, size));
      events_ = events_.subspan(4 + size);
    }
    if (!rest_.empty() || !events_.empty()) refuse("the file goes on after its end mark");
    if (!batch.commands.empty()) refuse("its run ended before a wait was over");
  }
  return false;
}

LogSummary read_through(const std::string& path) {
  LogReader reader(path);
  LogSummary summary;
  LogBatch batch;
  while (reader.next(batch)) {
    summary.completions += static_cast<std::int64_t>(batch.completions.size());
  }
  summary.header = reader.header();
  summary.end = reader.end();
  summary.batches = reader.batches();
  return summary;
}

}  // namespace leanstream::backend
