#include "engine/scheduler/command.h"

#include "engine/scheduler/completion.h"

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
    case CommandKind::cancel:
      return "cancel";
  }
  return "?";
}

const char* name_of(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::error:
      return "error";
    case Status::cancelled:
      return "cancelled";
    case Status::failed:
      return "failed";
    case Status::timed_out:
      return "timed out";
  }
  return "?";
}

}  // namespace leanstream::scheduler
