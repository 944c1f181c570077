#include "engine/platform/power_table.h"

namespace leanstream::platform {
namespace {

using config::Dimension;
using config::Parameter;
using config::quantity;
using config::ratio;
using config::section;
using config::Table;

template <typename T>
Parameter<T> watts(std::string name, double T::*member, std::string help) {
  return quantity(std::move(name), member, Dimension::power, std::move(help))
      .range(0, 1e5)
      .required();
}

template <typename T>
Parameter<T> joules_per_byte(double T::*member, std::string help) {
  return quantity("byte", member, Dimension::energy_per_byte, std::move(help))
      .range(0, 1e-3)
      .required();
}

const Table<AcceleratorPower>& accelerator_power_table() {
  using P = AcceleratorPower;
  static const Table<P> t{
      watts("idle", &P::idle_w, "doing nothing"), watts("active", &P::active_w, "at work"),
      watts("polling", &P::polling_w, "a kernel waits in it for blocks, released by flags")};
  return t;
}

const Table<CpuPower>& cpu_power_table() {
  using P = CpuPower;
  static const Table<P> t{
      watts("idle", &P::idle_w, "all cores asleep"),
      watts("core", &P::core_w, "more for each core at work, predicting or spinning")};
  return t;
}

const Table<FlashPower>& flash_power_table() {
  using P = FlashPower;
  static const Table<P> t{watts("idle", &P::idle_w, "no read in flight"),
                          watts("active", &P::active_w, "a read in flight, before its bytes"),
                          joules_per_byte(&P::j_per_byte, "more for each byte read")};
  return t;
}

const Table<MemoryPower>& memory_power_table() {
  using P = MemoryPower;
  static const Table<P> t{watts("idle", &P::idle_w, "refresh and standby"),
                          joules_per_byte(&P::j_per_byte, "more for each byte on the bus")};
  return t;
}

const Table<ThermalUnit>& unit_table() {
  using U = ThermalUnit;
  static const Table<U> t{
      quantity("resistance", &U::resistance_k_per_w, Dimension::thermal_resistance,
               "to the ambient, for the unit's own power")
          .range(1e-3, 1e4)
          .required(),
      quantity("capacity", &U::capacity_j_per_k, Dimension::heat_capacity, "of the unit")
          .range(1e-3, 1e6)
          .required(),
      quantity("limit", &U::limit_c, Dimension::temperature,
               "its frequency is lowered from there on")
          .range(-50, 1e3)
          .required(),
      config::number("hysteresis", &U::hysteresis_k,
                     "its frequency is raised again where it is so many degrees below")
          .range(0, 500)
          .required(),
      ratio("throttled_rate", &U::throttled_rate,
            "of its speed that is left at the lowest frequency")
          .range(0.01, 1)
          .required(),
      ratio("throttled_power", &U::throttled_power,
            "of what activity adds to its power that is left at the lowest frequency")
          .required(),
      config::integer("steps", &U::steps,
                      "from the highest frequency to the lowest, in equal parts of speed and power")
          .range(1, 1000)};
  return t;
}

}  // namespace

const Table<Energy>& energy_table() {
  static const Table<Energy> t{
      watts("board", &Energy::board_w, "all the time, of what belongs to no unit"),
      section("accelerator", &Energy::accelerator, accelerator_power_table(), "the GPU"),
      section("cpu", &Energy::cpu, cpu_power_table(), "the processor"),
      section("flash", &Energy::flash, flash_power_table(), "the storage"),
      section("memory", &Energy::memory, memory_power_table(), "DRAM and its interface")};
  return t;
}

const Table<Thermal>& thermal_table() {
  static const Table<Thermal> t{
      quantity("ambient", &Thermal::ambient_c, Dimension::temperature, "of the air around")
          .range(-50, 100)
          .required(),
      quantity("period", &Thermal::period_ns, Dimension::time,
               "between two looks at the temperatures; each lowers or raises a frequency by a step")
          .range(0, 1e12),
      section("accelerator", &Thermal::accelerator, unit_table(), "the GPU"),
      section("cpu", &Thermal::cpu, unit_table(), "the processor"),
      section("flash", &Thermal::flash, unit_table(), "the storage")};
  return t;
}

}  // namespace leanstream::platform
