// leanstream bench storage: random reads of this machine's disk through reader and storage, beside
// a bare io_uring loop and fio.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/median.h"
#include "engine/hardware/storage/bare_loop.h"
#include "engine/hardware/storage/image_file.h"
#include "engine/hardware/storage/processors.h"
#include "engine/hardware/storage/reader_loop.h"
#include "engine/hardware/storage/temporary_image.h"
#include "experiments/commands/commands.h"
#include "experiments/report/process.h"

namespace leanstream::commands {
namespace {

using hardware::LoopResult;
using hardware::LoopSpec;
using Json = nlohmann::ordered_json;

constexpr double kUsPerS = 1e6;
constexpr double kNsPerUs = 1e3;
constexpr Bytes kKib = 1024;

struct StorageBenchOptions {
  std::string file;
  Bytes size_mib = 1024;
  std::string engine = "auto";
  std::vector<Bytes> block_kib{4, 8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<std::int32_t> depths{1, 4, 16, 32, 64};
  double seconds = 0.3;
  int pairs = 1;
  bool fio = false;
  bool json = false;
};

// Reads a second by fio.
double fio_iops(const LoopSpec& spec, const std::string& engine) {
  const bool threads = engine == "pread";
  std::vector<std::string> command{
      "fio",
      "--name=bench",
      "--filename=" + spec.path,
      "--readonly",
      "--rw=randread",
      "--direct=1",
      "--thread",
      "--norandommap",
      "--time_based",
      "--group_reporting",
      fmt::format("--randseed={}", spec.seed + 1),
      fmt::format("--bs={}", spec.read_bytes),
      fmt::format("--runtime={}ms", std::lround(spec.seconds * 1e3)),
      fmt::format("--{}={}", threads ? "numjobs" : "iodepth", spec.depth),
      "--ioengine=" + (threads ? "psync" : engine),
      "--output-format=json"};
  if (engine == "io_uring") {
    command.insert(command.end(), {"--fixedbufs", "--registerfiles", "--nonvectored=1"});
  }
  const auto limit = std::chrono::milliseconds(std::lround(spec.seconds * 1e3) + 60'000);
  const auto ended = report::run_process(command, "", limit);
  if (ended.end == report::ProcessResult::End::not_found) {
    throw UserError("bench storage: fio is not installed; install it or leave out --fio");
  }
  // fio may print a note before its JSON.
  const auto begin = ended.out.find('{');
  const Json result =
      begin == std::string::npos ? Json() : Json::parse(ended.out.substr(begin), nullptr, false);
  if (ended.status != 0 || !result.is_object()) {
    throw UserError("bench storage: fio failed: {}{}", ended.error, ended.out);
  }
  return result.at("jobs").at(0).at("read").at("iops").get<double>();
}

double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

double iops(const LoopResult& run) {
  return static_cast<double>(run.reads) / run.wall_s;
}

double cpu_us(const LoopResult& run) {
  return run.cpu_s / static_cast<double>(run.reads) * kUsPerS;
}

// All that was measured of one size and depth, by pair.
struct Cell {
  std::vector<double> latency_us, iops, cpu_us, bare_iops, bare_cpu_us, over_bare_us, bare_ratio;
  std::vector<double> fio_iops, fio_ratio;
  std::string description;
};

// Neighbours in time are compared, and each kind is as often first as last.
void measure_pair(const LoopSpec& spec, const StorageBenchOptions& o, bool bare, bool reversed,
                  Cell& cell) {
  LoopResult ours;
  std::optional<LoopResult> loop;
  std::optional<double> fio;
  // As the thread of a run that reads: interrupts of the disk count for all alike.
  const auto processors = hardware::processors_for(spec.path, 1, /*apart=*/true).scheduler;
  std::vector<std::function<void()>> runs{[&] {
    const hardware::KeptTo kept(processors);
    hardware::ReaderLoop reader(spec, o.engine);
    cell.description = reader.description();
    ours = reader.run();
  }};
  if (bare) {
    runs.emplace_back([&] {
      const hardware::KeptTo kept(processors);
      loop = hardware::bare_io_uring_loop(spec);
    });
  }
  const std::string engine = cell.description.substr(0, cell.description.find(':'));
  if (o.fio) runs.emplace_back([&] { fio = fio_iops(spec, engine); });
  if (reversed) std::ranges::reverse(runs);
  for (const auto& run : runs) run();
  for (const TimeNs ns : ours.latency_ns) {
    cell.latency_us.push_back(static_cast<double>(ns) / kNsPerUs);
  }
  cell.iops.push_back(iops(ours));
  cell.cpu_us.push_back(cpu_us(ours));
  if (loop) {
    cell.bare_iops.push_back(iops(*loop));
    cell.bare_cpu_us.push_back(cpu_us(*loop));
    cell.over_bare_us.push_back(cpu_us(ours) - cpu_us(*loop));
    cell.bare_ratio.push_back(iops(ours) / iops(*loop));
  }
  if (fio) {
    cell.fio_iops.push_back(*fio);
    cell.fio_ratio.push_back(iops(ours) / *fio);
  }
}

Json row_of(const LoopSpec& spec, const Cell& cell) {
  const double reads_per_s = median(cell.iops);
  Json row{{"block_kib", spec.read_bytes / kKib},
           {"depth", spec.depth},
           {"pairs", cell.iops.size()},
           {"iops", reads_per_s},
           {"gb_per_s", reads_per_s * static_cast<double>(spec.read_bytes) / 1e9},
           {"latency_p50_us", median(cell.latency_us)},
           {"latency_p99_us", quantile(cell.latency_us, 0.99)},
           {"cpu_us", median(cell.cpu_us)}};
  if (!cell.bare_iops.empty()) {
    row["bare_iops"] = median(cell.bare_iops);
    row["bare_cpu_us"] = median(cell.bare_cpu_us);
    row["cpu_over_bare_us"] = median(cell.over_bare_us);
    row["bare_ratio"] = median(cell.bare_ratio);
  }
  if (!cell.fio_iops.empty()) {
    row["fio_iops"] = median(cell.fio_iops);
    row["fio_ratio"] = median(cell.fio_ratio);
    row["fio_ratio_p25"] = quantile(cell.fio_ratio, 0.25);
    row["fio_ratio_p75"] = quantile(cell.fio_ratio, 0.75);
  }
  return row;
}

void print_head(const StorageBenchOptions& o, const std::string& path,
                const std::string& description) {
  fmt::print(
      "{}, random reads, {} s each, median of {}\n{}\n"
      "   KiB depth      IOPS   GB/s   p50 us   p99 us  CPU us | bare: IOPS × CPU us + {}\n",
      path, o.seconds, o.pairs, description, o.fio ? "| fio: IOPS × (quartiles)" : "");
}

void print_row(const Json& row) {
  const auto v = [&](const char* name) { return row.at(name).get<double>(); };
  fmt::print("{:6} {:5} {:9.0f} {:6.3f} {:8.0f} {:8.0f} {:7.2f} |", row["block_kib"].get<int>(),
             row["depth"].get<int>(), v("iops"), v("gb_per_s"), v("latency_p50_us"),
             v("latency_p99_us"), v("cpu_us"));
  if (row.contains("bare_iops")) {
    fmt::print(" {:9.0f} {:5.3f} {:+6.2f}", v("bare_iops"), v("bare_ratio"), v("cpu_over_bare_us"));
  }
  if (row.contains("fio_iops")) {
    fmt::print(" | {:9.0f} {:5.3f} ({:.3f} … {:.3f})", v("fio_iops"), v("fio_ratio"),
               v("fio_ratio_p25"), v("fio_ratio_p75"));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// Whether there can be a bare loop beside.
bool bare_loop_works(LoopSpec spec) {
  spec.seconds = 0;
  try {
    hardware::bare_io_uring_loop(spec);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

void execute(const StorageBenchOptions& o) {
  std::optional<hardware::TemporaryImage> temporary;
  if (o.file.empty()) temporary.emplace(o.size_mib);
  const std::string path = temporary ? temporary->path() : o.file;
  const Bytes most_bytes = *std::ranges::max_element(o.block_kib) * kKib;
  if (hardware::ImageFile(path).size_bytes() < most_bytes) {
    throw UserError("bench storage: {} is smaller than one read of {} KiB", path,
                    most_bytes / kKib);
  }
  const bool bare = bare_loop_works({.path = path});
  const std::string description = hardware::ReaderLoop({.path = path}, o.engine).description();
  if (!o.json) print_head(o, path, description);
  Json rows = Json::array();
  for (const Bytes kib : o.block_kib) {
    for (const std::int32_t depth : o.depths) {
      Cell cell;
      cell.description = description;
      LoopSpec spec{.path = path, .read_bytes = kib * kKib, .depth = depth, .seconds = o.seconds};
      for (int pair = 0; pair < o.pairs; ++pair) {
        spec.seed = static_cast<std::uint64_t>(pair);
        measure_pair(spec, o, bare, pair % 2 == 1, cell);
      }
      rows.push_back(row_of(spec, cell));
      if (!o.json) print_row(rows.back());
    }
  }
  if (o.json) {
    fmt::print("{}\n", Json{{"storage", description}, {"cells", rows}}.dump(2));
  }
}

}  // namespace

void add_bench_storage(CLI::App& bench) {
  auto o = std::make_shared<StorageBenchOptions>();
  auto* storage = bench.add_subcommand(
      "storage", "random reads of this machine's disk: rate, latency, CPU time a read");
  auto* file = storage->add_option("--file", o->file, "file or block device; only read");
  storage->add_option("--size", o->size_mib, "MiB of a temporary file in this folder")
      ->check(CLI::Range(16, 1 << 20))
      ->excludes(file)
      ->capture_default_str();
  storage->add_option("--engine", o->engine, "auto, io_uring, libaio or pread")
      ->capture_default_str();
  storage->add_option("--block-kib", o->block_kib, "sizes of a read")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  storage->add_option("--depth", o->depths, "reads at once")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  storage->add_option("--seconds", o->seconds, "of each measurement")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  storage->add_option("--pairs", o->pairs, "repeats, alternating with what is compared")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  storage->add_flag("--fio", o->fio, "beside fio, which must be installed");
  storage->add_flag("--json", o->json, "JSON to stdout");
  storage->callback([o] { execute(*o); });
}

}  // namespace leanstream::commands
