// Scans of arrays in vector registers, compiled for several processors and chosen at run time.
// All give the same results.
#pragma once

#include <cstdint>
#include <span>

namespace leanstream {

std::int32_t vector_count_above_bytes(std::span<const std::uint8_t> values, std::uint8_t limit);
// values, limit < 2^31.
std::int32_t vector_count_above_words(std::span<const std::uint32_t> values, std::uint32_t limit);

// Bit i of `words` is values[i] > limit; bits beyond the values are cleared.
void vector_bits_above(std::span<const std::uint8_t> values, std::uint8_t limit,
                       std::span<std::uint64_t> words);

// out = a without b; whether anything is left. All three have the same size.
bool vector_difference(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                       std::span<std::uint64_t> out);

// Σ values.
std::uint64_t vector_total(std::span<const std::uint32_t> values);

// classes[i] = class_of(values[i]) (top_choice.h).
void vector_classes(std::span<const std::uint32_t> values, std::span<std::uint8_t> classes);

}  // namespace leanstream
