#include "engine/platform/platform_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/config/find_file.h"

namespace leanstream::platform {
namespace {

using config::Diagnostics;
using config::FileKind;

std::string shipped(const std::string& name) {
  return read_file(config::find_file(FileKind::platform, name));
}

// The errors of a shipped file in which the first `from` is replaced by `to`.
std::string errors_with(const std::string& from, const std::string& to) {
  std::string text = shipped("jetson-agx-orin");
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Diagnostics diagnostics;
  read_platform(config::parse_document(text, "p.yaml", diagnostics), {}, diagnostics);
  return diagnostics.text();
}

TEST(Platform, ShippedFilesLoadAndNameTheirSources) {
  const auto names = config::file_names(FileKind::platform);
  EXPECT_THAT(names, testing::IsSupersetOf({"jetson-agx-orin", "jetson-agx-xavier", "oneplus-13"}));
  for (const auto& name : names) {
    const auto loaded = load_platform(name);
    EXPECT_EQ(loaded.platform.name, name);
    EXPECT_GE(loaded.provenance.size(), 28U);  // more where a default is not meant
    EXPECT_EQ(loaded.hash.size(), 32U);
    for (const auto& p : loaded.provenance) EXPECT_GE(p.reference.size(), 8U) << p.name;
  }
}

TEST(Platform, FiguresOfTheJetson) {
  const auto loaded = load_platform("jetson-agx-orin");
  const Platform& p = loaded.platform;
  EXPECT_EQ(p.flash.bandwidth_bytes_per_s, 7e9);
  EXPECT_EQ(p.flash.requests_per_s, 47e3);
  EXPECT_EQ(p.flash.latency_ns, 45'000);
  EXPECT_EQ(p.flash.logical_block_bytes, 512U);
  EXPECT_EQ(p.accelerator.flops_per_s, 5.8e12);
  EXPECT_EQ(p.accelerator.flags_segment_ns * 16, 470'000);
  EXPECT_EQ(p.accelerator.device_segment_ns * 16, 1'480'000);
  EXPECT_EQ(p.cpu.cores, 12);
  EXPECT_EQ(p.predictors.stacked_hash.time_ns, 92'000);
  EXPECT_EQ(p.predictors.low_rank_mlp.bytes, 1'400'000'000U);
  // Table 3 of the paper: 30 % of Mistral's MLP in 1.13 ms.
  const double mlp_bytes = 0.3 * 3 * 4096 * 14336 * 2;
  EXPECT_NEAR(mlp_bytes / p.accelerator.mlp_bandwidth_bytes_per_s, 1.13e-3, 0.01e-3);
  EXPECT_THAT(loaded.assumed(), testing::Contains("flash.queue_depth"));
  EXPECT_THAT(loaded.assumed(), testing::Not(testing::Contains("flash.latency")));
}

TEST(Platform, EnergyAndHeatMayBeUnknown) {
  const auto orin = load_platform("jetson-agx-orin");
  ASSERT_TRUE(orin.platform.energy && orin.platform.thermal);
  EXPECT_EQ(orin.provenance.size(), 28U + 1 + 11 + 19);
  EXPECT_EQ(orin.platform.thermal->accelerator.limit_c, 99);
  EXPECT_EQ(orin.platform.energy->flash.j_per_byte, 5e-10);
  // With all channels busy the drive draws what its datasheet says.
  EXPECT_NEAR(orin.platform.energy->flash.active_w + 5e-10 * 7e9, 6.2, 1e-9);
  const auto xavier = load_platform("jetson-agx-xavier");
  EXPECT_FALSE(xavier.platform.energy || xavier.platform.thermal ||
               xavier.platform.cpu.read_request_ns);
  EXPECT_EQ(xavier.provenance.size(), 28U) << "what is not stated is not listed";
  EXPECT_TRUE(load_platform("oneplus-13").platform.energy);
}

TEST(Platform, EnergyNeedsTheTimeOfReadsAndHeatNeedsEnergy) {
  EXPECT_THAT(
      errors_with("  read_request:\n    value: 21.3 us\n    source: fitted\n"
                  "    reference: >-\n"
                  "      one core's share of flash.requests, 1 ÷ 47 kIOPS, if interrupts on "
                  "one core are that limit as\n      arXiv 2511.18692 suspects\n",
                  ""),
      testing::HasSubstr("'energy' needs 'cpu.read_request'"));
  EXPECT_THAT(
      errors_with("thermal:\n  ambient: {value: 25 C,", "thermal:\n  ambient: {value: 95 C,"),
      testing::HasSubstr("'thermal.accelerator': its limit less its hysteresis must be "
                         "above the ambient"));
}

TEST(Platform, EveryFigureNeedsValueSourceAndReference) {
  EXPECT_EQ(errors_with("    source: datasheet\n", ""),
            "p.yaml:5:5: error: 'source' is missing: one of measured, datasheet, paper, fitted, "
            "assumed, how the figure is known");
  EXPECT_THAT(errors_with("source: datasheet", "source: measurd"),
              testing::HasSubstr("did you mean 'measured'?"));
  EXPECT_EQ(errors_with("    value: 7 GB/s\n", ""),
            "p.yaml:5:5: error: 'bandwidth' has no value; it must be a bandwidth");
  EXPECT_EQ(errors_with("reference: one request alone engages half of the drive; no measurement "
                        "found",
                        "reference: ''"),
            "p.yaml:11:16: error: the reference of 'flash.stream_bandwidth' is empty");
  EXPECT_EQ(errors_with("    time: {value: 92 us, source: paper, reference: \"LeanStream, Table "
                        "6, Mistral-7B\"}",
                        "    time: 92 us"),
            "p.yaml:93:11: error: 'predictors.stacked_hash.time' must be {value: …, source: …, "
            "reference: …}, not '92 us'");
}

TEST(Platform, FiguresMustAgree) {
  EXPECT_EQ(errors_with("value: 3.5 GB/s", "value: 8 GB/s"),
            "p.yaml:9:12: error: 'flash.stream_bandwidth' must be at most flash.bandwidth, 7 GB/s");
  EXPECT_EQ(errors_with("value: 7.87 GB/s", "value: 6 GB/s"),
            "p.yaml:5:12: error: 'flash.bandwidth' must be at most flash.link_bandwidth, 6 GB/s");
  EXPECT_THAT(errors_with("value: 512 B", "value: 1000 B"),
              testing::HasSubstr("'flash.logical_block' must be a power of two"));
  EXPECT_THAT(errors_with("kind: platform", "kind: model"),
              testing::StartsWith("p.yaml:1:7: error: the platform file starts with"));
}

TEST(Platform, AnExperimentMayChangeFigures) {
  Diagnostics diagnostics;
  const auto changes =
      config::parse_document("{flash: {latency: 60 us, queue_depth: 8}}", "e.yaml", diagnostics);
  const auto loaded = load_platform("jetson-agx-orin", changes.root);
  EXPECT_EQ(loaded.platform.flash.latency_ns, 60'000);
  EXPECT_EQ(loaded.platform.flash.queue_depth, 8);
  EXPECT_EQ(loaded.provenance[3].name, "flash.latency");
  EXPECT_EQ(loaded.provenance[3].reference, "changed at e.yaml:1:19");
  const auto wrong = config::parse_document("{flash: {latncy: 60 us}}", "e.yaml", diagnostics);
  try {
    load_platform("jetson-agx-orin", wrong.root);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("e.yaml:1:18: error: unknown parameter 'latncy'"));
    EXPECT_THAT(error.what(), testing::EndsWith("did you mean 'latency'?"));
  }
}

TEST(Platform, SaysWhatItsFiguresWereFittedTo) {
  const auto read = [](const std::string& section) {
    Diagnostics diagnostics;
    const std::string text = shipped("oneplus-13") + section;
    auto loaded =
        read_platform(config::parse_document(text, "p.yaml", diagnostics), {}, diagnostics);
    return std::pair(std::move(loaded), diagnostics.text());
  };
  const auto [loaded, errors] = read(
      "calibration: {date: 2026-12-01, machine: one, files: f, read_sizes: [4096, 12288], "
      "shapes: [768 x 2304]}\n");
  EXPECT_EQ(errors, "");
  ASSERT_TRUE(loaded.platform.calibration);
  EXPECT_THAT(loaded.platform.calibration->read_sizes, testing::ElementsAre(4096, 12288));
  EXPECT_THAT(loaded.platform.calibration->shapes, testing::ElementsAre("768 x 2304"));
  for (const auto& p : loaded.provenance) EXPECT_FALSE(p.name.starts_with("calibration"));
  EXPECT_FALSE(load_platform("oneplus-13").platform.calibration);
  const auto wrong =
      read("calibration: {date: 2026-12-01, read_sizes: [4 KiB], shapes: []}\n").second;
  EXPECT_THAT(wrong, testing::HasSubstr("'machine'"));
  EXPECT_THAT(wrong, testing::HasSubstr("'read_sizes'"));
}

TEST(Platform, UnknownNamesListTheValidOnes) {
  try {
    load_platform("oneplus-12");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::EndsWith("did you mean 'oneplus-13'?"));
  }
  EXPECT_THROW(load_platform("./nowhere.yaml"), UserError);
}

// Cut anywhere or with any byte changed, a file is right or the user's error, never a crash.
TEST(Platform, DamagedFilesAreTheUsersError) {
  const auto read = [](const std::string& damaged) {
    Diagnostics diagnostics;
    read_platform(config::parse_document(damaged, "p.yaml", diagnostics), {}, diagnostics);
    return diagnostics.empty();
  };
  const std::string required = shipped("jetson-agx-xavier");  // nothing that may be missing
  ASSERT_TRUE(read(required));
  const std::size_t last = required.find_last_of('}');
  for (std::size_t cut = 0; cut <= last; ++cut) EXPECT_FALSE(read(required.substr(0, cut))) << cut;
  const std::string text = shipped("oneplus-13");
  ASSERT_TRUE(read(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    read(damaged);
  }
}

}  // namespace
}  // namespace leanstream::platform
