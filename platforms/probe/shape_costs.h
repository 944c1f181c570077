// What the rig's commands read and compute.
#pragma once

#include "platforms/probe/plan.h"

namespace leanstream::probe {

// Bytes of weights, and operations of `tokens` tokens, of the rig's commands; n neurons of a layer.
double attention_bytes(const Shape& shape);
double head_bytes(const Shape& shape);
// Rows of the weights of an attention.
double attention_rows(const Shape& shape);
double mlp_bytes(const Shape& shape, double neurons);
double attention_operations(const Shape& shape, std::int32_t tokens);
double mlp_operations(const Shape& shape, double neurons, std::int32_t tokens);
// Blocks of a share of a layer, and their neurons; blocks divide the layers of a plan.
double blocks_of(const Shape& shape, double share);
double neurons_of(const Shape& shape, double share);

}  // namespace leanstream::probe
