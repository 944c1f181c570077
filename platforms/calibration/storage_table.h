// What was measured of a storage device: random reads of one size, so many at once, until the mean
// rate is known.
//
// CSV with a header; the order of the columns is free, others are ignored:
//
//   bs_kib            size of a read, KiB
//   qd or lanes       reads at once: in one queue, or one in each of so many threads
//   iops, mb_s, mib_s rate; one of them
//   p50_us, p99_us    latency from submission, both or none
//   cpu_us_per_io     processor time of the host for a read; optional
//   iops_spread_pct   (highest − lowest) ÷ median rate of repeated measurements; optional
//   half              0 or 1, for a fit on one half and its test on the other; optional
//
// fio's JSON (--output-format=json, with --iodepth or --numjobs) is read too: one cell a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/types.h"
#include "engine/config/diagnostics.h"

namespace leanstream::calibration {

struct Cell {
  Bytes bytes = 0;  // of a read
  std::int32_t depth = 1;
  bool together = false;  // depth requests handed over at once; else a queue kept at depth
  double requests_per_s = 0;
  std::optional<double> p50_s = {}, p99_s = {};
  std::optional<double> host_s = {};  // processor time
  std::optional<double> spread = {};  // (highest − lowest rate) ÷ median of repeated measurements
  std::optional<int> half = {};
};

struct StorageTable {
  std::vector<Cell> cells;
  bool one_queue = false;  // else each read in a lane of its own
  std::vector<std::string> ignored_columns;

  // Of one half, in their order.
  std::vector<Cell> half(int number) const;
};

// `name` stands for the file in messages. Reports every line that is wrong.
StorageTable read_csv(std::string_view text, const std::string& name,
                      config::Diagnostics& diagnostics);
// Appends the jobs of a file of fio.
void read_fio(std::string_view text, const std::string& name, StorageTable& table,
              config::Diagnostics& diagnostics);

}  // namespace leanstream::calibration
