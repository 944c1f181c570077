#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/calibration/storage_table.h"

namespace leanstream::calibration {
namespace {

using config::Diagnostics;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(StorageTable, ReadsItsColumnsInAnyOrder) {
  Diagnostics diagnostics;
  const auto table = read_csv(
      "note,qd,bs_kib,p99_us,p50_us,mb_s,half\r\nx,4,8,300,200,81.92,1\r\n\r\nx,1,4,90,70,40.96,"
      "0\n",
      "t.csv", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(table.cells.size(), 2u);
  EXPECT_TRUE(table.one_queue);
  EXPECT_THAT(table.ignored_columns, ElementsAre("note"));
  EXPECT_EQ(table.cells[0].bytes, 8192u);
  EXPECT_EQ(table.cells[0].depth, 4);
  EXPECT_DOUBLE_EQ(table.cells[0].requests_per_s, 10'000);
  EXPECT_DOUBLE_EQ(*table.cells[0].p99_s, 300e-6);
  EXPECT_EQ(table.cells[0].half, 1);
}

TEST(StorageTable, AllThatIsWrongIsSaidAtOnce) {
  Diagnostics diagnostics;
  read_csv(
      "bs_kib,qd,iops,p50_us,p99_us\n4,1,fast,10,20\n4,0,100,10,20\n4,1.5,100,10,20\n"
      "4,1,100,10\n-4,1,nan,10,20\n4,1,100,30,20\n4,1,inf,30,40\n",
      "t.csv", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "t.csv:2:1: error: 'iops' must be a number above 0, not 'fast'\n"
            "t.csv:3:1: error: 'qd' must be a whole number of reads, at least 1, not '0'\n"
            "t.csv:4:1: error: 1.5 reads at once are no whole number\n"
            "t.csv:5:1: error: 4 fields, but the header has 5\n"
            "t.csv:6:1: error: 'bs_kib' must be KiB of a read, above 0, not '-4'\n"
            "t.csv:6:1: error: 'iops' must be a number above 0, not 'nan'\n"
            "t.csv:7:1: error: p99_us 20 is less than p50_us 30\n"
            "t.csv:8:1: error: 'iops' must be a number above 0, not 'inf'");
}

TEST(StorageTable, AHeaderMustSayWhatWasMeasured) {
  Diagnostics diagnostics;
  read_csv("size,qd,lanes,qd,p50_us\n1,2,3,4,5\n", "t.csv", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("t.csv:1:1: error: column 'qd' is there twice"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("no column 'bs_kib'"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("or else 'lanes'"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("there must be a rate"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("both or none"));
  Diagnostics empty;
  read_csv("bs_kib,qd,iops\n", "t.csv", empty);
  EXPECT_THAT(empty.text(), HasSubstr("no line with a measurement"));
}

// Cut anywhere or with any byte changed, a table is right or the user's error, never a crash.
TEST(StorageTable, DamagedTablesAreTheUsersError) {
  const std::string text =
      "bs_kib,qd,iops,p50_us,p99_us,half\n4,1,20000,40,90,0\n8,2,9e3,80,120,1\n";
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    Diagnostics diagnostics;
    read_csv(damaged, "t.csv", diagnostics);
    read_csv(text.substr(0, i), "t.csv", diagnostics);
  }
}

constexpr const char* kFio = R"(fio: note
{"global options": {"bs": "16k", "direct": "1"}, "jobs": [
 {"jobname": "a", "job options": {"iodepth": "8"},
  "read": {"iops": 25000.5,
           "clat_ns": {"percentile": {"50.000000": 300000, "99.000000": 700000}}}},
 {"jobname": "b", "job options": {"bs": "1M", "iodepth": "2"}, "read": {"iops": 900}}]})";

TEST(StorageTable, ReadsWhatFioPrints) {
  Diagnostics diagnostics;
  StorageTable table;
  read_fio(kFio, "f.json", table, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_EQ(table.cells.size(), 2u);
  EXPECT_TRUE(table.one_queue);
  EXPECT_EQ(table.cells[0].bytes, 16'384u);
  EXPECT_EQ(table.cells[0].depth, 8);
  EXPECT_DOUBLE_EQ(table.cells[0].requests_per_s, 25'000.5);
  EXPECT_DOUBLE_EQ(*table.cells[0].p99_s, 700e-6);
  EXPECT_EQ(table.cells[1].bytes, 1'048'576u);
  EXPECT_FALSE(table.cells[1].p50_s.has_value());
}

TEST(StorageTable, FioMustHaveReadSomething) {
  Diagnostics diagnostics;
  StorageTable table;
  read_fio("[]", "a.json", table, diagnostics);
  read_fio(R"({"jobs": [{"jobname": "w", "read": {"iops": 0}},
                        {"job options": {"bs": "odd"}, "read": {"iops": 5}},
                        {"job options": {"iodepth": "4", "numjobs": "2"}, "read": {"iops": 5}}]})",
           "b.json", table, diagnostics);
  EXPECT_TRUE(table.cells.empty());
  EXPECT_EQ(diagnostics.count(), 4u);
  EXPECT_THAT(diagnostics.text(), HasSubstr("a.json: error: is no output of fio"));
  EXPECT_THAT(diagnostics.text(), HasSubstr("both iodepth and numjobs"));
}

}  // namespace
}  // namespace leanstream::calibration
