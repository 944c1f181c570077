// What the header of a trace file says: traces/README.md documents the file to the byte.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::traces {

using Metadata = std::map<std::string, std::string>;

inline constexpr std::string_view kFormatName = "leanstream-trace";
inline constexpr int kFormatVersion = 1;

// Feature indices (engine/README.md, "Predictors"), relative to the layer that is predicted: −2
// … 8.
inline constexpr int kFirstFeature = -2;
inline constexpr int kLastFeature = 8;
inline constexpr int kFeatures = kLastFeature - kFirstFeature + 1;

// Where a feature index lies in the third dimension of `features` and the second of `recall`.
constexpr int feature_slot(int feature) {
  return feature - kFirstFeature;
}

enum class TraceKind {
  kRecorded,   // a real model read a real text
  kSynthetic,  // a generator; never to be mistaken for a measurement
};
std::string_view to_string(TraceKind kind);

// The model whose neurons a trace describes.
struct ModelIdentity {
  std::string name;         // as in a table: "SmolLM2-135M-Instruct"
  LayerId layers = 0;       // L ≥ 1
  std::int32_t hidden = 0;  // d ≥ 1
  std::int32_t ffn = 0;     // F ≥ 1
  std::string hash;         // leanstream::hash_file of the weights; "" when there are none

  friend bool operator==(const ModelIdentity&, const ModelIdentity&) = default;
};

struct TraceInfo {
  ModelIdentity model;
  TraceKind kind = TraceKind::kRecorded;
  std::string source;             // the text: file, passage, licence; or the generator and its seed
  double upstream_density = 1.0;  // 0 < ρ ≤ 1 at which the layers below computed while recording
  double recall_density = 0.0;    // 0 < ρ ≤ 1 at which `recall` was measured; 0 without `recall`
  double error_persistence = 0;   // of predictions' errors from token to token, 0 ≤ r < 1
  Metadata knobs;                 // synthetic only: what the generator was asked for, by name
  std::string tool;               // program and version that wrote the file
  std::string command;            // the command line that repeats it

  friend bool operator==(const TraceInfo&, const TraceInfo&) = default;
};

// The strings of the safetensors entry `__metadata__`, format name, version and units included.
Metadata to_metadata(const TraceInfo& info);

// The reverse. Appends one line for each key that is missing or wrong and leaves that field at its
// default; unknown keys are ignored (newer tools may add some).
TraceInfo from_metadata(const Metadata& metadata, std::vector<std::string>& problems);

}  // namespace leanstream::traces
