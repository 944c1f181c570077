#include "experiments/run/cell_rows.h"

#include <csignal>

#include "experiments/run/likelihood.h"
#include "experiments/run/results.h"

namespace leanstream::run {
namespace {

using config::Json;

// The figures of a run that did not reach its end would pass for results: they are unknown.
void clear_metrics(std::vector<std::string>& row, const std::string& failure) {
  const std::size_t known = row.size() - metrics().size() - 1;
  for (std::size_t i = known; i + 1 < row.size(); ++i) row[i].clear();
  row.back() = failure.substr(0, failure.find('\n'));
}

}  // namespace

std::string rows_as_text(std::size_t index, const Cell& cell, const std::string& backend,
                         const CellResult& result) {
  return Json{
      {"result", result_row(cell, result, backend)}, {"tokens", token_rows(index, cell, result)},
      {"timing", Rows{timing_row(index, result)}},   {"facts", facts_rows(index, result)},
      {"nll", nll_rows(index, cell, result)},        {"failure", result.failure}}
      .dump();
}

CellRows read_rows(const ChildOutcome& outcome, const Cell& cell, const std::string& backend) {
  CellRows rows;
  if (outcome.ended) {
    const Json json = Json::parse(outcome.text);
    rows.result = json["result"].get<std::vector<std::string>>();
    rows.tokens = json["tokens"].get<Rows>();
    rows.timing = json["timing"].get<Rows>();
    rows.facts = json["facts"].get<Rows>();
    rows.nll = json["nll"].get<Rows>();
    rows.failure = json["failure"].get<std::string>();
  } else {
    rows.result = result_row(cell, CellResult{}, backend);
    rows.failure = !outcome.text.empty() ? outcome.text
                   : was_killed(outcome)
                       ? "the run was killed: by somebody, or by the system for lack of memory"
                       : fmt::format("the run ended with status {}", outcome.status);
  }
  if (!rows.failure.empty()) clear_metrics(rows.result, rows.failure);
  return rows;
}

bool was_killed(const ChildOutcome& outcome) {
  return outcome.status == 128 + SIGKILL;
}

}  // namespace leanstream::run
