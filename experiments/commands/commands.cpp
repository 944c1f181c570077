#include "experiments/commands/commands.h"

namespace leanstream::commands {

std::string& command_line() {
  static std::string text;
  return text;
}

}  // namespace leanstream::commands
