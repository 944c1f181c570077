// Orders of neurons that come from a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/types.h"

namespace leanstream::model {

// Throws UserError unless each of 0 … size − 1 occurs once. `path` is the file, for the message.
void check_permutation(const std::string& path, LayerId layer, std::span<const std::int32_t> order);

}  // namespace leanstream::model
