// Scans of arrays in vector registers, compiled for several processors and chosen at run time.
// All give the same results.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/block_set.h"

namespace leanstream {

// In all of these 32-bit values and limits are below 2^31.
std::int32_t vector_count_above(std::span<const std::uint8_t> values, std::uint8_t limit);
std::int32_t vector_count_above(std::span<const std::uint32_t> values, std::uint32_t limit);

// Bit i of `above` is values[i] > cut, of `equal` values[i] == cut; bits beyond the values are
// cleared.
void vector_split(std::span<const std::uint8_t> values, std::uint8_t cut,
                  std::span<std::uint64_t> above, std::span<std::uint64_t> equal);
// Members of `equal` stay when their value is the cut; those with a higher one go to `above`.
void vector_split_further(std::span<const std::uint32_t> values, std::uint32_t cut,
                          std::span<std::uint64_t> above, std::span<std::uint64_t> equal);

// Writes the values whose bit is set to the front of `out`, which is as large as `values`; returns
// how many there are. The rest of `out` may be overwritten.
std::size_t vector_members(std::span<const std::uint32_t> values,
                           std::span<const std::uint64_t> words, std::span<std::uint32_t> out);

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

// Bit i of `out` is words[i] ≠ 0; bits beyond the words are cleared.
void vector_filled(std::span<const std::uint64_t> words, std::span<std::uint64_t> out);

// Σ values.
std::uint64_t vector_total(std::span<const std::uint32_t> values);
// Of the values whose bit of `words` is set.
std::uint64_t vector_total_of(std::span<const std::uint32_t> values,
                              std::span<const std::uint64_t> words);

// classes[i] = class_of(values[i]) (top_choice.h).
void vector_classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes);

}  // namespace leanstream
