// The CSV reader and writer, the grouping of results and the HTML report.
#include "experiments/report/report.h"

#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "experiments/report/plot.h"
#include "experiments/report/process.h"
#include "experiments/report/text.h"

namespace leanstream::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Csv, ReadsWhatItWrites) {
  CsvTable table;
  table.header = {"a", "b,c"};
  table.rows = {{"plain", "with \"quotes\""}, {"two\nlines", ""}};
  const CsvTable again = CsvTable::parse(table.to_text(), "t.csv");
  EXPECT_EQ(again.header, table.header);
  EXPECT_EQ(again.rows, table.rows);
}

TEST(Csv, TakesCrLfAndAMissingLastLineEnd) {
  const CsvTable table = CsvTable::parse("a,b\r\n1,2\r\n3,\"4\"", "t.csv");
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("1", "2"), ElementsAre("3", "4")));
}

TEST(Csv, SaysWhereAFileIsBroken) {
  const auto parse = [](const char* text) {
    return error_of([&] { CsvTable::parse(text, "t.csv"); });
  };
  EXPECT_THAT(parse("a,b\n1,2\n3\n"), HasSubstr("t.csv:3: 1 cells, but the header has 2"));
  EXPECT_THAT(parse("a,b\n1,\"2\n3\n"), HasSubstr("t.csv:2: a quoted cell is not closed"));
  EXPECT_THAT(parse("a,b\n\"1\n1\"2,3\n"), HasSubstr("t.csv:3: text after a quoted cell"));
  EXPECT_THAT(parse("a,b\n1,2\"\n"), HasSubstr("t.csv:2: a quote inside a cell"));
  EXPECT_THAT(parse("a,a\n"), HasSubstr("t.csv:1: column 'a' twice"));
  EXPECT_THAT(parse("a,\n"), HasSubstr("t.csv:1: a column has no name"));
  EXPECT_THAT(parse(""), HasSubstr("t.csv:1: no header"));
}

TEST(Csv, AnEmptyCellIsUnknownAndAWordIsAnError) {
  const CsvTable table = CsvTable::parse("x,y\n,\"a\nb\"\n1.5,\n", "t.csv");
  EXPECT_EQ(table.number(0, "x"), std::nullopt);
  EXPECT_EQ(table.number(1, "x"), 1.5);
  EXPECT_EQ(table.number(1, "no such"), std::nullopt);
  EXPECT_THAT(error_of([&] { table.number(0, "y"); }), HasSubstr("t.csv:2: column 'y' holds"));
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(std::nullopt), "");
}

TEST(Text, FiguresAreRoundedForReaders) {
  EXPECT_EQ(figure(0.012345), "0.0123");
  EXPECT_EQ(figure(12.345), "12.3");
  EXPECT_EQ(figure(1234.5), "1,234");
  EXPECT_EQ(figure(std::nullopt), "–");
  EXPECT_EQ(bytes(64e6), "64 MB");
  EXPECT_EQ(bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(escape("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
}

TEST(Plot, AxesEndOnRoundFigures) {
  EXPECT_DOUBLE_EQ(axis_for(9.3).end, 10);
  EXPECT_DOUBLE_EQ(axis_for(0.61).end, 0.8);
  EXPECT_DOUBLE_EQ(axis_for(100).end, 100);
  EXPECT_DOUBLE_EQ(axis_for(0).end, 1);
}

TEST(Process, EndsBadly) {
  using End = ProcessResult::End;
  const std::chrono::milliseconds limit(200);
  EXPECT_EQ(run_process({"no-such-program-here"}, "", limit).end, End::not_found);
  EXPECT_EQ(run_process({"sleep", "10"}, "", limit).end, End::timed_out);
  const ProcessResult cat = run_process({"cat"}, "text", std::chrono::seconds(10));
  EXPECT_EQ(cat.out, "text");
  EXPECT_EQ(run_process({"false"}, "", std::chrono::seconds(10)).status, 1);
}

class ReportTest : public testing::Test {
 protected:
  ReportTest() : folder_(testing::TempDir() + "leanstream_report_" + std::to_string(::getpid())) {
    write_file(folder_ + "/results.csv",
               "memory_budget,model,platform,system,memory_budget_bytes,seed,backend,"
               "tokens_per_s,tpot_ms_mean,compute_ms,gpu_stall_ms,prediction_wait_ms,"
               "synchronisation_ms,bytes_read,bytes_wanted,bytes_redundant,miss_ratio_demand,"
               "miss_ratio_final,belady_miss_ratio,computed_share,importance_share\n"
               "10% of mlp,tiny,desk,dense,1000000,1,sim,2,500,50,450,0,0,9e6,9e6,0,1,1,0.9,1,1\n"
               "20% of mlp,tiny,desk,dense,2000000,1,sim,3,333,50,283,0,0,8e6,9e6,0,1,1,0.8,1,1\n"
               "10% of mlp,tiny,desk,<lean>,1000000,1,sim,8,125,20,90,10,5,2e6,3e6,1e5,0.5,0.4,"
               "0.3,0.2,0.8\n"
               "10% of mlp,tiny,desk,<lean>,1000000,2,sim,10,100,20,70,5,5,2e6,3e6,1e5,0.5,0.4,"
               "0.3,0.2,0.8\n"
               "10% of mlp,tiny,desk,hasty,1000000,1,sim,20,50,20,30,0,0,1e6,2e6,0,,0.4,0.3,0.1,"
               "0.5\n");
    write_file(folder_ + "/manifest.json", R"({
      "name": "first look", "version": "0.1.0", "commit": "abc", "dirty": false,
      "trace": {"path": "t.safetensors", "hash": "12", "kind": "synthetic"},
      "configuration": {"cache": {"policy": "lru"}, "sweep": [1, 2]},
      "platform": {"name": "desk", "hash": "34", "provenance": [
        {"name": "flash.latency_ns", "value": "80 us", "source": "assumed", "reference": "guess"},
        {"name": "cpu.cores", "value": 8, "source": "datasheet", "reference": "vendor"}]},
      "notes": ["the plan is static until the controller exists"]})");
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(ReportTest, GroupsRowsBySystemAndBudget) {
  const Results results = Results::load(folder_);
  EXPECT_THAT(results.systems, ElementsAre("dense", "<lean>", "hasty"));
  ASSERT_EQ(results.facets.size(), 1u);
  EXPECT_THAT(results.facets[0].budgets_bytes, ElementsAre(1e6, 2e6));
  const Cell* cell = results.facets[0].find(1, 1e6);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(results.mean(*cell, "tokens_per_s"), 9);  // of two seeds
  EXPECT_EQ(results.facets[0].find(1, 2e6), nullptr);
  EXPECT_EQ(results.origin(), "simulated, synthetic trace");
}

TEST_F(ReportTest, OtherSweptParametersSeparateWhatIsCompared) {
  write_file(folder_ + "/results.csv",
             "density,system,memory_budget_bytes,tokens_per_s\n0.1,a,1,2\n0.2,a,1,3\n");
  const Results results = Results::load(folder_);
  ASSERT_EQ(results.facets.size(), 2u);
  EXPECT_EQ(results.facets[1].title, "density 0.2");
  EXPECT_THAT(report_html(results), HasSubstr("<h3>density 0.2</h3>"));
}

TEST_F(ReportTest, IsOneFileWithEverySection) {
  const std::string path = write_report(Results::load(folder_));
  EXPECT_EQ(path, folder_ + "/report.html");
  const std::string html = read_file(path);
  for (const char* id :
       {"headline", "speed", "time", "misses", "traffic", "quality", "configuration"}) {
    EXPECT_THAT(html, HasSubstr("<section id=\"" + std::string(id)));
  }
  EXPECT_THAT(html, HasSubstr("the plan is static until the controller exists"));
  EXPECT_THAT(html, HasSubstr("synthetic trace"));
  EXPECT_THAT(html, HasSubstr("<span class=\"source weak\">assumed</span></td><td>guess"));
  EXPECT_THAT(html, HasSubstr("<span class=\"source\">datasheet</span>"));
  EXPECT_THAT(html, HasSubstr("1 of 2 figures of platform desk"));
  EXPECT_THAT(html, HasSubstr("cache.policy"));
  EXPECT_THAT(html, HasSubstr("share 0.500 ▼"));  // fast because it computes less
  EXPECT_THAT(html, HasSubstr("share 0.800</small>"));
  EXPECT_THAT(html, HasSubstr("&lt;lean&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<lean>")));
  for (const char* fetched : {"src=", "@import", "<link", "<script"}) {
    EXPECT_THAT(html, Not(HasSubstr(fetched)));
  }
}

TEST_F(ReportTest, DoesWithoutWhatIsOptional) {
  std::filesystem::remove(folder_ + "/manifest.json");
  write_file(folder_ + "/results.csv", "system,memory_budget_bytes,tokens_per_s\na,1,\n");
  const std::string html = report_html(Results::load(folder_));
  EXPECT_THAT(html, HasSubstr("no result"));
  EXPECT_THAT(html, HasSubstr("no manifest.json"));
  EXPECT_THAT(html, HasSubstr("trace of unknown kind"));
}

TEST_F(ReportTest, ShowsEnergyAndTheGuessesThatFiguresRestOn) {
  const std::string header =
      "system,memory_budget_bytes,assumed,tokens_per_s,energy_j_per_token,gpu_temp_c_peak,"
      "throttled_ratio\n";
  write_file(folder_ + "/results.csv", header +
                                           "a,1,flash.latency thermal.ambient,2,3.25,76.4,0\n"
                                           "b,1,flash.latency energy.board,3,,,\n");
  const Results results = Results::load(folder_);
  const std::string html = report_html(results);
  EXPECT_THAT(html, HasSubstr("<section id=\"energy"));
  EXPECT_THAT(html, HasSubstr("<td>3.25</td><td>76.4</td><td>0.000</td>"));
  EXPECT_THAT(html, HasSubstr("<td>–</td><td>–</td><td>–</td>")) << "unknown is never 0";
  EXPECT_THAT(html, HasSubstr("figures of the platform: flash.latency.</p>"));
  EXPECT_THAT(html, HasSubstr("figures of the platform: energy.board, thermal.ambient.</p>"));
  EXPECT_THAT(headline_text(results),
              HasSubstr("\nrests on assumed figures of the platform: flash.latency\n"));
  write_file(folder_ + "/results.csv",
             header + "a,1,flash.latency thermal.ambient,2,3.25,99.4,0.5\n");
  EXPECT_THAT(headline_text(Results::load(folder_)),
              HasSubstr("the platform: flash.latency, thermal.ambient\n"))
      << "heat slowed it down";
}

TEST_F(ReportTest, ListsTheRunsThatFailed) {
  write_file(folder_ + "/results.csv",
             "system,memory_budget_bytes,tokens_per_s,failure\na,1,2,\nb,1,,out of <slots>\n"
             "c,,,no such system\n");
  const std::string html = report_html(Results::load(folder_));
  EXPECT_THAT(html, HasSubstr("<li>b at 1 B: out of &lt;slots&gt;</li>"));
  EXPECT_THAT(html, HasSubstr("c at –: no such system"));
}

TEST_F(ReportTest, RefusesWhatIsBroken) {
  const auto load = [&] { return error_of([&] { Results::load(folder_); }); };
  write_file(folder_ + "/manifest.json", "{");
  EXPECT_THAT(load(), HasSubstr("manifest.json"));
  write_file(folder_ + "/results.csv", "sistem,memory_budget_bytes\n");
  EXPECT_THAT(load(), HasSubstr("no column 'system'; did you mean 'sistem'?"));
  write_file(folder_ + "/results.csv", "system,memory_budget_bytes\n");
  EXPECT_THAT(load(), HasSubstr("no rows"));
  std::filesystem::remove(folder_ + "/results.csv");
  EXPECT_THAT(load(), HasSubstr("no such file"));
}

TEST_F(ReportTest, PrintsTheHeadlineForATerminal) {
  EXPECT_THAT(headline_text(Results::load(folder_)),
              HasSubstr("dense        2.00 (1.000)       3.00 (1.000)\n<lean>       9.00 (0.800)   "
                        "         not run\n"));
}

}  // namespace
}  // namespace leanstream::report
