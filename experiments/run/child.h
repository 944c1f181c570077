// A function in a process of its own: a simulated run leaves state behind that the next must not
// see, and a run that crashes must not take the others with it.
#pragma once

#include <functional>
#include <string>

namespace leanstream::run {

struct ChildOutcome {
  bool ended = false;  // the function returned
  int status = 0;      // exit status, or 128 + signal, when it did not
  std::string text;    // what it returned
};

// Forks, calls `work` in the child, and returns its text. An exception in the child is a status
// (2 for UserError, its message as text; 70 else).
ChildOutcome in_child(const std::function<std::string()>& work);

}  // namespace leanstream::run
