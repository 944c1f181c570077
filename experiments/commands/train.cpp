// leanstream train: what is learned before a run. Each thing that can be learned adds itself.
#include "experiments/commands/commands.h"

namespace leanstream::commands {

void add_train(CLI::App& app) {
  auto* train = app.add_subcommand("train", "learns what runs then use; writes one small file");
  train->require_subcommand(1);
  add_train_placement(*train);
}

}  // namespace leanstream::commands
