#include "experiments/run/results.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "experiments/report/csv.h"
#include "experiments/run/energy_results.h"
#include "experiments/run/likelihood.h"

namespace leanstream::run {
namespace {

using scheduler::Phase;
using scheduler::Tally;

struct View {
  const Cell& cell;
  const CellResult& result;

  const scheduler::RunMetrics& m() const { return result.metrics; }
  const Tally& d() const { return result.metrics.decode; }
  double tokens() const { return static_cast<double>(m().tokens.size()); }
  double decode_ns() const { return static_cast<double>(m().end_ns - m().prefill_end_ns); }
  double block() const { return static_cast<double>(cell.geometry.block_bytes); }
  double wanted() const { return static_cast<double>(d().blocks_wanted); }
};

using Value = std::optional<double>;

Value ratio(double a, double b) {
  return b > 0 ? Value(a / b) : std::nullopt;
}
double ms(double ns) {
  return ns * 1e-6;
}

// Nearest-rank percentile of the time per token, in milliseconds.
Value tpot(const View& v, double share) {
  std::vector<TimeNs> times;
  for (const auto& row : v.m().tokens) times.push_back(row.end_ns - row.start_ns);
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(times.size())));
  return ms(static_cast<double>(times[std::max<std::size_t>(rank, 1) - 1]));
}

Value per_token_ms(const View& v, double ns) {
  return ratio(ms(ns), v.tokens());
}
double phase_ns(const View& v, Phase p) {
  return static_cast<double>(v.d().phase(p));
}

double synchronisation_ns(const View& v) {
  return phase_ns(v, Phase::attention) + phase_ns(v, Phase::mlp) + phase_ns(v, Phase::head) -
         static_cast<double>(v.d().accelerator_work_ns);
}

Value first_token_ms(const View& v) {
  if (v.m().tokens.empty()) return std::nullopt;
  return ms(static_cast<double>(v.m().tokens.front().end_ns - v.m().start_ns));
}

Value request_bytes_median(const View& v) {
  std::int64_t below = 0;
  for (std::size_t n = 0; n < v.m().requests_by_blocks.size(); ++n) {
    below += v.m().requests_by_blocks[n];
    if (2 * below >= v.d().requests && below > 0) return static_cast<double>(n) * v.block();
  }
  return std::nullopt;
}

Value request_latency_us(const View& v, double share) {
  const auto& latency = v.m().request_latency;
  return latency.count() > 0 ? Value(latency.percentile(share) * 1e-3) : std::nullopt;
}

// Known of a live run of a text, and where all neurons are computed: that of the recorded model.
// Sets chosen in simulation change what later tokens see, so their perplexity is not the trace's.
Value perplexity(const View& v) {
  if (v.cell.live) return live_perplexity(v.cell, v.m());
  if (v.d().layers == 0 || v.d().computed_share < static_cast<double>(v.d().layers) - 1e-9) {
    return std::nullopt;
  }
  double sum = 0;
  const auto nll = v.cell.trace->nll();
  for (const auto& row : v.m().tokens)
    sum += static_cast<double>(nll[static_cast<std::size_t>(row.token)]);
  return std::isfinite(sum) ? ratio(std::exp(sum / v.tokens()), 1) : std::nullopt;
}

double useful_bytes(const View& v) {
  return static_cast<double>(v.d().blocks_read - v.d().blocks_redundant - v.d().blocks_across) *
         v.cell.geometry.useful_block_bytes;
}

double cache_bytes(const View& v) {
  return v.block() * v.cell.run_spec().slots;
}
double kv_bytes(const View& v) {
  return v.cell.model.shape.kv_bytes_per_token() * (v.cell.prompt_tokens + v.tokens());
}

struct Column {
  std::string name;
  std::string help;
  std::function<Value(const View&)> value;
};

std::vector<Column> time_columns() {
  return {
      {"tokens_per_s", "decoded tokens ÷ (end of the last head − end of prefill)",
       [](const View& v) {
         return v.tokens() > 0 ? ratio(v.tokens() * 1e9, v.decode_ns()) : std::nullopt;
       }},
      {"tpot_ms_mean", "time per decoded token",
       [](const View& v) { return per_token_ms(v, v.decode_ns()); }},
      {"tpot_ms_p50", "its median", [](const View& v) { return tpot(v, 0.5); }},
      {"tpot_ms_p90", "its 90th percentile", [](const View& v) { return tpot(v, 0.9); }},
      {"tpot_ms_p99", "its 99th percentile", [](const View& v) { return tpot(v, 0.99); }},
      {"time_to_first_token_ms", "prefill and the first decode step", first_token_ms},
      {"prefill_ms", "the prompt, its head included",
       [](const View& v) {
         return Value(ms(static_cast<double>(v.m().prefill_end_ns - v.m().start_ns)));
       }},
      {"request_latency_ms", "prefill and all decode steps",
       [](const View& v) { return Value(ms(static_cast<double>(v.m().end_ns - v.m().start_ns))); }},
      {"compute_ms", "per token: attention, MLP and head at work",
       [](const View& v) {
         return per_token_ms(v, static_cast<double>(v.d().accelerator_work_ns));
       }},
      {"gpu_stall_ms", "per token: the accelerator waits for blocks",
       [](const View& v) { return per_token_ms(v, phase_ns(v, Phase::stall)); }},
      {"prediction_wait_ms", "per token: the accelerator waits for a final prediction",
       [](const View& v) { return per_token_ms(v, phase_ns(v, Phase::prediction_wait)); }},
      {"synchronisation_ms", "per token: launches, flags and waits of the accelerator",
       [](const View& v) { return per_token_ms(v, synchronisation_ns(v)); }},
      {"gpu_busy_ratio", "accelerator at work ÷ time",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().accelerator_work_ns), v.decode_ns());
       }},
      {"io_busy_ratio", "a read in flight ÷ time",
       [](const View& v) { return ratio(static_cast<double>(v.d().io_busy_ns), v.decode_ns()); }},
      {"overlap_ratio", "accelerator (its launches and flags included) and I/O busy ÷ I/O busy",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().both_busy_ns),
                      static_cast<double>(v.d().io_busy_ns));
       }}};
}

std::vector<Column> flash_columns() {
  return {
      {"bytes_read", "per token, padding included",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_read) * v.block(), v.tokens());
       }},
      {"bytes_wanted", "per token: blocks of the final predictions",
       [](const View& v) { return ratio(v.wanted() * v.block(), v.tokens()); }},
      {"bytes_redundant", "per token: prefetched, then not in the final prediction",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_redundant) * v.block(), v.tokens());
       }},
      {"bytes_across", "per token: between wanted blocks, read across and not kept",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_across) * v.block(), v.tokens());
       }},
      {"read_amplification", "device bytes ÷ useful bytes",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_read) * v.block(), useful_bytes(v));
       }},
      {"read_bandwidth_gb_per_s", "while a read is in flight",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_read) * v.block(),
                      static_cast<double>(v.d().io_busy_ns));
       }},
      {"iops", "device requests a second while a read is in flight",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().requests) * 1e9,
                      static_cast<double>(v.d().io_busy_ns));
       }},
      {"io_size_bytes_mean", "of a device request",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_read) * v.block(),
                      static_cast<double>(v.d().requests));
       }},
      {"io_size_bytes_p50", "of a device request", request_bytes_median},
      {"read_latency_us_p50", "of a device request, where the world knows it (fidelity request)",
       [](const View& v) { return request_latency_us(v, 0.5); }},
      {"read_latency_us_p99", "its 99th percentile",
       [](const View& v) { return request_latency_us(v, 0.99); }},
      {"read_errors", "per token: blocks whose read ended in an error",
       [](const View& v) { return ratio(static_cast<double>(v.d().read_errors), v.tokens()); }},
      {"bytes_cancelled", "per token: prefetch that was taken back before flash began it",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().blocks_cancelled) * v.block(), v.tokens());
       }},
      {"miss_ratio_demand", "wanted blocks that no earlier token left in the cache ÷ wanted",
       [](const View& v) { return ratio(static_cast<double>(v.d().demand_misses), v.wanted()); }},
      {"miss_ratio_final", "wanted blocks not arrived at the final prediction ÷ wanted",
       [](const View& v) { return ratio(static_cast<double>(v.d().final_misses), v.wanted()); }},
      {"in_flight_share", "wanted blocks on their way at the final prediction ÷ wanted",
       [](const View& v) { return ratio(static_cast<double>(v.d().in_flight), v.wanted()); }},
      {"belady_miss_ratio", "the least any on-demand cache of this size can reach on these sets",
       [](const View& v) {
         return ratio(static_cast<double>(v.result.belady_misses), v.wanted());
       }}};
}

std::vector<Column> other_columns() {
  return {
      {"prediction_count", "per token",
       [](const View& v) { return ratio(static_cast<double>(v.d().predictions), v.tokens()); }},
      {"prediction_us_mean", "of one prediction",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().prediction_ns) * 1e-3,
                      static_cast<double>(v.d().predictions));
       }},
      {"prediction_us_sum", "per token",
       [](const View& v) {
         return ratio(static_cast<double>(v.d().prediction_ns) * 1e-3, v.tokens());
       }},
      {"computed_share", "blocks computed ÷ blocks, mean over layers and tokens",
       [](const View& v) {
         return ratio(v.d().computed_share, static_cast<double>(v.d().layers));
       }},
      {"importance_share", "Σs over computed ÷ Σs over all neurons, mean over layers and tokens",
       [](const View& v) {
         return ratio(v.d().importance_share, static_cast<double>(v.d().importance_layers));
       }},
      {"perplexity", "of the decoded tokens, where it is known", perplexity},
      {"memory_bytes_cache", "the arena: what the budget bought",
       [](const View& v) { return Value(cache_bytes(v)); }},
      {"memory_bytes_buffers", "beside the arena: none, blocks are computed where they arrive",
       [](const View&) { return Value(0.0); }},
      {"memory_bytes_predictor", "weights of the predictor whose cost is charged",
       [](const View& v) { return Value(static_cast<double>(v.cell.predictor_bytes)); }},
      {"memory_bytes_resident", "attention, embedding and head",
       [](const View& v) { return Value(v.cell.model.shape.resident_bytes()); }},
      {"memory_bytes_kv", "keys and values at the end, f16",
       [](const View& v) { return Value(kv_bytes(v)); }},
      {"memory_bytes_peak", "the sum of the parts", [](const View& v) {
         return Value(cache_bytes(v) + kv_bytes(v) + v.cell.model.shape.resident_bytes() +
                      static_cast<double>(v.cell.predictor_bytes));
       }}};
}

const std::vector<Column>& columns() {
  static const std::vector<Column> all = [] {
    auto list = time_columns();
    for (auto& c : flash_columns()) list.push_back(c);
    for (auto& c : other_columns()) list.push_back(c);
    for (const EnergyColumn& c : energy_columns()) {
      list.push_back({c.name, c.help, [&c](const View& v) { return c.value(v.cell, v.result); }});
    }
    return list;
  }();
  return all;
}

// A swept parameter with a column of its own further on would make the table ambiguous.
bool has_own_column(const std::string& name) {
  return name == "system" || name == "model" || name == "platform" || name == "seed";
}

std::vector<std::string> swept_names(const Cell& cell) {
  std::vector<std::string> names;
  for (const auto& [name, value] : cell.spec.swept) {
    if (!has_own_column(name)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> swept_values(const Cell& cell) {
  std::vector<std::string> values;
  for (const auto& [name, value] : cell.spec.swept) {
    if (!has_own_column(name)) values.push_back(value);
  }
  return values;
}

}  // namespace

std::vector<MetricInfo> metrics() {
  std::vector<MetricInfo> all;
  for (const auto& c : columns()) all.push_back({c.name, c.help});
  all.push_back({"commands_hash", "of everything the scheduler asked for, in order"});
  return all;
}

std::vector<std::string> result_header(const Cell& cell) {
  auto header = swept_names(cell);
  for (const char* name :
       {"model", "platform", "system", "memory_budget_bytes", "seed", "backend", "assumed"}) {
    header.emplace_back(name);
  }
  for (const auto& metric : metrics()) header.push_back(metric.name);
  header.emplace_back("failure");
  return header;
}

std::vector<std::string> result_row(const Cell& cell, const CellResult& result,
                                    const std::string& backend) {
  auto row = swept_values(cell);
  for (const auto& text :
       {cell.model.shape.name, cell.platform.platform.name, cell.system.name,
        std::to_string(cell.budget_bytes), std::to_string(cell.spec.experiment.seed), backend,
        fmt::format("{}", fmt::join(result.assumed, " "))}) {
    row.push_back(text);
  }
  const View view{cell, result};
  for (const auto& column : columns()) row.push_back(report::csv_number(column.value(view)));
  row.push_back(result.commands_hash);
  row.push_back(result.failure);
  return row;
}

std::vector<std::string> token_header(const Cell& cell) {
  std::vector<std::string> header{"cell", "system"};
  for (const auto& name : swept_names(cell)) header.push_back(name);
  for (const char* name :
       {"token", "start_ms", "tpot_ms", "compute_ms", "gpu_stall_ms", "prediction_wait_ms",
        "bytes_read", "bytes_redundant", "miss_ratio_demand", "miss_ratio_final",
        "prediction_count", "importance_share"}) {
    header.emplace_back(name);
  }
  for (const auto& name : energy_token_header()) header.push_back(name);
  return header;
}

std::vector<std::vector<std::string>> token_rows(std::size_t index, const Cell& cell,
                                                 const CellResult& result) {
  std::vector<std::vector<std::string>> rows;
  const auto swept = swept_values(cell);
  const auto block = static_cast<double>(cell.geometry.block_bytes);
  for (std::size_t i = 0; i < result.metrics.tokens.size(); ++i) {
    const auto& token = result.metrics.tokens[i];
    const Tally& t = token.tally;
    auto& row =
        rows.emplace_back(std::vector<std::string>{std::to_string(index), cell.system.name});
    row.insert(row.end(), swept.begin(), swept.end());
    row.push_back(std::to_string(token.token));
    const auto wanted = static_cast<double>(t.blocks_wanted);
    for (const Value& value :
         {Value(ms(static_cast<double>(token.start_ns))),
          Value(ms(static_cast<double>(token.end_ns - token.start_ns))),
          Value(ms(static_cast<double>(t.accelerator_work_ns))),
          Value(ms(static_cast<double>(t.phase(Phase::stall)))),
          Value(ms(static_cast<double>(t.phase(Phase::prediction_wait)))),
          Value(static_cast<double>(t.blocks_read) * block),
          Value(static_cast<double>(t.blocks_redundant) * block),
          ratio(static_cast<double>(t.demand_misses), wanted),
          ratio(static_cast<double>(t.final_misses), wanted),
          Value(static_cast<double>(t.predictions)),
          ratio(t.importance_share, static_cast<double>(t.importance_layers))}) {
      row.push_back(report::csv_number(value));
    }
    for (const Value& value : energy_token_values(cell, result, i)) {
      row.push_back(report::csv_number(value));
    }
  }
  return rows;
}

std::vector<std::string> timing_header() {
  return {"cell", "wall_s", "events", "events_per_s", "simulated_tokens_per_wall_s"};
}

std::vector<std::string> timing_row(std::size_t index, const CellResult& result) {
  const auto events = static_cast<double>(result.metrics.events);
  const auto tokens = static_cast<double>(result.metrics.tokens.size());
  return {std::to_string(index), report::csv_number(result.wall_s),
          std::to_string(result.metrics.events), report::csv_number(ratio(events, result.wall_s)),
          report::csv_number(ratio(tokens, result.wall_s))};
}

std::vector<std::string> facts_header() {
  return {"cell", "fact", "value"};
}

std::vector<std::vector<std::string>> facts_rows(std::size_t index, const CellResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : result.facts) {
    rows.push_back({std::to_string(index), name, value});
  }
  return rows;
}

}  // namespace leanstream::run
