#include "platforms/probe/fit_commands.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/median.h"
#include "platforms/probe/fit_times.h"
#include "platforms/probe/probes.h"
#include "platforms/probe/shape_costs.h"

namespace leanstream::probe {
namespace {

using backend::Synchronisation;

// With the neurons of its blocks.
std::string name_of(const Shape& shape) {
  return fmt::format("{} by {}", shape.text(), shape.block_neurons);
}

// Times with their names; the first of the amounts is bytes or operations.
struct Times {
  std::vector<std::string> names;
  std::vector<Timed> times;

  void add(std::string name, std::vector<double> amounts, double seconds) {
    names.push_back(std::move(name));
    times.push_back({std::move(amounts), seconds});
  }
  std::vector<CommandError> errors(const TimeFit& fit) const {
    std::vector<CommandError> all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      all.push_back({names[i], times[i].seconds, fit.errors[i]});
    }
    return all;
  }
  // Of the first amount. Where the times do not depend on it, the fastest of them.
  double rate(const TimeFit& fit) const {
    if (fit.costs[0] > 0) return calibration::rounded(1 / fit.costs[0]);
    double fastest = 0;
    for (const Timed& t : times) fastest = std::max(fastest, t.amounts[0] / t.seconds);
    return calibration::rounded(fastest);
  }
};

// Commands of single tokens by flags: of other synchronisations the threads sleep between them.
Times resident_times(const Plan& plan, const SampleFile& samples) {
  Times all;
  for (const Shape& shape : plan.shapes) {
    std::vector<double> attention, head;
    for (const int segments : plan.segments) {
      for (const double share : plan.shares) {
        const auto name =
            decode_parameters(shape, Synchronisation::flags, segments, share, Order::random);
        attention.push_back(samples.get(kDecode, name, "attention").median);
        head.push_back(samples.get(kDecode, name, "head").median);
      }
    }
    all.add("attention " + name_of(shape),
            {attention_bytes(shape), attention_rows(shape), static_cast<double>(shape.heads), 1},
            median(attention));
    all.add(fmt::format("head {} x {} by {}", shape.hidden, shape.vocab, shape.block_neurons),
            {head_bytes(shape), static_cast<double>(shape.vocab), 0, 1}, median(head));
  }
  return all;
}

// Amounts of an MLP: bytes; jumps to blocks, also times hidden; then segments.
constexpr std::size_t kFirstSegment = 3;

Times mlp_times(const Plan& plan, const SampleFile& samples) {
  Times all;
  for (const Shape& shape : plan.shapes) {
    for_each_decode(plan, [&](std::size_t how, int segments, double share, Order order) {
      std::vector<double> amounts(kFirstSegment + std::size(kSynchronisations));
      const double blocks = blocks_of(shape, share);
      const double jumps = order == Order::random ? blocks : segments;
      amounts[0] = mlp_bytes(shape, neurons_of(shape, share));
      amounts[1] = jumps;
      amounts[2] = jumps * shape.hidden;
      amounts[kFirstSegment + how] = segments;
      const auto& [synchronisation, word] = kSynchronisations[how];
      const auto name = decode_parameters(shape, synchronisation, segments, share, order);
      all.add(fmt::format("MLP {}, {:.0f} %, {} segments, {}{}", name_of(shape), 100 * share,
                          segments, word, order == Order::memory ? ", in order" : ""),
              std::move(amounts), samples.get(kDecode, name, "mlp").median);
    });
  }
  return all;
}

// Of many tokens.
Times prompt_attentions(const Plan& plan, const SampleFile& samples) {
  Times all;
  for (const Shape& shape : plan.shapes) {
    all.add(fmt::format("attention {}, {} tokens", name_of(shape), plan.prompt),
            {attention_operations(shape, plan.prompt)},
            samples.get(kPrefill, shape_parameters(shape), "attention").median);
  }
  return all;
}

// Amounts: operations; blocks, times tokens and hidden.
Times prompt_mlps(const Plan& plan, const SampleFile& samples) {
  Times all;
  for (const Shape& shape : plan.shapes) {
    all.add(fmt::format("MLP {}, {} tokens", name_of(shape), plan.prompt),
            {mlp_operations(shape, shape.ffn, plan.prompt),
             blocks_of(shape, 1) * plan.prompt * shape.hidden},
            samples.get(kPrefill, shape_parameters(shape), "mlp").median);
  }
  return all;
}

// Operations a second of many tokens, at least so many: a roofline below what single tokens reach
// would slow them.
double operations_rate(const Times& prefill, const TimeFit& fit, double reached,
                       CommandFit& result) {
  for (const CommandError& one : prefill.errors(fit)) result.prefill.push_back(one);
  const double rate = prefill.rate(fit);
  if (reached <= rate) return rate;
  result.compute_raised = true;
  return calibration::rounded(1.01 * reached);
}

// By the names of the figures that are the fit's costs.
void note_worth(const TimeFit& fit, const std::vector<const char*>& figures, CommandFit& result) {
  for (std::size_t i = 1; i < figures.size(); ++i) {
    result.worth[figures[i]] =
        fit.costs[i] == 0
            ? "left out, as it betters nothing"
            : fmt::format("without it the root mean square of errors is {:.1f} %, not {:.1f} %",
                          100 * fit.error_without[i], 100 * fit.error);
  }
}

}  // namespace

TimeNs rounded_ns(double s) {
  return std::llround(calibration::rounded(s * kNsPerSecond));
}

std::string errors_text(const std::vector<CommandError>& errors) {
  std::vector<double> sizes;
  for (const CommandError& one : errors) sizes.push_back(std::abs(one.error));
  return fmt::format("median error {:.1f} %, worst {:.1f} %", 100 * median(sizes),
                     100 * *std::max_element(sizes.begin(), sizes.end()));
}

CommandFit fit_commands(const Plan& plan, const SampleFile& samples) {
  CommandFit result;
  platform::Accelerator& device = result.accelerator;
  const Times resident = resident_times(plan, samples);
  const TimeFit resident_fit = fit_times(resident.times);
  device.bandwidth_bytes_per_s = resident.rate(resident_fit);
  device.row_ns = rounded_ns(resident_fit.costs[1]);
  device.attention_head_ns = rounded_ns(resident_fit.costs[2]);
  device.command_ns = rounded_ns(resident_fit.costs[3]);
  note_worth(resident_fit, {"", "row", "attention_head", "command"}, result);
  result.resident = resident.errors(resident_fit);

  const Times mlp = mlp_times(plan, samples);
  const TimeFit mlp_fit = fit_times(mlp.times);
  device.mlp_bandwidth_bytes_per_s = mlp.rate(mlp_fit);
  device.jump_ns = rounded_ns(mlp_fit.costs[1]);
  device.jump_vector_bytes =
      calibration::rounded(mlp_fit.costs[2] * device.mlp_bandwidth_bytes_per_s);
  note_worth(mlp_fit,
             {"", "jump", "jump_vectors", "flags_segment", "polling_segment", "device_segment"},
             result);
  device.flags_segment_ns = rounded_ns(mlp_fit.costs[kFirstSegment]);
  device.polling_segment_ns = rounded_ns(mlp_fit.costs[kFirstSegment + 1]);
  device.device_segment_ns = rounded_ns(mlp_fit.costs[kFirstSegment + 2]);
  result.mlp = mlp.errors(mlp_fit);

  const Shape& shape = plan.shapes.front();
  const Times attentions = prompt_attentions(plan, samples);
  device.flops_per_s = operations_rate(
      attentions, fit_times(attentions.times),
      device.bandwidth_bytes_per_s * attention_operations(shape, 1) / attention_bytes(shape),
      result);
  const Times mlps = prompt_mlps(plan, samples);
  const TimeFit mlps_fit = fit_times(mlps.times);
  device.mlp_flops_per_s =
      operations_rate(mlps, mlps_fit,
                      device.mlp_bandwidth_bytes_per_s * mlp_operations(shape, shape.ffn, 1) /
                          mlp_bytes(shape, shape.ffn),
                      result);
  device.block_operations = calibration::rounded(mlps_fit.costs[1] * *device.mlp_flops_per_s);
  note_worth(mlps_fit, {"", "block_operations"}, result);
  return result;
}

}  // namespace leanstream::probe
