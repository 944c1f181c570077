// Figures from samples that a known machine would have given.
#include "platforms/probe/outcome.h"

#include <map>

#include <gmock/gmock.h>

#include "engine/config/document.h"
#include "platforms/calibration/closed_loop.h"
#include "platforms/calibration/platform_yaml.h"
#include "platforms/probe/probes.h"
#include "platforms/probe/shape_costs.h"
#include "tests/probe/folder.h"

namespace leanstream::probe {
namespace {

// What is to be found.
struct Known {
  double bandwidth = 12e9, mlp_bandwidth = 10e9, flops = 80e9, mlp_flops = 50e9;
  double command_s = 9e-6;
  std::map<std::string, double> segment_s{{"flags", 1e-6}, {"polling", 3e-6}, {"device", 20e-6}};
  double memory_bandwidth = 30e9;
};

constexpr double kPieceBytes = 2'000, kMergeBytes = 5'000;
constexpr double kJumpS = 150e-9, kJumpElementS = 0.4e-9, kRowS = 12e-9, kAttentionHeadS = 4e-6,
                 kBlockOperations = 4.5, kStartS = 40e-6, kWakeUpS = 25e-6, kStepS = 6e-6,
                 kReadS = 7e-6;

platform::Flash flash() {
  return {.bandwidth_bytes_per_s = 3e9,
          .stream_bandwidth_bytes_per_s = 1.2e9,
          .requests_per_s = 1 / kReadS,
          .latency_ns = 70'000,
          .queue_depth = 32,
          .logical_block_bytes = 4096,
          .link_bandwidth_bytes_per_s = 3e9,
          .request_overhead_bytes = 6'000,
          .spread = 0.3,
          .pause_ns = 3'000'000,
          .pause_requests = 4'000};
}

class OutcomeTest : public SamplesTest {
 protected:
  Plan plan = full_plan();
  Machine machine{"a processor", "disk x", "Linux 6", 4, Bytes{8} << 30, Bytes{1} << 20};

  void fill(SampleFile& to, const Known& known) {
    for (const Bytes bytes : plan.read_bytes) {
      for (const std::int32_t depth : plan.bursts) {
        const auto loop = calibration::together(flash(), static_cast<double>(bytes), depth);
        put(to, kStorage, read_parameters(bytes, depth),
            {{"rate", loop.requests_per_s},
             {"p50", loop.p50_s},
             {"p99", loop.p99_s},
             {"cpu", kReadS}});
      }
    }
    for (const std::int32_t depth : plan.mix_bursts) {  // of 20 and 160 KiB
      const auto loop = calibration::together(flash(), 90.0 * 1024 + 3.5 * kPieceBytes, depth);
      put(to, kMix, mix_parameters(plan, depth),
          {{"rate", loop.requests_per_s}, {"p50", loop.p50_s}, {"p99", 1}, {"cpu", kReadS}});
    }
    for (const std::int32_t depth : plan.mix_bursts) {
      const double bytes =
          static_cast<double>(plan.piece_bytes) * plan.pieces + kPieceBytes * (plan.pieces - 1);
      put(to, kPieces, pieces_parameters(plan, depth),
          {{"rate", calibration::together(flash(), bytes, depth).requests_per_s}});
      const double merged = 2.0 * static_cast<double>(plan.piece_bytes) + kPieceBytes + kMergeBytes;
      put(to, kMerged, merged_parameters(plan, depth),
          {{"rate", calibration::together(flash(), merged, depth).requests_per_s}});
    }
    const std::int32_t most = plan.bursts.back();
    const auto smallest = static_cast<double>(plan.read_bytes.front());
    const double each_s = calibration::together(flash(), smallest, most).p50_s / most;
    put(to, kPauses, pauses_parameters(plan),
        {{"every", flash().pause_requests * each_s}, {"length", seconds(flash().pause_ns)}});
    put(to, kDevice, "", {{"alignment", 4096}});
    put(to, kMemory, memory_parameters(true), {{"rate", known.memory_bandwidth}});
    put(to, kMemory, memory_parameters(false), {{"rate", 9e9}});
    for (const Shape& shape : plan.shapes) commands(to, shape, known);
    for (const TimeNs idle : plan.idle_ns) {
      put(to, kWakeUp, idle_parameters(idle), {{"time", kWakeUpS}});
      put(to, kHandOver, idle_parameters(idle), {{"time", 4e-6}});
    }
    for (const TimeNs idle : plan.start_idle_ns) {
      put(to, kStart, idle_parameters(idle), {{"time", kWakeUpS + kStartS}});
    }
    put(to, kStep, "", {{"time", kStepS}});
    put(to, kPrediction, prediction_parameters(kPredictions[0]), {{"time", 80e-6}});
    put(to, kPrediction, prediction_parameters(kPredictions[1]), {{"time", 4e-3}});
  }

 private:
  // Three repetitions whose median is the value.
  static void put(SampleFile& to, const char* what, const std::string& parameters,
                  const std::vector<std::pair<std::string, double>>& figures) {
    std::vector<Sample> samples;
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (const auto& [name, value] : figures) {
        const double off = repetition == 0 ? 0.5 : repetition == 1 ? 1 : 1.1;
        samples.push_back({what, parameters, repetition, name, off * value, "s", 1'796'000'000});
      }
    }
    to.append(samples);
  }

  void commands(SampleFile& to, const Shape& shape, const Known& known) {
    const double attention = known.command_s + attention_bytes(shape) / known.bandwidth +
                             attention_rows(shape) * kRowS + shape.heads * kAttentionHeadS;
    const double head = known.command_s + head_bytes(shape) / known.bandwidth + shape.vocab * kRowS;
    for (const auto& [how, name] : kSynchronisations) {
      for (const int segments : plan.segments) {
        for (const double share : plan.shares) {
          // Of the others attention and head are not to count.
          const double slower = how == backend::Synchronisation::flags ? 1 : 2;
          for (const Order order : {Order::random, Order::memory}) {
            const double blocks = blocks_of(shape, share);
            const double jumps = order == Order::random ? blocks : segments;
            const double mlp = segments * known.segment_s.at(name) +
                               jumps * (kJumpS + shape.hidden * kJumpElementS) +
                               mlp_bytes(shape, neurons_of(shape, share)) / known.mlp_bandwidth;
            put(to, kDecode, decode_parameters(shape, how, segments, share, order),
                {{"attention", slower * attention}, {"head", slower * head}, {"mlp", mlp}});
          }
        }
      }
    }
    put(to, kPrefill, shape_parameters(shape),
        {{"attention", attention_operations(shape, plan.prompt) / known.flops},
         {"mlp", (mlp_operations(shape, shape.ffn, plan.prompt) +
                  kBlockOperations * blocks_of(shape, 1) * shape.hidden * plan.prompt) /
                     known.mlp_flops}});
  }
};

TEST_F(OutcomeTest, FindsTheMachineThatGaveTheSamples) {
  SampleFile samples = file();
  fill(samples, {});
  const platform::Platform p = fit_platform(plan, machine, samples).platform;
  const auto& a = p.accelerator;
  EXPECT_NEAR(a.bandwidth_bytes_per_s / 12e9, 1, 1e-3);
  EXPECT_NEAR(a.mlp_bandwidth_bytes_per_s / 10e9, 1, 1e-3);
  EXPECT_NEAR(a.flops_per_s / 80e9, 1, 1e-3);
  EXPECT_NEAR(a.mlp_flops_per_s.value_or(0) / 50e9, 1, 1e-3);
  EXPECT_NEAR(a.block_operations, kBlockOperations, 0.01);
  EXPECT_EQ(a.command_ns, 9'000);
  EXPECT_EQ(a.jump_ns, 150);
  EXPECT_NEAR(a.jump_vector_bytes, kJumpElementS * 10e9, 0.01);
  EXPECT_EQ(a.row_ns, 12);
  EXPECT_EQ(a.attention_head_ns, 4'000);
  EXPECT_EQ(a.flags_segment_ns, 1'000);
  EXPECT_EQ(a.polling_segment_ns, 3'000);
  EXPECT_EQ(a.device_segment_ns, 20'000);
  EXPECT_EQ(a.start_ns, 40'000);
  EXPECT_EQ(p.cpu.wake_up_ns, 25'000);
  EXPECT_EQ(p.cpu.step_ns, 6'000);
  EXPECT_EQ(p.cpu.read_request_ns, 7'000);
  EXPECT_EQ(p.cpu.cores, 4);
  EXPECT_EQ(p.cpu.bandwidth_bytes_per_s, 9e9);
  EXPECT_EQ(p.memory.bandwidth_bytes_per_s, 30e9);
  EXPECT_EQ(p.memory.capacity_bytes, Bytes{8} << 30);
  EXPECT_EQ(p.predictors.stacked_hash.time_ns, 80'000);
  EXPECT_EQ(p.predictors.low_rank_mlp.time_ns, 4'000'000);
  EXPECT_NEAR(p.flash.bandwidth_bytes_per_s / 3e9, 1, 0.03);
  EXPECT_NEAR(static_cast<double>(p.flash.latency_ns) / 70'000, 1, 0.03);
  EXPECT_NEAR(p.flash.spread, 0.3, 1e-3);
  EXPECT_EQ(p.flash.logical_block_bytes, 4096U);
  EXPECT_EQ(p.flash.queue_depth, 32);
  EXPECT_EQ(p.flash.merge_bytes, Bytes{1} << 20);
  EXPECT_NEAR(static_cast<double>(p.flash.piece_bytes) / kPieceBytes, 1, 0.2);
  EXPECT_NEAR(static_cast<double>(p.flash.merge_overhead_bytes) / kMergeBytes, 1, 0.2);
  EXPECT_EQ(p.flash.pause_ns, flash().pause_ns);
  EXPECT_EQ(p.flash.pause_requests, flash().pause_requests);
  EXPECT_EQ(p.flash.link_bandwidth_bytes_per_s, p.flash.bandwidth_bytes_per_s);
}

TEST_F(OutcomeTest, ErrorsOfAPerfectFitAreNone) {
  SampleFile samples = file();
  fill(samples, {});
  const Outcome outcome = fit_platform(plan, machine, samples);
  EXPECT_EQ(outcome.reads.size(), plan.read_bytes.size() * plan.bursts.size());
  ASSERT_EQ(outcome.mixed_reads.size(), plan.mix_bursts.size());
  for (const auto& one : outcome.mixed_reads) {
    EXPECT_NEAR(one.rate, 0, 0.02);
    EXPECT_FALSE(one.p50 || one.p99);
  }
  EXPECT_EQ(outcome.commands.size(), 6U * 2 + 6U * (3 + 1) * 3 * 2 + 6U * 2);
  for (const CommandError& one : outcome.commands) EXPECT_NEAR(one.error, 0, 1e-6) << one.what;
}

TEST_F(OutcomeTest, TheFileLoadsAndSaysWhereFiguresAreFrom) {
  SampleFile samples = file();
  fill(samples, {});
  Outcome outcome = fit_platform(plan, machine, samples);
  outcome.platform.description = "a machine";
  const std::string text =
      calibration::file_text("a machine", outcome.figures, outcome.platform.calibration);
  config::Diagnostics diagnostics;
  const auto loaded = platform::read_platform(
      config::parse_document(text, "here.yaml", diagnostics), {}, diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_EQ(platform::table().write(loaded.platform), platform::table().write(outcome.platform));
  EXPECT_EQ(loaded.provenance.size(), outcome.figures.size());
  EXPECT_THAT(loaded.assumed(),
              testing::UnorderedElementsAre("flash.link_bandwidth", "flash.io_segment_overhead"));
  for (const auto& figure : loaded.provenance) {
    if (figure.source == platform::Source::paper) continue;
    EXPECT_THAT(figure.reference, testing::HasSubstr(machine.text())) << figure.name;
    EXPECT_THAT(figure.reference, testing::HasSubstr("2026-11-30")) << figure.name;
  }
  const auto& calibrated = *loaded.platform.calibration;
  EXPECT_EQ(calibrated.read_sizes, plan.read_bytes);
  EXPECT_THAT(calibrated.shapes, testing::ElementsAre("768 x 2304", "1536 x 4608", "3072 x 9216"));
}

TEST_F(OutcomeTest, FiguresAgreeWithEachOther) {
  SampleFile samples = file();
  Known known;
  known.memory_bandwidth = 8e9;  // less than the accelerator drew
  known.flops = 1e9;             // less than single tokens reach
  fill(samples, known);
  const platform::Platform p = fit_platform(plan, machine, samples).platform;
  EXPECT_EQ(p.memory.bandwidth_bytes_per_s, p.accelerator.bandwidth_bytes_per_s);
  const double reached = 12e9 * 2 / (34.0 / 32);
  EXPECT_GE(p.accelerator.flops_per_s, reached);
  EXPECT_LE(p.accelerator.flops_per_s, 1.1 * reached);
}

}  // namespace
}  // namespace leanstream::probe
