// leanstream timeline LOG: what a recorded run did when, a row for each command.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "engine/backend/log_file.h"
#include "engine/base/check.h"
#include "experiments/commands/commands.h"
#include "experiments/report/csv.h"

namespace leanstream::commands {
namespace {

using scheduler::Command;
using scheduler::Completion;

// A command that has not ended.
struct Begun {
  Command command;
  std::size_t blocks = 0;
  std::int64_t requests = 0;
  TimeNs submitted_ns = 0;
};

std::string name_or_nothing(std::int32_t number) {
  return number == kNone ? "" : std::to_string(number);
}

std::vector<std::string> row(const Begun& begun, const Completion* end) {
  const Command& c = begun.command;
  std::vector<std::string> cells{std::to_string(c.ticket),
                                 name_of(c.kind),
                                 std::to_string(c.token),
                                 name_or_nothing(c.layer),
                                 std::to_string(c.lane),
                                 name_or_nothing(c.segment),
                                 std::to_string(begun.blocks),
                                 std::to_string(begun.requests),
                                 std::to_string(begun.submitted_ns)};
  if (end == nullptr) {
    cells.insert(cells.end(), {"", "", ""});
  } else {
    cells.insert(cells.end(), {std::to_string(end->time_ns), std::to_string(end->work_ns),
                               name_of(end->status)});
  }
  return cells;
}

report::CsvTable timeline(const std::string& path) {
  report::CsvTable table;
  table.header = {"ticket", "kind",     "token",        "layer",    "lane",    "segment",
                  "blocks", "requests", "submitted_ns", "ended_ns", "work_ns", "status"};
  std::map<TicketId, Begun> begun;
  TimeNs now = 0;
  backend::LogReader log(path);
  for (backend::LogBatch batch; log.next(batch);) {
    for (const Command& command : batch.commands) {
      Begun& added = begun[command.ticket];
      added = {command, command.blocks.size(), 0, now};
      if (command.kind != scheduler::CommandKind::read) continue;
      for_each_request(command, [&](std::size_t, std::size_t) { ++added.requests; });
    }
    for (const Completion& completion : batch.completions) {
      now = completion.time_ns;
      const auto found = begun.find(completion.ticket);
      if (found == begun.end()) continue;  // a deadline that passed
      table.rows.push_back(row(found->second, &completion));
      begun.erase(found);
    }
  }
  for (const auto& [ticket, unended] : begun) table.rows.push_back(row(unended, nullptr));
  return table;
}

}  // namespace

void add_timeline(CLI::App& app) {
  const auto log = std::make_shared<std::string>();
  auto* command = app.add_subcommand(
      "timeline", "CSV of a completion log: each command, when it was given and when it ended");
  command->add_option("LOG", *log, "written by run --log-completions")->required();
  command->callback([log] { std::fputs(timeline(*log).to_text().c_str(), stdout); });
}

}  // namespace leanstream::commands
