#include "experiments/run/hardware.h"

namespace leanstream::run {

const config::Table<backend::HardwareSpec>& hardware_table() {
  using H = backend::HardwareSpec;
  static const config::Table<H> table{
      config::text("image", &H::image,
                   "flash image of the MLPs ('leanstream pack'); {block_neurons}, or another "
                   "parameter, stands for the cell's value"),
      config::text("weights", &H::weights,
                   "GGUF file of what stays in memory; by default random weights of the shape"),
      config::text("storage", &H::storage, "auto, io_uring, libaio or pread"),
      config::text("accelerator", &H::accelerator, "what computes: cpu"),
      config::integer("threads", &H::threads, "of the accelerator").range(1, 1024),
      config::choice("processors", &H::processors,
                     {{"auto", backend::KeepApart::automatic}, {"any", backend::KeepApart::any}},
                     "where the disk interrupts one processor, keep the accelerator off it, or let "
                     "threads run anywhere"),
      config::flag("check_on_read", &H::check_on_read,
                   "compare every block that is read with its checksum")};
  return table;
}

}  // namespace leanstream::run
