#include "platforms/probe/outcome.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "engine/base/median.h"
#include "platforms/calibration/closed_loop.h"
#include "platforms/calibration/platform_yaml.h"
#include "platforms/probe/fit_commands.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

using calibration::rounded;
using platform::Source;

std::string date_of(const SampleFile& samples) {
  std::time_t last = 0;
  for (const Sample& s : samples.all()) last = std::max<std::time_t>(last, s.at_s);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(last));
}

// Puts values into the platform and says where they are from.
class Maker {
 public:
  Maker(const Plan& plan, const Machine& machine, const SampleFile& samples)
      : plan_(plan), machine_(machine), samples_(samples) {
    p_.calibration = platform::Calibration{
        date_of(samples), machine.text(), plan.files_text(), plan.read_bytes, {}};
    auto& shapes = p_.calibration->shapes;
    for (const Shape& shape : plan.shapes) {
      if (std::find(shapes.begin(), shapes.end(), shape.text()) == shapes.end()) {
        shapes.push_back(shape.text());
      }
    }
    where_ = fmt::format("; {}; {}", machine.text(), p_.calibration->date);
  }

  Outcome make() {
    flash();
    pieces();
    mix();
    memory();
    accelerator();
    cpu();
    predictors();
    // What the whole bus gives cannot be less than what one of its users got.
    const double drawn =
        std::max({p_.accelerator.bandwidth_bytes_per_s, p_.accelerator.mlp_bandwidth_bytes_per_s,
                  p_.cpu.bandwidth_bytes_per_s});
    p_.memory.bandwidth_bytes_per_s = std::max(p_.memory.bandwidth_bytes_per_s, drawn);
    state_values();
    outcome_.platform = std::move(p_);
    return std::move(outcome_);
  }

 private:
  void state(const std::string& name, Source source, const std::string& how) {
    outcome_.figures.push_back({name, "", source, how + where_});
  }
  void measured(const std::string& name, const std::string& how, const Measured& m) {
    state(name, Source::measured,
          fmt::format("{}: median of {}, which lie within {:.1f} %", how, m.count, 100 * m.spread));
  }
  // The median over several parameters.
  Measured over(const char* what, const std::vector<std::string>& parameters, const char* figure) {
    std::vector<double> values;
    Measured all;
    for (const std::string& one : parameters) {
      const Measured m = samples_.get(what, one, figure);
      values.push_back(m.median);
      all.count += m.count;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    all.median = median(values);
    all.spread = all.median > 0 ? (*most - *least) / all.median : 0;
    return all;
  }
  static std::vector<std::string> idles(const std::vector<TimeNs>& times) {
    std::vector<std::string> all;
    for (const TimeNs idle_ns : times) all.push_back(idle_parameters(idle_ns));
    return all;
  }

  calibration::Cell cell(const char* what, const std::string& parameters, Bytes bytes,
                         std::int32_t together) const;
  using BurstParameters = std::function<std::string(const Plan&, std::int32_t together)>;
  Bytes cost_of(const char* what, const BurstParameters& parameters, std::int32_t pieces,
                Measured& rate);
  void pieces();
  void mix();
  void flash();
  void memory();
  void accelerator();
  void start();
  void cpu();
  void predictors();
  void state_values();

  const Plan& plan_;
  const Machine& machine_;
  const SampleFile& samples_;
  platform::Platform p_;
  Outcome outcome_;
  std::string where_;
};

calibration::Cell Maker::cell(const char* what, const std::string& parameters, Bytes bytes,
                              std::int32_t together) const {
  const auto figure = [&](const char* name) { return samples_.get(what, parameters, name); };
  const Measured rate = figure("rate");
  return {.bytes = bytes,
          .depth = together,
          .together = true,
          .requests_per_s = rate.median,
          .p50_s = figure("p50").median,
          .p99_s = figure("p99").median,
          .host_s = figure("cpu").median,
          .spread = rate.spread};
}

// In bytes of a transfer, what each further place costs that a request fills, and each further
// request that the system merges: so many that the model has the rates measured.
// At the largest burst: of few requests much of the cost passes behind the latency.
Bytes Maker::cost_of(const char* what, const BurstParameters& parameters, std::int32_t pieces,
                     Measured& rate) {
  const double bytes = static_cast<double>(plan_.piece_bytes) * pieces;
  const std::int32_t n = plan_.mix_bursts.back();
  rate = samples_.get(what, parameters(plan_, n), "rate");
  double less = 0, more = 1e6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (less + more) / 2;
    const double whole = bytes + middle * (pieces - 1);
    const bool slower = calibration::together(p_.flash, whole, n).requests_per_s <= rate.median;
    (slower ? more : less) = middle;
  }
  return static_cast<Bytes>(std::llround(rounded(less)));
}

void Maker::pieces() {
  Measured pieces, merged;
  p_.flash.piece_bytes = cost_of(kPieces, pieces_parameters, plan_.pieces, pieces);
  measured("flash.piece",
           fmt::format("requests of {} KiB into {} places, beyond what one into one takes",
                       plan_.piece_bytes * static_cast<Bytes>(plan_.pieces) >> 10, plan_.pieces),
           pieces);
  if (p_.flash.merge_bytes == 0) return;
  const Bytes cost = cost_of(kMerged, merged_parameters, plan_.merged, merged);
  p_.flash.merge_overhead_bytes = cost - std::min(cost, p_.flash.piece_bytes);
  measured("flash.merge_overhead",
           fmt::format("{} neighbours of {} KiB as requests of their own, beyond what one request "
                       "of them takes and flash.piece",
                       plan_.merged, plan_.piece_bytes >> 10),
           merged);
}

// A queue of several sizes has the rate of one of the mean size (closed_loop.h: exactly so without
// batches); of its latencies that does not hold.
void Maker::mix() {
  double pieces = 0;
  for (const std::int32_t one : plan_.mix_pieces) pieces += one;
  pieces /= static_cast<double>(plan_.mix_pieces.size());
  const double mean = static_cast<double>(plan_.mix_bytes) * pieces +
                      static_cast<double>(p_.flash.piece_bytes) * (pieces - 1);
  std::vector<calibration::Cell> cells;
  for (const std::int32_t n : plan_.mix_bursts) {
    auto one = cell(kMix, mix_parameters(plan_, n), static_cast<Bytes>(mean), n);
    one.p50_s = one.p99_s = {};
    cells.push_back(one);
  }
  outcome_.mixed_reads = calibration::errors(p_.flash, cells);
}

void Maker::flash() {
  calibration::StorageTable table;
  table.one_queue = true;
  for (const Bytes bytes : plan_.read_bytes) {
    for (const std::int32_t n : plan_.bursts) {
      table.cells.push_back(cell(kStorage, read_parameters(bytes, n), bytes, n));
    }
  }
  platform::Flash base;
  base.queue_depth = plan_.depth;
  base.logical_block_bytes = static_cast<Bytes>(samples_.get(kDevice, "", "alignment").median);
  const Measured every = samples_.get(kPauses, pauses_parameters(plan_), "every");
  const Measured length = samples_.get(kPauses, pauses_parameters(plan_), "length");
  if (every.median > 0) {
    const std::int32_t most = plan_.bursts.back();
    const auto burst =
        samples_.get(kStorage, read_parameters(plan_.read_bytes.front(), most), "p50");
    base.pause_requests =
        static_cast<std::int32_t>(std::llround(every.median * most / burst.median));
    base.pause_ns = rounded_ns(length.median);
    const std::string how = fmt::format(
        "{} KiB reads, {} at once: answers that come later than three times the 90th "
        "percentile, ",
        plan_.read_bytes.front() >> 10, plan_.depth);
    measured("flash.pause", how + "beyond that percentile", length);
    measured("flash.pause_requests",
             how + fmt::format("the time between them, and the rate of {} together", most), every);
  }
  const auto fit = calibration::fit(table, table.cells, base);
  outcome_.reads = calibration::errors(fit.flash, table.cells);
  p_.flash = fit.flash;
  const auto summary = calibration::summarise(outcome_.reads);
  const std::string how = fmt::format(
      "bursts of reads to an idle disk, the samples beside this file (engine {}, {} of each)",
      plan_.engine,
      samples_.get(kStorage, read_parameters(table.cells[0].bytes, plan_.bursts[0]), "rate").count);
  for (const auto& figure : calibration::flash_figures(fit, summary, how)) {
    state(figure.name, figure.source, figure.reference);
  }
  if (!fit.host_known) {
    state("flash.requests", Source::measured, "the most reads in a second that were seen");
  }
  state("flash.queue_depth", Source::measured, "the most reads at once that were measured");
  state("flash.logical_block", Source::measured, "what the system says of the disk");
  p_.flash.merge_bytes = machine_.merge_bytes;
  state("flash.merge", Source::measured, "what the system says of the disk's queue");
  state("flash.link_bandwidth", Source::assumed,
        "cannot be measured apart: as flash.bandwidth, so that it limits nothing");
  state("flash.io_segment_overhead", Source::assumed,
        "one thread hands over the reads of all lanes, so no workers meet; its own time is "
        "cpu.wake_up and cpu.step");
}

void Maker::memory() {
  const Measured all = samples_.get(kMemory, memory_parameters(true), "rate");
  p_.memory.bandwidth_bytes_per_s = rounded(all.median);
  p_.memory.capacity_bytes = machine_.memory_bytes;
  measured("memory.bandwidth",
           fmt::format("{} threads that each read a part of {} MiB, and no less than what one user "
                       "of the bus got",
                       machine_.processors, plan_.memory_bytes >> 20),
           all);
  state("memory.capacity", Source::measured, "what the system says");
}

void Maker::accelerator() {
  const CommandFit fit = fit_commands(plan_, samples_);
  p_.accelerator = fit.accelerator;
  const std::string made = fmt::format("accelerator cpu with {} threads and random weights, {}",
                                       plan_.threads, "wall time of single commands, ");
  const auto fitted = [&](const char* name, const char* how, const std::vector<CommandError>& e) {
    const auto worth = fit.worth.find(name);
    state(std::string("accelerator.") + name, Source::fitted,
          made + how + ": " + errors_text(e) +
              (worth == fit.worth.end() ? "" : "; " + worth->second));
  };
  fitted("bandwidth", "attention and head, bytes as stored in q8_0", fit.resident);
  fitted("mlp_bandwidth", "layers of f16 blocks of several sizes, in one to many segments",
         fit.mlp);
  for (const char* name : {"compute", "mlp_compute"}) {
    fitted(name,
           fit.compute_raised ? "many tokens at once; no less than single tokens reach"
                              : "many tokens at once",
           fit.prefill);
  }
  fitted("block_operations",
         "what blocks of few neurons take beyond those of more, many tokens at once", fit.prefill);
  for (const char* name : {"flags_segment", "polling_segment", "device_segment"}) {
    fitted(name, "what a layer takes beyond its bytes and blocks, for each segment", fit.mlp);
  }
  for (const char* name : {"jump", "jump_vectors"}) {
    fitted(name, "what blocks in random order take beyond those that lie one behind another",
           fit.mlp);
  }
  for (const char* name : {"row", "attention_head", "command"}) {
    fitted(name, "what attention and head take beyond their bytes", fit.resident);
  }
  start();
  for (const auto* errors : {&fit.resident, &fit.mlp, &fit.prefill}) {
    outcome_.commands.insert(outcome_.commands.end(), errors->begin(), errors->end());
  }
}

// The way there and back between threads that sleep, less what the caller takes to wake up.
void Maker::start() {
  const double wake_up_s = over(kWakeUp, idles(plan_.idle_ns), "time").median;
  const Measured trip = over(kStart, idles(plan_.start_idle_ns), "time");
  p_.accelerator.start_ns = rounded_ns(std::max(0.0, trip.median - wake_up_s));
  measured("accelerator.start",
           "a command to threads that sleep since 0.2 ms and more, until its end is seen by a "
           "thread that slept, less its "
           "work and cpu.wake_up",
           trip);
}

void Maker::cpu() {
  const Measured one = samples_.get(kMemory, memory_parameters(false), "rate");
  std::vector<std::string> reads;
  for (const Bytes bytes : plan_.read_bytes) {
    for (const std::int32_t n : plan_.bursts) reads.push_back(read_parameters(bytes, n));
  }
  const Measured read = over(kStorage, reads, "cpu");
  const Measured wake_up = over(kWakeUp, idles(plan_.idle_ns), "time");
  const Measured hand_over = over(kHandOver, idles(plan_.idle_ns), "time");
  const Measured step = samples_.get(kStep, "", "time");
  p_.cpu = {.cores = machine_.processors,
            .bandwidth_bytes_per_s = rounded(one.median),
            .read_request_ns = rounded_ns(read.median),
            .wake_up_ns = rounded_ns(wake_up.median),
            .hand_over_ns = rounded_ns(hand_over.median),
            .step_ns = rounded_ns(step.median)};
  state("cpu.cores", Source::measured, "what the system says");
  measured("cpu.bandwidth", fmt::format("one thread that reads {} MiB", plan_.memory_bytes >> 20),
           one);
  measured("cpu.read_request", "processor time of the thread that reads, over all cells", read);
  measured("cpu.wake_up", "a thread asleep in the storage, woken by another after a pause",
           wake_up);
  measured("cpu.hand_over",
           "half of the way from a thread that goes to sleep in the storage to the one that "
           "predicts, and back",
           hand_over);
  measured(
      "cpu.step",
      "the scheduler in a world without devices, after a sleep each time, mean over the batches",
      step);
}

void Maker::predictors() {
  const auto put = [&](const PredictionSize& size, platform::PredictorCost& cost) {
    const Measured time = samples_.get(kPrediction, prediction_parameters(size), "time");
    cost = {rounded_ns(time.median), size.all_bytes, size.hidden, size.ffn, size.layers};
    const std::string name = std::string("predictors.") + size.name + ".";
    measured(
        name + "time",
        fmt::format("a product with {} bytes of f16 weights on the thread that predicts, which "
                    "does not sleep in between",
                    size.all_bytes / static_cast<Bytes>(size.layers)),
        time);
    outcome_.figures.push_back(
        {name + "memory", "", Source::paper, "LeanStream (arXiv 2609.03079), Table 6, Mistral-7B"});
    for (const char* part : {"hidden", "ffn", "layers"}) {
      outcome_.figures.push_back({name + part, "", Source::paper, "shape of Mistral-7B"});
    }
  };
  put(kPredictions[0], p_.predictors.stacked_hash);
  put(kPredictions[1], p_.predictors.low_rank_mlp);
}

// As a file writes them.
void Maker::state_values() {
  const config::Json values = platform::table().write(p_);
  for (platform::Provenance& figure : outcome_.figures) {
    std::string at = "/" + figure.name;
    std::ranges::replace(at, '.', '/');
    figure.value = config::plain_text(values.at(config::Json::json_pointer(at)));
  }
}

}  // namespace

Outcome fit_platform(const Plan& plan, const Machine& machine, const SampleFile& samples) {
  return Maker(plan, machine, samples).make();
}

}  // namespace leanstream::probe
