#include "engine/hardware/run_check.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/hardware/accelerator/registry.h"
#include "engine/hardware/storage/storage.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/model.h"

namespace leanstream::hardware {
namespace {

void check_image(const model::FlashImage& image, const backend::WorldSpec& spec) {
  const auto& a = image.info().shape;
  const auto& b = spec.shape;
  if (a.layers != b.layers || a.hidden != b.hidden || a.ffn != b.ffn) {
    throw UserError("{}: the image is of {} ({} layers, hidden {}, ffn {}), not of {} ({}, {}, {})",
                    image.path(), a.name, a.layers, a.hidden, a.ffn, b.name, b.layers, b.hidden,
                    b.ffn);
  }
  const auto& g = image.info().geometry;
  if (g.block_neurons != spec.geometry.block_neurons) {
    throw UserError("{}: its blocks have {} neurons, those of the run {} (block_neurons)",
                    image.path(), g.block_neurons, spec.geometry.block_neurons);
  }
  if (g.block_bytes != spec.geometry.block_bytes) {
    throw UserError(
        "{}: its blocks have {} bytes ({} of weights in units of {}), those of the run {}: state "
        "bytes_per_weight: {}, and a platform with flash: {{logical_block: {} B}}",
        image.path(), g.block_bytes, g.useful_block_bytes, image.info().logical_block_bytes,
        spec.geometry.block_bytes,
        std::floor(image.info().shape.bytes_per_weight * 1e6) / 1e6,  // never more than there is
        image.info().logical_block_bytes);
  }
  for (LayerId l = 0; l < b.layers; ++l) {
    const auto order =
        spec.placement == nullptr ? std::span<const std::int32_t>{} : spec.placement->order(l);
    const auto on_flash = image.info().order(l);
    if (!std::equal(order.begin(), order.end(), on_flash.begin(), on_flash.end())) {
      const auto named = [](const std::string& name, const std::string& source) {
        return source.empty() ? name : fmt::format("{} ({})", name, source);
      };
      throw UserError(
          "{}: its neurons lie by placement {}, those of the run by {}: state the image's as "
          "`placement`, or pack one by the run's",
          image.path(), named(image.info().placement, image.info().placement_source),
          named("another", spec.placement == nullptr ? "" : spec.placement->source()));
    }
  }
}

// What a live run computes must be one model: the image was packed from its weights.
void check_source(const model::FlashImage& image, const backend::WorldSpec& spec) {
  const std::string& weights = spec.hardware->weights;
  const auto& info = image.info();
  if (spec.observer == nullptr || hash_file(weights) == info.source_hash) return;
  throw UserError("{}: packed from {} ({}), not from {}", image.path(), info.source,
                  info.source_hash.empty() ? "no model" : info.source_hash, weights);
}

void check_weights(const std::string& path, const transformer::LlamaShape& shape,
                   const backend::WorldSpec& spec) {
  if (shape.layers != spec.shape.layers || shape.hidden != spec.shape.hidden ||
      shape.ffn != spec.shape.ffn) {
    throw UserError("{}: {} layers, hidden {}, ffn {}; the run is of {} ({}, {}, {})", path,
                    shape.layers, shape.hidden, shape.ffn, spec.shape.name, spec.shape.layers,
                    spec.shape.hidden, spec.shape.ffn);
  }
  if (spec.tokens > shape.context) {
    throw UserError("{}: made for {} tokens, not {}", path, shape.context, spec.tokens);
  }
}

void check_tokens(std::span<const std::int32_t> ids, std::int64_t vocab) {
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= vocab) {
      throw UserError("token id {} is none of the model's {}; the trace is of another model", id,
                      vocab);
    }
  }
}

}  // namespace

model::FlashImage checked_image(const backend::WorldSpec& spec) {
  if (spec.hardware == nullptr || spec.hardware->image.empty()) {
    throw UserError(
        "--backend=hardware reads a flash image: make one with 'leanstream pack' and name it in "
        "the experiment (hardware: {image: FILE})");
  }
  model::FlashImage image(spec.hardware->image);
  check_image(image, spec);
  return image;
}

transformer::Decoder make_decoder(const backend::WorldSpec& spec) {
  const std::string& weights = spec.hardware->weights;
  transformer::Decoder decoder;
  if (weights.empty()) {
    decoder = transformer::random_decoder(transformer::llama_shape(spec.shape, spec.tokens),
                                          transformer::TensorType::kQ8_0, spec.seed);
  } else {
    const transformer::GgufFile file(weights);  // closed when the parts are copied
    check_weights(weights, transformer::read_shape(file), spec);
    decoder = transformer::read_decoder(file);
  }
  check_tokens(spec.token_ids, decoder.shape.vocab);
  return decoder;
}

void check_alignment(const model::FlashImage& image, Bytes alignment_bytes) {
  if (image.info().geometry.block_bytes % alignment_bytes == 0) return;
  throw UserError(
      "{}: blocks of {} bytes on a device that reads in units of {}; pack it with "
      "--logical-block {}",
      image.path(), image.info().geometry.block_bytes, alignment_bytes, alignment_bytes);
}

void check_run(const backend::WorldSpec& spec) {
  const model::FlashImage image = checked_image(spec);
  const backend::HardwareSpec& hardware = *spec.hardware;
  check_accelerator(hardware.accelerator);
  // Opened and closed again: only so is it known whether the machine lets this be done.
  const auto storage = open_storage({.path = image.path(),
                                     .engine = hardware.storage,
                                     .lanes = spec.io_lanes,
                                     .depth = spec.queue_depth});
  check_alignment(image, storage->alignment_bytes());
  if (hardware.weights.empty()) return check_tokens(spec.token_ids, spec.shape.vocab);
  const transformer::GgufFile file(hardware.weights);
  const transformer::LlamaShape shape = transformer::read_shape(file);
  check_weights(hardware.weights, shape, spec);
  check_tokens(spec.token_ids, shape.vocab);
  check_source(image, spec);
}

}  // namespace leanstream::hardware
