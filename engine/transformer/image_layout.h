// What the names in a flash image's header mean.
#pragma once

#include "engine/model/flash_image.h"
#include "engine/transformer/block_layout.h"

namespace leanstream::transformer {

// The layout of an image's blocks. Throws UserError when a type is unknown or the bytes of a block
// are not those of the layout.
BlockLayout image_layout(const model::FlashImage& image);

// The names of a layout's types, for a header.
model::StoredWeights stored_weights(const BlockLayout& layout);

}  // namespace leanstream::transformer
