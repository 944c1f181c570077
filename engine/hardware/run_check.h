// Whether what an experiment names fits together: image, resident weights, devices, model.
#pragma once

#include "engine/backend/world.h"
#include "engine/model/flash_image.h"
#include "engine/transformer/decoder.h"

namespace leanstream::hardware {

// The run's image: of its model, its blocks and its placement. Throws UserError: none is named, it
// cannot be read, what differs and what would be right.
model::FlashImage checked_image(const backend::WorldSpec& spec);

// What stays in memory: of the model file that the run names, closed again, or random weights of
// its shape. Throws UserError: it cannot be read, or is of another model.
transformer::Decoder make_decoder(const backend::WorldSpec& spec);

// All that can be said before the run: the above and that this build and machine have the devices.
// Throws UserError.
void check_run(const backend::WorldSpec& spec);

// Throws UserError when blocks of the image are no multiple of what the device reads at least.
void check_alignment(const model::FlashImage& image, Bytes alignment_bytes);

}  // namespace leanstream::hardware
