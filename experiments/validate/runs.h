// measured.csv and simulated.csv: every run of a bundle, one row each.
#pragma once

#include <string>
#include <vector>

#include "experiments/report/csv.h"
#include "experiments/run/cell_rows.h"
#include "experiments/validate/probe.h"

namespace leanstream::validate {

// A run on hardware: the `run`-th of the cell, both from 0; attempt 0, or more where it was
// repeated.
struct RunName {
  std::size_t cell = 0;
  int run = 0;
  int attempt = 0;
};

// The hardware runs. A run that drifted or failed is repeated and stays listed; of the attempts
// that ended well the one whose probe is nearest to the median of all probes counts.
class MeasuredRuns {
 public:
  explicit MeasuredRuns(const run::Cell& cell);
  // A file that this class wrote, perhaps in another program with other metrics. Throws UserError
  // when it lacks what is judged.
  void read(const std::string& path);
  // The same, to add to it: throws UserError when its columns are others.
  void go_on(const std::string& path);

  void add(const RunName& name, const run::Cell& cell, const std::string& started,
           const Probe& probe, const run::CellRows& rows);
  void write(const std::string& path) const { table_.write(path); }

  // How often it was tried, and whether none of them is good: ended well, without drift.
  int attempts(std::size_t cell, int run) const;
  bool lacks(std::size_t cell, int run) const;

  const report::CsvTable& table() const { return table_; }
  std::size_t repeated() const;       // rows beyond the first attempts
  std::size_t still_drifted() const;  // runs that count although they drifted
  std::size_t failed() const;         // rows

 private:
  void mark();  // drift and what counts, which every new probe may change
  std::string& at(std::size_t row, const char* column);

  report::CsvTable table_;
};

// simulated.csv: cell, repetition, then the columns of results.csv. Both tables end with the times
// of all decoded tokens.
report::CsvTable simulated_table(const run::Cell& cell);
// In the order of cells and repetitions, whenever they were run.
void add_simulated(report::CsvTable& table, std::size_t number, const run::Cell& cell,
                   const run::CellRows& rows);
bool has_simulated(const report::CsvTable& table, std::size_t cell, std::uint64_t repetition);

}  // namespace leanstream::validate
