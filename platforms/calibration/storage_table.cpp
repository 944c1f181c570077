#include "platforms/calibration/storage_table.h"

#include <charconv>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

namespace leanstream::calibration {
namespace {

using config::Diagnostics;
using Json = nlohmann::json;

constexpr double kUsPerS = 1e6;
constexpr double kKib = 1024;
constexpr double kMostBytes = 0x1p40;
constexpr double kMostDepth = 65536;

// One file, for messages.
class TableFile {
 public:
  TableFile(const std::string& name, Diagnostics& diagnostics)
      : name_(std::make_shared<const std::string>(name)), diagnostics_(diagnostics) {}

  template <typename... Args>
  void error(int line, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error({name_, line, line == 0 ? 0 : 1}, "{}",
                       fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::shared_ptr<const std::string> name_;
  Diagnostics& diagnostics_;
};

std::vector<std::string> split(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::vector<std::string> fields;
  for (std::size_t from = 0;;) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    fields.emplace_back(line.substr(from, to - from));
    if (to == line.size()) return fields;
    from = to + 1;
  }
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

struct Limits {
  double above = 0;
  double most = 1e15;
  const char* right = "a number above 0";
};

const std::map<std::string, Limits, std::less<>>& known_columns() {
  static const std::map<std::string, Limits, std::less<>> all{
      {"bs_kib", {0, kMostBytes / kKib, "KiB of a read, above 0"}},
      {"qd", {0, kMostDepth, "a whole number of reads, at least 1"}},
      {"lanes", {0, kMostDepth, "a whole number of reads, at least 1"}},
      {"iops", {}},
      {"mb_s", {}},
      {"mib_s", {}},
      {"p50_us", {}},
      {"p99_us", {}},
      {"cpu_us_per_io", {}},
      {"iops_spread_pct", {-1, 1e6, "a percentage"}},
      {"half", {-1, 1, "0 or 1"}}};
  return all;
}

// The columns of a header that are known, by name.
class Columns {
 public:
  Columns(const std::vector<std::string>& header, TableFile& source, StorageTable& table)
      : source_(source) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (!known_columns().contains(header[i])) {
        table.ignored_columns.push_back(header[i]);
      } else if (!at_.emplace(header[i], i).second) {
        source.error(1, "column '{}' is there twice", header[i]);
      }
    }
    if (!has("bs_kib")) source.error(1, "there is no column 'bs_kib', the size of a read in KiB");
    if (has("qd") == has("lanes")) {
      source.error(1,
                   "there must be a column 'qd', reads at once in one queue, or else 'lanes', "
                   "threads with one read each");
    }
    if (has("iops") + has("mb_s") + has("mib_s") < 1) {
      source.error(1, "there must be a rate: a column 'iops', 'mb_s' or 'mib_s'");
    }
    if (has("p50_us") != has("p99_us")) {
      source.error(1, "of 'p50_us' and 'p99_us' there must be both or none");
    }
    table.one_queue = has("qd");
  }

  bool has(std::string_view name) const { return at_.contains(name); }

  std::optional<double> read(const std::vector<std::string>& fields, std::string_view name,
                             int line) {
    const auto found = at_.find(name);
    if (found == at_.end()) return std::nullopt;
    const Limits& limits = known_columns().find(name)->second;
    const std::string& text = fields[found->second];
    const auto value = number(text);
    // Written so that it holds for no NaN.
    if (value && *value > limits.above && *value <= limits.most) return value;
    source_.error(line, "'{}' must be {}, not {}", name, limits.right, config::quote(text));
    return std::nullopt;
  }

 private:
  TableFile& source_;
  std::map<std::string, std::size_t, std::less<>> at_;
};

bool whole(double value) {
  return value == static_cast<double>(static_cast<std::int64_t>(value));
}

// Nothing when something of the line is wrong.
void read_line(Columns& columns, const std::vector<std::string>& fields, int line,
               TableFile& source, StorageTable& table) {
  const auto kib = columns.read(fields, "bs_kib", line);
  const auto depth = columns.read(fields, columns.has("qd") ? "qd" : "lanes", line);
  const auto iops = columns.read(fields, "iops", line);
  const auto mb_s = columns.read(fields, "mb_s", line);
  const auto mib_s = columns.read(fields, "mib_s", line);
  const auto p50 = columns.read(fields, "p50_us", line);
  const auto p99 = columns.read(fields, "p99_us", line);
  const auto host = columns.read(fields, "cpu_us_per_io", line);
  const auto spread = columns.read(fields, "iops_spread_pct", line);
  const auto half = columns.read(fields, "half", line);
  if (!kib || !depth || !(iops || mb_s || mib_s)) return;
  if (!whole(*depth)) return source.error(line, "{} reads at once are no whole number", *depth);
  if (half && !whole(*half)) return source.error(line, "'half' must be 0 or 1, not {}", *half);
  if (p50 && p99 && *p99 < *p50) {
    source.error(line, "p99_us {} is less than p50_us {}", *p99, *p50);
  }
  const double bytes = *kib * kKib;
  Cell cell{static_cast<Bytes>(bytes), static_cast<std::int32_t>(*depth)};
  cell.requests_per_s = iops ? *iops : (mb_s ? *mb_s * 1e6 : *mib_s * kKib * kKib) / bytes;
  if (p50) cell.p50_s = *p50 / kUsPerS;
  if (p99) cell.p99_s = *p99 / kUsPerS;
  if (host) cell.host_s = *host / kUsPerS;
  if (spread) cell.spread = *spread / 100;
  if (half) cell.half = static_cast<int>(*half);
  table.cells.push_back(cell);
}

// "4k", "128KiB", "1m" or bytes, as fio writes them; nothing for anything else.
std::optional<double> fio_size(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = number(std::string_view(text).substr(0, end));
  static const std::map<std::string, double> units{
      {"", 1},       {"b", 1},           {"k", kKib},         {"kb", kKib},
      {"kib", kKib}, {"m", kKib * kKib}, {"mb", kKib * kKib}, {"mib", kKib * kKib}};
  const auto unit = units.find(text.substr(end));
  if (!value || unit == units.end()) return std::nullopt;
  return *value * unit->second;
}

// A job's option, or that of all jobs.
std::string option(const Json& file, const Json& job, const char* name, const char* otherwise) {
  for (const Json* owner : {&job, &file}) {
    const auto options = owner->find(owner == &job ? "job options" : "global options");
    if (options == owner->end() || !options->is_object()) continue;
    if (const auto found = options->find(name); found != options->end() && found->is_string()) {
      return found->get<std::string>();
    }
  }
  return otherwise;
}

std::optional<double> percentile(const Json& read, const char* which) {
  for (const char* kind : {"clat_ns", "lat_ns"}) {
    const auto value =
        read.value(Json::json_pointer(fmt::format("/{}/percentile/{}", kind, which)), Json());
    if (value.is_number() && value.get<double>() > 0) return value.get<double>() / kNsPerSecond;
  }
  return std::nullopt;
}

std::optional<Cell> fio_job(const Json& file, const Json& job, bool& one_queue, TableFile& source) {
  if (!job.is_object()) return source.error(0, "a job is no object"), std::nullopt;
  const std::string name = job.value(Json::json_pointer("/jobname"), Json("?")).dump();
  const auto bytes = fio_size(option(file, job, "bs", "4k"));
  const auto depth = number(option(file, job, "iodepth", "1"));
  const auto jobs = number(option(file, job, "numjobs", "1"));
  const Json read = job.value(Json::json_pointer("/read"), Json::object());
  const Json rate = read.value(Json::json_pointer("/iops"), Json());
  const bool sizes = bytes && depth && jobs && *bytes > 0 && *depth >= 1 && *jobs >= 1 &&
                     *bytes <= kMostBytes && *depth * *jobs <= kMostDepth;
  if (!sizes || !rate.is_number() || !(rate.get<double>() > 0)) {
    source.error(0, "job {} needs bs, iodepth and a rate of reads above 0", name);
    return std::nullopt;
  }
  if (*depth > 1 && *jobs > 1) {
    source.error(0,
                 "job {} has both iodepth and numjobs; measure one queue, or threads with one "
                 "read each",
                 name);
    return std::nullopt;
  }
  one_queue = *jobs == 1;
  Cell cell{static_cast<Bytes>(*bytes), static_cast<std::int32_t>(*depth * *jobs)};
  cell.requests_per_s = rate.get<double>();
  const auto p50 = percentile(read, "50.000000");
  const auto p99 = percentile(read, "99.000000");
  if (p50 && p99 && *p99 >= *p50) cell.p50_s = p50, cell.p99_s = p99;
  return cell;
}

}  // namespace

std::vector<Cell> StorageTable::half(int number) const {
  std::vector<Cell> some;
  for (const Cell& cell : cells) {
    if (cell.half == number) some.push_back(cell);
  }
  return some;
}

StorageTable read_csv(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  TableFile source(name, diagnostics);
  StorageTable table;
  std::optional<Columns> columns;
  std::size_t width = 0;
  int line = 0;
  const std::size_t errors_before = diagnostics.count();
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto fields = split(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!columns) {
      columns.emplace(fields, source, table);
      width = fields.size();
      if (diagnostics.count() > errors_before) return table;  // no row can be read
    } else if (fields.size() == 1 && fields[0].empty()) {
      continue;
    } else if (fields.size() != width) {
      source.error(line, "{} fields, but the header has {}", fields.size(), width);
    } else {
      read_line(*columns, fields, line, source, table);
    }
  }
  if (table.cells.empty() && diagnostics.count() == errors_before) {
    source.error(line, "there is no line with a measurement");
  }
  return table;
}

void read_fio(std::string_view text, const std::string& name, StorageTable& table,
              Diagnostics& diagnostics) {
  TableFile source(name, diagnostics);
  const std::size_t begin = std::min(text.find('{'), text.size());  // fio may print a note before
  const Json file = Json::parse(text.substr(begin), nullptr, false);
  if (!file.is_object() || !file.contains("jobs") || !file["jobs"].is_array()) {
    return source.error(0, "is no output of fio --output-format=json");
  }
  for (const Json& job : file["jobs"]) {
    bool one_queue = true;
    const auto cell = fio_job(file, job, one_queue, source);
    if (!cell) continue;
    if (!table.cells.empty() && cell->depth > 1 && one_queue != table.one_queue) {
      source.error(0, "has reads in {}, but those before were in {}",
                   one_queue ? "one queue" : "threads", table.one_queue ? "one queue" : "threads");
      continue;
    }
    if (table.cells.empty() || cell->depth > 1) table.one_queue = one_queue;
    table.cells.push_back(*cell);
  }
}

}  // namespace leanstream::calibration
