// A world whose every word is written down: wraps any other.
#pragma once

#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/log_file.h"

namespace leanstream::backend {

class RecordingBackend final : public Backend {
 public:
  // Both outlive it. The caller ends the log (LogWriter::finish) when it knows the results.
  RecordingBackend(Backend& inner, LogWriter& log) : inner_(inner), log_(log) {}

  TimeNs now() override { return inner_.now(); }
  void submit(std::span<const scheduler::Command> commands) override;
  std::span<const scheduler::Completion> wait(TimeNs deadline) override;
  void ended() override { inner_.ended(); }
  void broken() override;
  std::vector<std::pair<std::string, std::string>> facts() const override { return inner_.facts(); }

  std::string completions_hash() const { return hash_.hex(); }

 private:
  Backend& inner_;
  LogWriter& log_;
  Fnv64 hash_;
  std::vector<std::uint64_t> scores_hash_;  // scratch
};

}  // namespace leanstream::backend
