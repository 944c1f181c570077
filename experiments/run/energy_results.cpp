#include "experiments/run/energy_results.h"

#include <span>

namespace leanstream::run {
namespace {

using energy::Joules;
using energy::Stretch;
using energy::Temperatures;
using Value = std::optional<double>;

std::span<const Stretch> decoded(const Cell& cell, const CellResult& result) {
  const std::span<const Stretch> all = result.stretches;
  return cell.prompt_tokens > 0 && !all.empty() ? all.subspan(1) : all;
}

Stretch decode(const Cell& cell, const CellResult& result) {
  Stretch sum;
  for (const Stretch& s : decoded(cell, result)) {
    sum.use.add(s.use);
    sum.joules.add(s.joules);
    sum.throttled_ns += s.throttled_ns;
  }
  return sum;
}

// Per token; `part` of the joules.
template <typename Part>
Value joules_per_token(const Cell& cell, const CellResult& result, Part part) {
  const auto tokens = decoded(cell, result).size();
  if (!cell.platform.platform.energy || tokens == 0) return std::nullopt;
  return part(decode(cell, result).joules) / static_cast<double>(tokens);
}

Value cpu_busy_ratio(const Cell& cell, const CellResult& result) {
  const platform::Cpu& cpu = cell.platform.platform.cpu;
  const energy::Use use = decode(cell, result).use;
  if (!cpu.read_request_ns || use.time_ns == 0) return std::nullopt;
  return energy::core_s(use, cpu) * kNsPerSecond / (cpu.cores * static_cast<double>(use.time_ns));
}

Value throttled_ratio(const Cell& cell, const CellResult& result) {
  const Stretch sum = decode(cell, result);
  if (!cell.platform.platform.thermal || sum.use.time_ns == 0) return std::nullopt;
  return static_cast<double>(sum.throttled_ns) / static_cast<double>(sum.use.time_ns);
}

EnergyColumn joules_column(const std::string& name, const std::string& help, double Joules::*part) {
  return {name, help, [part](const Cell& cell, const CellResult& result) {
            return joules_per_token(cell, result, [part](const Joules& j) { return j.*part; });
          }};
}

EnergyColumn peak_column(const std::string& name, const std::string& help,
                         double Temperatures::*unit) {
  return {name, help, [unit](const Cell&, const CellResult& result) {
            return result.peak ? Value((*result.peak).*unit) : std::nullopt;
          }};
}

}  // namespace

const std::vector<EnergyColumn>& energy_columns() {
  static const std::vector<EnergyColumn> all{
      {"cpu_busy_ratio",
       "core time of predictions, reads and the host thread's looking ÷ (cores · time)",
       cpu_busy_ratio},
      {"energy_j_per_token", "of the whole device",
       [](const Cell& cell, const CellResult& result) {
         return joules_per_token(cell, result, [](const Joules& j) { return j.sum(); });
       }},
      joules_column("energy_j_accelerator", "per token: of the accelerator", &Joules::accelerator),
      joules_column("energy_j_cpu", "per token: of the processor", &Joules::cpu),
      joules_column("energy_j_flash", "per token: of the flash", &Joules::flash),
      joules_column("energy_j_memory", "per token: of DRAM", &Joules::memory),
      joules_column("energy_j_board", "per token: of all the rest", &Joules::board),
      peak_column("gpu_temp_c_peak", "of the accelerator, prefill included",
                  &Temperatures::accelerator_c),
      peak_column("cpu_temp_c_peak", "of the processor", &Temperatures::cpu_c),
      peak_column("flash_temp_c_peak", "of the flash", &Temperatures::flash_c),
      {"throttled_ratio", "time in which a unit was too hot to run at its speed ÷ time",
       throttled_ratio}};
  return all;
}

std::vector<std::string> energy_token_header() {
  return {"energy_j", "gpu_temp_c", "cpu_temp_c", "flash_temp_c"};
}

std::vector<Value> energy_token_values(const Cell& cell, const CellResult& result, std::size_t i) {
  const auto tokens = decoded(cell, result);
  std::vector<Value> values(4);
  if (i >= tokens.size()) return values;
  if (cell.platform.platform.energy) values[0] = tokens[i].joules.sum();
  if (!result.peak) return values;
  values[1] = tokens[i].end.accelerator_c;
  values[2] = tokens[i].end.cpu_c;
  values[3] = tokens[i].end.flash_c;
  return values;
}

}  // namespace leanstream::run
