// Operations on sets, words of 64 members, in vector registers, compiled for several processors and
// chosen at run time. All give the same results.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/block_set.h"

namespace leanstream {

// out = a without b, c and d; whether anything is left. All have the same size.
bool vector_without(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                    std::span<const std::uint64_t> c, std::span<const std::uint64_t> d,
                    std::span<std::uint64_t> out);

// out = a ∩ b, whose size is returned. All have the same number of words.
std::int32_t vector_common(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                           std::span<std::uint64_t> out);
// missing = asked without there, whose size is returned; others = there without asked.
std::int32_t vector_look_up(std::span<const std::uint64_t> asked,
                            std::span<const std::uint64_t> there, std::span<std::uint64_t> missing,
                            std::span<std::uint64_t> others);
// set −= gone; whether anything is left.
bool vector_remove(std::span<std::uint64_t> set, std::span<const std::uint64_t> gone);

// Sets as columns of numbers: bit p of a member's number is its membership in planes[p], at most
// 32. All sets have the same size.
// out = the members of `from` with that number; whether there are any.
bool vector_numbered(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                     std::uint32_t number, std::span<std::uint64_t> out);
// out = the members of `from`, which has some, with the lowest number, which is returned.
std::uint32_t vector_lowest(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                            std::span<std::uint64_t> out, std::span<std::uint64_t> scratch);

// out = the members of `from` with a lower number than `limit`; how many there are.
std::int32_t vector_below(std::span<const std::uint64_t> from, std::span<const BlockSet> planes,
                          std::uint32_t limit, std::span<std::uint64_t> out);

}  // namespace leanstream
