// What a live run says of the likelihood of a given text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/run/cell.h"

namespace leanstream::run {

// exp of the mean NLL of the decoded tokens, of which token 0 has none; nothing where it is
// unknown.
std::optional<double> live_perplexity(const Cell& cell, const scheduler::RunMetrics& metrics);

// A row for each token of the text from the second on, in nats: cell number, token, id, NLL. Empty
// for an answer, and for runs of a trace.
std::vector<std::string> nll_header();
std::vector<std::vector<std::string>> nll_rows(std::size_t index, const Cell& cell,
                                               const CellResult& result);

}  // namespace leanstream::run
