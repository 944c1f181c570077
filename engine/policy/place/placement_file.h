// A learned placement as a file: a safetensors file with one tensor, `order` i32 [layers, ffn], and
// metadata that say of which model it is and how it came about. engine/policy/README.md has it to
// the byte.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/types.h"

namespace leanstream::policy {

struct LearnedPlacement {
  std::string model;       // name
  std::string model_hash;  // XXH3-128 of its weights; empty when the traces do not say
  LayerId layers = 0;
  std::int32_t ffn = 0;
  std::string policy;                             // by which it was learned
  std::map<std::string, std::string> parameters;  // of the policy
  double density = 0;                             // at which neurons counted as used
  std::int32_t block_neurons = 0;                 // that it was made for; 0: for any
  TokenId tokens = 0;                             // learned from
  std::uint64_t seed = 0;
  std::string traces;  // names and hashes of the files
  std::string tool, command;
  // orders[l][p] is the neuron at flash position p, a permutation of 0 … ffn − 1.
  std::vector<std::vector<std::int32_t>> orders;
};

// Throws UserError: not writable.
void write_placement(const std::string& path, const LearnedPlacement& placement);

// Throws UserError with what is wrong and where: no such file, another format or version, missing
// or bad metadata, an order that is no permutation.
LearnedPlacement read_placement(const std::string& path);

}  // namespace leanstream::policy
