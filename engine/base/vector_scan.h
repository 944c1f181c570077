// Scans of arrays in vector registers, compiled for several processors and chosen at run time.
// All give the same results.
#pragma once

#include <cstdint>
#include <span>

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
