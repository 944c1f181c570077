// Runs something once for each instruction set of this machine that vector code was compiled for.
#pragma once

#include <hwy/targets.h>

namespace leanstream::transformer {

template <typename Use>
void for_each_instruction_set(const Use& use) {
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    hwy::GetChosenTarget().Update(target);
    use(hwy::TargetName(target));
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace leanstream::transformer
