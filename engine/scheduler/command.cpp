#include "engine/scheduler/command.h"

namespace leanstream::scheduler {

const char* name_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::read:
      return "read";
    case CommandKind::attention:
      return "attention";
    case CommandKind::begin_layer:
      return "begin_layer";
    case CommandKind::release:
      return "release";
    case CommandKind::end_layer:
      return "end_layer";
    case CommandKind::head:
      return "head";
    case CommandKind::predict:
      return "predict";
  }
  return "?";
}

}  // namespace leanstream::scheduler
