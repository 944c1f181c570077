#include "engine/config/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "engine/base/types.h"
#include "engine/config/document.h"

namespace leanstream::config {
namespace {

enum class Select { blocks, neurons };

struct Inner {
  double bandwidth_bytes_per_s = 0;
};

struct Sample {
  int omega_io = 4;
  std::uint64_t seed = 1;
  TimeNs latency_ns = 0;
  Bytes block_bytes = 48 * 1024;
  double density = 0.3;
  double gamma = 0.5;
  Select select = Select::blocks;
  std::string note;
  bool trace = false;
  std::vector<double> levels{0.1, 0.2};
  std::vector<int> stages;
  MemoryBudget memory_budget;
  std::optional<double> share;
  std::optional<Inner> extra;
  Inner inner;
};

const Table<Inner>& inner_table() {
  static const Table<Inner> t{
      quantity("bandwidth", &Inner::bandwidth_bytes_per_s, Dimension::bandwidth, "of all")
          .above(0)
          .required()};
  return t;
}

const Table<Sample>& table() {
  static const Table<Sample> t{
      integer("omega_io", &Sample::omega_io, "I/O segments of a layer").range(1, 64),
      integer("seed", &Sample::seed, "of all random streams"),
      quantity("latency", &Sample::latency_ns, Dimension::time, "until the first byte").required(),
      quantity("block", &Sample::block_bytes, Dimension::bytes, "unit of I/O").range(512, 1 << 20),
      ratio("density", &Sample::density, "share of neurons"),
      number("gamma", &Sample::gamma, "bias").range(0, 2),
      choice("select", &Sample::select, {{"blocks", Select::blocks}, {"neurons", Select::neurons}},
             "what is chosen"),
      text("note", &Sample::note, "free text"),
      flag("trace", &Sample::trace, "write a trace"),
      list("levels", &Sample::levels, "levels").range(0, 1),
      list("stages", &Sample::stages, "stages").range(1, 8),
      budget("memory_budget", &Sample::memory_budget, "of weights"),
      ratio("share", &Sample::share, "of importance"),
      section("extra", &Sample::extra, inner_table(), "another device"),
      section("inner", &Sample::inner, inner_table(), "a device")};
  return t;
}

std::vector<std::string> reading_errors(std::string_view text) {
  Diagnostics diagnostics;
  const auto document = parse_document(text, "f.yaml", diagnostics);
  if (document.root) table().read(document.root, diagnostics);
  std::vector<std::string> lines;
  for (const auto& d : diagnostics.sorted()) lines.push_back(d.position.text() + ": " + d.message);
  return lines;
}

// The only error of a map that is otherwise right.
std::string only_error(const std::string& line) {
  const auto all = reading_errors("latency: 1 us\ninner: {bandwidth: 1 GB/s}\n" + line + "\n");
  return all.size() == 1 ? all[0] : fmt::format("{} errors", all.size());
}

TEST(Table, ReadsEveryType) {
  Diagnostics diagnostics;
  const auto document = parse_document(R"(omega_io: 8
seed: 18446744073709551615
latency: 92 us
block: 63 KiB
density: 7%
gamma: 1.25
select: neurons
note: "5: five"
trace: true
levels: [0.5, 1]
stages: 3
memory_budget: 20% of model
share: 60%
inner:
  bandwidth: 2.5 GB/s
)",
                                       "f.yaml", diagnostics);
  const Sample s = table().read(document.root, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(s.omega_io, 8);
  EXPECT_EQ(s.seed, 18446744073709551615ULL);
  EXPECT_EQ(s.latency_ns, 92'000);
  EXPECT_EQ(s.block_bytes, 63U * 1024);
  EXPECT_EQ(s.density, 0.07);
  EXPECT_EQ(s.gamma, 1.25);
  EXPECT_EQ(s.select, Select::neurons);
  EXPECT_EQ(s.note, "5: five");
  EXPECT_TRUE(s.trace);
  EXPECT_EQ(s.levels, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(s.stages, std::vector<int>{3});
  EXPECT_EQ(s.memory_budget, (MemoryBudget{0.2, MemoryBudget::Basis::model}));
  EXPECT_EQ(s.share, 0.6);
  EXPECT_FALSE(s.extra);
  EXPECT_EQ(s.inner.bandwidth_bytes_per_s, 2.5e9);
}

TEST(Table, WritesWhatItReads) {
  Diagnostics diagnostics;
  const auto document = parse_document(
      "{latency: 92 us, share: 0.5, inner: {bandwidth: 7 GB/s}, extra: {bandwidth: 1 GiB/s}}", "f",
      diagnostics);
  const Json first = table().write(table().read(document.root, diagnostics));
  EXPECT_EQ(first.dump(),
            R"({"omega_io":4,"seed":1,"latency":"92 us","block":"48 KiB","density":0.3,)"
            R"("gamma":0.5,"select":"blocks","note":"","trace":false,"levels":[0.1,0.2],)"
            R"("stages":[],"memory_budget":"25% of mlp","share":0.5,)"
            R"("extra":{"bandwidth":"1 GiB/s"},"inner":{"bandwidth":"7 GB/s"}})");
  const auto again = parse_document(first.dump(), "g", diagnostics);  // JSON is YAML
  EXPECT_EQ(table().write(table().read(again.root, diagnostics)), first);
  EXPECT_EQ(diagnostics.text(), "");
}

TEST(Table, DescribesItself) {
  const auto infos = table().describe();
  EXPECT_EQ(infos[0].name, "omega_io");
  EXPECT_EQ(infos[0].default_text(), "4");
  EXPECT_EQ(infos[0].range.text(infos[0].dimension), "1 … 64");
  EXPECT_TRUE(infos[2].required);
  EXPECT_EQ(infos[2].default_text(), "");
  EXPECT_EQ(infos[3].default_text(), "48 KiB");
  EXPECT_EQ(infos[3].range.text(infos[3].dimension), "512 B … 1 MiB");
  EXPECT_EQ(infos[4].default_text(), "30%");
  EXPECT_THAT(infos[6].choices, testing::ElementsAre("blocks", "neurons"));
  EXPECT_EQ(infos.back().children[0].name, "bandwidth");
  const Json rows = parameter_rows(infos);
  EXPECT_EQ(rows[0].dump(),
            R"({"parameter":"omega_io","type":"a whole number","default":"4","range":"1 … 64",)"
            R"("help":"I/O segments of a layer"})");
  EXPECT_EQ(rows.back()["parameter"], "inner.bandwidth");
  EXPECT_EQ(rows.back()["default"], "required");
}

TEST(Table, ReportsWrongValues) {
  EXPECT_EQ(only_error("omega_io: 100"), "f.yaml:3:11: 'omega_io' is 100; it must be 1 … 64");
  EXPECT_EQ(only_error("omega_io: 1.5"),
            "f.yaml:3:11: 'omega_io' must be a whole number, not '1.5'");
  EXPECT_EQ(only_error("omega_io: [1]"),
            "f.yaml:3:11: 'omega_io' must be a whole number, not a list");
  EXPECT_EQ(only_error("omega_io:"),
            "f.yaml:3:1: 'omega_io' has no value; it must be a whole number");
  EXPECT_EQ(only_error("seed: -1"),
            "f.yaml:3:7: 'seed' must be a whole number of at least 0, not '-1'");
  EXPECT_EQ(only_error("seed: 18446744073709551616"),
            "f.yaml:3:7: 'seed' is '18446744073709551616', more than 64 bits hold");
  EXPECT_EQ(only_error("block: 48"),
            "f.yaml:3:8: 'block': '48' has no unit; a size needs one of B, KB, MB, GB, TB, KiB, "
            "MiB, GiB, TiB, kB");
  EXPECT_EQ(only_error("block: 48 kib"),
            "f.yaml:3:8: 'block': 'kib' is not the unit of a size; valid: B, KB, MB, GB, TB, KiB, "
            "MiB, GiB, TiB, kB; did you mean 'KiB'?");
  EXPECT_EQ(only_error("block: -48 KiB"),
            "f.yaml:3:8: 'block' is '-48 KiB'; it must be 512 B … 1 MiB");
  EXPECT_EQ(only_error("block: lots"),
            "f.yaml:3:8: 'block': 'lots' is not a size; write it like 48 KiB");
  EXPECT_EQ(only_error("gamma: .nan"),
            "f.yaml:3:8: 'gamma': '.nan' is not a number; write it like 1.5");
  EXPECT_EQ(only_error("gamma: nan"),
            "f.yaml:3:8: 'gamma': 'nan' is not a number; write it like 1.5");
  EXPECT_EQ(only_error("gamma: inf"),
            "f.yaml:3:8: 'gamma': 'inf' is not a number; write it like 1.5");
  EXPECT_EQ(only_error("gamma: 1e999"),
            "f.yaml:3:8: 'gamma': '1e999' is too large or too small for a number");
  EXPECT_EQ(only_error("gamma: 1x"), "f.yaml:3:8: 'gamma': '1x' is not a number");
  EXPECT_EQ(only_error("density: 130%"), "f.yaml:3:10: 'density' is '130%'; it must be 0% … 100%");
  EXPECT_EQ(only_error("trace: yes"), "f.yaml:3:8: 'trace' must be true or false, not 'yes'");
  EXPECT_EQ(only_error("select: neuron"),
            "f.yaml:3:9: 'select' cannot be 'neuron'; valid: blocks, neurons; did you mean "
            "'neurons'?");
  EXPECT_EQ(only_error("levels: [0.5, 2]"), "f.yaml:3:15: 'levels' is '2'; it must be 0 … 1");
  EXPECT_EQ(only_error("levels: {a: 1}"),
            "f.yaml:3:9: 'levels' must be a list of numbers, not a map");
  EXPECT_EQ(only_error("memory_budget: 20%"),
            "f.yaml:3:16: 'memory_budget': '20%': a share is 'of mlp' or 'of model'");
  EXPECT_EQ(only_error("memory_budget: 2"),
            "f.yaml:3:16: 'memory_budget': '2' has no unit; a size needs one of B, KB, MB, GB, "
            "TB, KiB, MiB, GiB, TiB, kB; or a share, like '25% of mlp' or '20% of model'");
  EXPECT_EQ(only_error("memory_budget: 20% of flash"),
            "f.yaml:3:16: 'memory_budget': '20% of flash': a share is 'of mlp' or 'of model'");
  EXPECT_EQ(only_error("extra: {}"), "f.yaml:3:8: 'bandwidth' is missing: a bandwidth, of all");
}

TEST(Table, TimesBeyond64BitsAreRefused) {
  EXPECT_EQ(reading_errors("{latency: 1e30 s, inner: {bandwidth: 1 GB/s}}").size(), 1U);
}

TEST(Table, ReportsAllErrorsInOnePassByPosition) {
  EXPECT_THAT(reading_errors("inner:\n"
                             "  bandwith: 1 GB/s\n"
                             "omega_io: 4\n"
                             "omega_io: 5\n"
                             "density: -1\n"),
              testing::ElementsAre(
                  "f.yaml:1:1: 'latency' is missing: a time, until the first byte",
                  "f.yaml:2:3: unknown parameter 'bandwith'; valid: bandwidth; did you mean "
                  "'bandwidth'?",
                  "f.yaml:2:3: 'bandwidth' is missing: a bandwidth, of all",
                  "f.yaml:4:1: 'omega_io' is given twice, first at f.yaml:3:1",
                  "f.yaml:5:10: 'density' is '-1'; it must be 0% … 100%"));
}

TEST(Table, NeedsAMap) {
  EXPECT_THAT(
      reading_errors("just words"),
      testing::Contains("f.yaml:1:1: a map of parameters is needed here, not 'just words'"));
  EXPECT_THAT(reading_errors(""),
              testing::ElementsAre("f.yaml:1:1: 'latency' is missing: a time, until the first byte",
                                   "f.yaml:1:1: 'inner' is missing: a map of bandwidth, a device"));
}

TEST(Table, CommandLineValuesNameThemselves) {
  Diagnostics diagnostics;
  Node root = parse_document("{latency: 1 us}", "f.yaml", diagnostics).root;
  root = with_assignment(root, "inner.bandwidth=3 GB/s", diagnostics);
  root = with_assignment(root, "levels=[0.1, 0.2]", diagnostics);
  root = with_assignment(root, "levels.1=0.7", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(table().read(root, diagnostics).levels, (std::vector<double>{0.1, 0.7}));
  EXPECT_EQ(diagnostics.text(), "");
  root = with_assignment(root, "omega_io=x", diagnostics);
  with_assignment(root, "latency.x=1", diagnostics);
  with_assignment(root, "levels.2=1", diagnostics);
  with_assignment(root, "nothing", diagnostics);
  with_assignment(root, "a..b=1", diagnostics);
  with_assignment(root, "a=[", diagnostics);
  table().read(root, diagnostics);
  EXPECT_EQ(
      diagnostics.text(),
      "command line: latency.x=1: error: 'x' cannot be set inside '1 us', which is not a map\n"
      "command line: levels.2=1: error: '2' is no item of a list of 2 (counted from 0)\n"
      "command line: nothing: error: an assignment looks like name=value\n"
      "command line: a..b=1: error: an empty name in '.b'\n"
      "command line: a=[: error: no valid YAML: end of sequence flow not found\n"
      "command line: omega_io=x: error: 'omega_io' must be a whole number, not 'x'");
  EXPECT_THROW(diagnostics.throw_if_any(), UserError);
}

}  // namespace
}  // namespace leanstream::config
