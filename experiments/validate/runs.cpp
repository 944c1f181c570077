#include "experiments/validate/runs.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "experiments/run/results.h"
#include "experiments/validate/errors.h"

namespace leanstream::validate {
namespace {

constexpr const char* kTokens = "token_ms";
const std::vector<std::string> kOwn{"cell",    "run",           "attempt",
                                    "started", "probe_read_ms", "probe_compute_ms",
                                    "drift",   "drifted",       "counts"};

void append(std::vector<std::string>& row, const std::vector<std::string>& more) {
  row.insert(row.end(), more.begin(), more.end());
}

std::vector<std::string> header(std::vector<std::string> first, const run::Cell& cell) {
  append(first, run::result_header(cell));
  first.emplace_back(kTokens);
  return first;
}

// The times of the decoded tokens in ms: "12.35 11.8 …".
std::string token_times(const run::Cell& cell, const run::CellRows& rows) {
  const auto names = run::token_header(cell);
  const auto column = std::ranges::find(names, "tpot_ms") - names.begin();
  std::string text;
  for (const auto& row : rows.tokens) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{:.4g}", std::stod(row[static_cast<std::size_t>(column)]));
  }
  return text;
}

}  // namespace

MeasuredRuns::MeasuredRuns(const run::Cell& cell) {
  table_.header = header(kOwn, cell);
}

void MeasuredRuns::read(const std::string& path) {
  auto table = report::CsvTable::read(path);
  auto needed = compared_metrics();
  needed.insert(needed.end(), kOwn.begin(), kOwn.end());
  needed.emplace_back("failure");
  std::erase_if(needed, [&](const std::string& name) { return table.column(name).has_value(); });
  if (!needed.empty()) throw UserError("{}: it lacks the columns {}", path, config::join(needed));
  table_ = std::move(table);
  mark();
}

void MeasuredRuns::go_on(const std::string& path) {
  const auto columns = table_.header;
  read(path);
  if (table_.header == columns) return;
  throw UserError("{}: its columns are not those of this program and experiment", path);
}

std::string& MeasuredRuns::at(std::size_t row, const char* column) {
  return table_.rows[row][*table_.column(column)];
}

void MeasuredRuns::add(const RunName& name, const run::Cell& cell, const std::string& started,
                       const Probe& probe, const run::CellRows& rows) {
  std::vector<std::string> row{std::to_string(name.cell),
                               std::to_string(name.run),
                               std::to_string(name.attempt),
                               started,
                               fmt::format("{:.3f}", probe.read_ms),
                               fmt::format("{:.3f}", probe.compute_ms),
                               "",
                               "",
                               ""};
  append(row, rows.result);
  row.push_back(token_times(cell, rows));
  table_.rows.push_back(std::move(row));
  mark();
}

void MeasuredRuns::mark() {
  std::vector<Probe> probes;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    probes.push_back(
        {*table_.number(row, "probe_read_ms"), *table_.number(row, "probe_compute_ms")});
  }
  const auto drift = drifts(probes);
  std::map<std::pair<std::string, std::string>, std::size_t> best;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    at(row, "drift") = fmt::format("{:.3f}", drift[row]);
    at(row, "drifted") = drift[row] > kDrift ? "yes" : "";
    at(row, "counts") = "";
    if (!table_.text(row, "failure").empty()) continue;
    const auto [entry, is_new] =
        best.try_emplace({table_.text(row, "cell"), table_.text(row, "run")}, row);
    if (!is_new && drift[row] < drift[entry->second]) entry->second = row;
  }
  for (const auto& [name, row] : best) at(row, "counts") = "yes";
}

int MeasuredRuns::attempts(std::size_t cell, int run) const {
  int count = 0;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    count += table_.text(row, "cell") == std::to_string(cell) &&
             table_.text(row, "run") == std::to_string(run);
  }
  return count;
}

bool MeasuredRuns::lacks(std::size_t cell, int run) const {
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    if (table_.text(row, "cell") == std::to_string(cell) &&
        table_.text(row, "run") == std::to_string(run) && table_.text(row, "counts") == "yes" &&
        table_.text(row, "drifted").empty()) {
      return false;
    }
  }
  return true;
}

std::size_t MeasuredRuns::repeated() const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    count += table_.text(row, "attempt") != "0";
  }
  return count;
}

std::size_t MeasuredRuns::still_drifted() const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    count += table_.text(row, "counts") == "yes" && table_.text(row, "drifted") == "yes";
  }
  return count;
}

std::size_t MeasuredRuns::failed() const {
  std::size_t count = 0;
  for (std::size_t row = 0; row < table_.rows.size(); ++row) {
    count += !table_.text(row, "failure").empty();
  }
  return count;
}

report::CsvTable simulated_table(const run::Cell& cell) {
  report::CsvTable table;
  table.header = header({"cell", "repetition"}, cell);
  return table;
}

void add_simulated(report::CsvTable& table, std::size_t number, const run::Cell& cell,
                   const run::CellRows& rows) {
  std::vector<std::string> row{std::to_string(number), std::to_string(cell.repetition)};
  append(row, rows.result);
  row.push_back(token_times(cell, rows));
  const auto place = [](const std::vector<std::string>& one) {
    return std::pair{std::stoull(one[0]), std::stoull(one[1])};
  };
  table.rows.insert(std::ranges::upper_bound(table.rows, place(row), {}, place), std::move(row));
}

bool has_simulated(const report::CsvTable& table, std::size_t cell, std::uint64_t repetition) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.text(row, "cell") == std::to_string(cell) &&
        table.text(row, "repetition") == std::to_string(repetition)) {
      return true;
    }
  }
  return false;
}

}  // namespace leanstream::validate
