// The word that a user probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace leanstream {

// The candidate with the smallest edit distance to `word`, or "" when none is near (more than
// a third of its letters differ). Of equals the first.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'X'?" or "", for the end of a message.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace leanstream
