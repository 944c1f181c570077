// The checked tensors of a trace file. Used by Trace; nothing else needs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/safetensors.h"
#include "traces/format.h"

namespace leanstream::traces {

// Small tensors are copied (a mapped file may be misaligned), large ones point into the file.
struct Contents {
  TraceInfo info;
  std::vector<float> levels;                 // [layers, 256]
  std::vector<std::int32_t> token_ids;       // [tokens]
  std::vector<float> nll;                    // [tokens]
  std::vector<float> recall;                 // [layers, 11] or empty
  std::span<const std::uint8_t> importance;  // [tokens, layers, ffn]
  std::span<const std::uint16_t> features;   // [tokens, layers, 11, hidden] or empty
};

// Reads and checks all but the values of `features`; appends one line for each problem, without
// the file's name. What had a problem is empty in the result.
Contents load(const model::SafetensorsReader& reader, std::vector<std::string>& problems);

// Appends a problem when a feature is infinite or no number: reads the whole tensor.
void check_features(const Contents& contents, std::vector<std::string>& problems);

}  // namespace leanstream::traces
