#include "experiments/run/likelihood.h"

#include <cmath>

#include "experiments/report/csv.h"

namespace leanstream::run {

std::optional<double> live_perplexity(const Cell& cell, const scheduler::RunMetrics& metrics) {
  const auto& nll = metrics.nll;  // of tokens 1 …
  double sum = 0;
  std::int64_t count = 0;
  for (const auto& row : metrics.tokens) {
    if (row.token == 0) continue;
    const auto at = static_cast<std::size_t>(row.token) - 1;
    if (!cell.live->is_text() || at >= nll.size()) return std::nullopt;
    sum += static_cast<double>(nll[at]);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(count));
}

std::vector<std::string> nll_header() {
  return {"cell", "token", "id", "nll"};
}

std::vector<std::vector<std::string>> nll_rows(std::size_t index, const Cell& cell,
                                               const CellResult& result) {
  std::vector<std::vector<std::string>> rows;
  if (!cell.live) return rows;
  const auto& nll = result.metrics.nll;
  for (std::size_t token = 1; token <= nll.size(); ++token) {
    rows.push_back({std::to_string(index), std::to_string(token),
                    std::to_string(cell.live->ids.at(token)),
                    report::csv_number(static_cast<double>(nll[token - 1]))});
  }
  return rows;
}

}  // namespace leanstream::run
