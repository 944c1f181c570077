// Blocks of an image against the tensors they come from.
#include "engine/transformer/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/transformer/image_layout.h"
#include "tests/transformer/tiny_model.h"

namespace leanstream::transformer {
namespace {

using testing::HasSubstr;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

// Writes an image and gives its bytes, opened.
struct Packed {
  Packed(const model::FlashImageInfo& info, BlockSource& source)
      : image([&] {
          const auto path = write_temporary("packed.image", "");
          model::FlashImageWriter writer(path, info);
          write_blocks(source, writer, [](LayerId) {});
          return model::FlashImage(path);
        }()),
        bytes(read_file(image.path())),
        layout(image_layout(image)) {}

  std::span<const std::byte> block(LayerId layer, BlockId b) const {
    return std::as_bytes(std::span(bytes))
        .subspan(image.offset(layer, b), image.info().geometry.block_bytes);
  }

  // One neuron of a block as f32: gate row, up row, down column.
  std::vector<std::vector<float>> neuron(LayerId layer, BlockId b, std::int32_t i) const {
    const auto hidden = static_cast<std::size_t>(layout.hidden);
    std::vector<std::vector<float>> out(3, std::vector<float>(hidden));
    const auto row = [&](TensorType type, std::size_t at, std::int32_t weights,
                         std::span<float> to) {
      dequantise(type, block(layer, b).subspan(at, row_bytes(type, weights)), to);
    };
    row(layout.gate, layout.gate_offset(i), layout.hidden, out[0]);
    row(layout.up, layout.up_offset(i), layout.hidden, out[1]);
    if (!layout.down_in_groups) {
      row(layout.down, layout.down_offset(i), layout.hidden, out[2]);
      return out;
    }
    std::vector<float> group(static_cast<std::size_t>(layout.block_neurons));
    for (std::int32_t o = 0; o < layout.hidden; ++o) {
      row(layout.down, layout.down_group_offset(o), layout.block_neurons, group);
      out[2][static_cast<std::size_t>(o)] = group[static_cast<std::size_t>(i)];
    }
    return out;
  }

  model::FlashImage image;
  std::string bytes;
  BlockLayout layout;
};

model::FlashImageInfo info_of(const LlamaShape& shape, const BlockLayout& layout) {
  model::FlashImageInfo info;
  info.shape = {"tiny",      shape.layers,   shape.hidden, shape.ffn,
                shape.heads, shape.kv_heads, shape.vocab,  true};
  info.weights = stored_weights(layout);
  info.geometry = model::cut_into_blocks(shape.ffn, layout.block_neurons,
                                         static_cast<double>(layout.bytes()), 512);
  info.logical_block_bytes = 512;
  return info;
}

struct Case {
  TensorType type;
  StoreAs as;
  std::int32_t k;
  bool own_order;
};

// The tiny model of a type, packed; its neurons in reverse order unless in the model's own.
class PackedModel {
 public:
  explicit PackedModel(const Case& c)
      : file(write_temporary("pack.gguf", tiny_model({c.type}))),
        shape(read_shape(file)),
        types(mlp_types(file, shape, c.as)),
        layout(packed_layout(types, c.as, shape.hidden, c.k, c.own_order)),
        packed([&] {
          auto info = info_of(shape, layout);
          if (!c.own_order) {
            info.orders.resize(2, std::vector<std::int32_t>(static_cast<std::size_t>(shape.ffn)));
            for (auto& order : info.orders) std::iota(order.rbegin(), order.rend(), 0);
          }
          const auto source = gguf_blocks(file, shape, layout);
          return Packed(info, *source);
        }()) {}

  std::vector<std::vector<float>> truth(LayerId layer, std::int32_t j) const {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    std::vector<std::vector<float>> out(3, std::vector<float>(hidden));
    const auto tensor = [&](const char* part) -> const GgufTensor& {
      return file.tensor(fmt::format("blk.{}.{}.weight", layer, part));
    };
    file.read_row(tensor("ffn_gate"), j, out[0]);
    file.read_row(tensor("ffn_up"), j, out[1]);
    std::vector<float> row(static_cast<std::size_t>(shape.ffn));
    for (std::size_t o = 0; o < hidden; ++o) {
      file.read_row(tensor("ffn_down"), static_cast<std::int64_t>(o), row);
      out[2][o] = row[static_cast<std::size_t>(j)];
    }
    return out;
  }

  // use(the neuron as stored, as in the model) for every neuron.
  template <typename Use>
  void each(const Use& use) const {
    const auto& info = packed.image.info();
    std::vector<std::int32_t> scratch;
    for (LayerId l = 0; l < shape.layers; ++l) {
      for (BlockId b = 0; b < info.geometry.blocks_per_layer; ++b) {
        const auto neurons = info.neurons(l, b, scratch);
        for (std::size_t i = 0; i < neurons.size(); ++i) {
          use(packed.neuron(l, b, static_cast<std::int32_t>(i)), truth(l, neurons[i]));
        }
      }
    }
  }

  GgufFile file;
  LlamaShape shape;
  MlpTypes types;
  BlockLayout layout;
  Packed packed;
};

void expect_half_precision(const std::vector<float>& got, const std::vector<float>& wanted) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    // Half a unit in the last place: 2⁻¹¹ of the value, 2⁻²⁵ of the subnormal ones.
    ASSERT_LE(std::abs(got[i] - wanted[i]), std::max(std::abs(wanted[i]) * 0x1p-11F, 0x1p-25F));
  }
}

bool has_groups(TensorType type) {
  return find_tensor_type(static_cast<std::uint32_t>(type))->block_weights > 1;
}

TEST(Pack, AsIsKeepsEveryWeight) {
  for (const TensorType type : all_tensor_types()) {
    for (const std::int32_t k : {1, 5, 32, 64}) {
      for (const bool own_order : {true, false}) {
        const PackedModel model({type, StoreAs::as_is, k, own_order});
        SCOPED_TRACE(fmt::format("{} {} {}", model.packed.image.info().weights.gate, k, own_order));
        const bool kept = !has_groups(type) || (own_order && k % 32 == 0);
        EXPECT_EQ(model.layout.gate, type);
        EXPECT_EQ(model.layout.down, kept ? type : TensorType::kF32);
        EXPECT_EQ(model.layout.down_in_groups, has_groups(type) && kept);
        EXPECT_EQ(layout_note(model.types, model.layout, StoreAs::as_is).substr(0, 26),
                  kept ? "" : "down columns are stored as");
        model.each([&](const auto& got, const auto& wanted) {
          for (std::size_t m = 0; m < 3; ++m) EXPECT_EQ(got[m], wanted[m]);
        });
      }
    }
  }
}

TEST(Pack, F16IsWithinHalfAUnitOfEveryWeight) {
  for (const TensorType type : all_tensor_types()) {
    const PackedModel model({type, StoreAs::f16, 7, true});
    EXPECT_EQ(model.packed.image.info().weights.down, "F16");
    EXPECT_EQ(layout_note(model.types, model.layout, StoreAs::f16).empty(),
              type == TensorType::kF16);
    model.each([](const auto& got, const auto& wanted) {
      for (std::size_t m = 0; m < 3; ++m) expect_half_precision(got[m], wanted[m]);
    });
  }
}

// quantize_row_q8_0_ref of ggml-quants.c, then back.
std::vector<float> through_q8_0(const std::vector<float>& row) {
  std::vector<float> out;
  for (std::size_t g = 0; g < row.size(); g += 32) {
    float most = 0;
    for (std::size_t i = g; i < g + 32; ++i) most = std::fmax(most, std::fabs(row[i]));
    const float d = most / 127;
    const float id = d != 0 ? 1.0F / d : 0.0F;
    const float stored = half_to_float(float_to_half(d));
    for (std::size_t i = g; i < g + 32; ++i) out.push_back(std::round(row[i] * id) * stored);
  }
  return out;
}

TEST(Pack, Q8_0FollowsGgml) {
  for (const TensorType type : all_tensor_types()) {
    const PackedModel model({type, StoreAs::q8_0, 3, false});
    model.each([&](const auto& got, const auto& wanted) {
      for (const std::size_t m : {0, 1, 2}) {
        // Rows that have the type already are the model's own bytes.
        const bool copied = type == TensorType::kQ8_0 && m < 2;
        EXPECT_EQ(got[m], copied ? wanted[m] : through_q8_0(wanted[m]));
      }
    });
  }
}

TEST(Pack, UnusedPlacesAndPaddingAreZeros) {
  const PackedModel model({TensorType::kF16, StoreAs::as_is, 5, true});  // 96 = 19 · 5 + 1
  const auto last = model.packed.block(1, 19);
  const BlockLayout& layout = model.layout;
  const auto zero = [&](std::size_t from, std::size_t to) {
    return std::ranges::all_of(last.subspan(from, to - from),
                               [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_TRUE(zero(layout.gate_offset(1), layout.up_offset(0)));
  EXPECT_TRUE(zero(layout.up_offset(1), layout.down_offset(0)));
  EXPECT_TRUE(zero(layout.down_offset(1), last.size()));
  EXPECT_FALSE(zero(layout.down_offset(0), layout.down_offset(1)));
  EXPECT_EQ(last.size(), 2048u);  // 1920 bytes of weights
}

// Metadata of the tiny model and MLPs of zeros: those of layer 1 of another type, one weight
// changed.
std::string odd_model(TensorType down_of_layer_1, float weight) {
  GgufBuilder file = tiny_metadata();
  const auto add = [&](const std::string& name, std::uint64_t columns, std::uint64_t rows,
                       TensorType type) {
    std::vector<float> values(columns * rows);
    values[columns + 1] = weight;
    file.add_tensor(name, {columns, rows}, type, values);
  };
  add("token_embd.weight", 64, 263, TensorType::kF32);
  for (const int l : {0, 1}) {
    const std::string layer = "blk." + std::to_string(l) + ".";
    add(layer + "ffn_gate.weight", 64, 96, TensorType::kF32);
    add(layer + "ffn_up.weight", 64, 96, TensorType::kF32);
    add(layer + "ffn_down.weight", 96, 64, l == 0 ? TensorType::kF32 : down_of_layer_1);
  }
  return write_temporary("odd.gguf", file.bytes());
}

TEST(Pack, TypesThatDifferBetweenLayers) {
  const GgufFile file(odd_model(TensorType::kF16, 0));
  const auto shape = read_shape(file);
  EXPECT_THAT(refusal([&] { mlp_types(file, shape, StoreAs::as_is); }),
              HasSubstr("'blk.0.ffn_down.weight' is F32, 'blk.1.ffn_down.weight' is F16"));
  EXPECT_EQ(refusal([&] { mlp_types(file, shape, StoreAs::q8_0); }), "");
  auto other = shape;
  other.ffn = 64;
  EXPECT_THAT(refusal([&] { mlp_types(file, other, StoreAs::q8_0); }),
              HasSubstr("'blk.0.ffn_gate.weight' has 96 rows of 64, the metadata says 64 of 64"));
}

TEST(Pack, WeightsThatDoNotFitAreRefused) {
  const auto refused = [](float weight, StoreAs as) {
    const GgufFile file(odd_model(TensorType::kF32, weight));
    const auto shape = read_shape(file);
    const auto layout = packed_layout(mlp_types(file, shape, as), as, shape.hidden, 1, true);
    return refusal([&] {
      const auto source = gguf_blocks(file, shape, layout);
      Packed(info_of(shape, layout), *source);
    });
  };
  EXPECT_EQ(refused(65504, StoreAs::f16), "");
  EXPECT_THAT(refused(65520, StoreAs::f16), HasSubstr("ffn_down.weight' has a weight too large"));
  EXPECT_EQ(refused(65520, StoreAs::as_is), "");
  EXPECT_EQ(refused(65520, StoreAs::q8_0), "");
  EXPECT_THAT(refused(1e9F, StoreAs::q8_0), HasSubstr("a weight too large for Q8_0"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refused(nan, StoreAs::as_is), HasSubstr("row 1: a weight is no finite number"));
  EXPECT_THAT(refusal([] { packed_layout({}, StoreAs::q8_0, 48, 1, true); }),
              HasSubstr("rows of 48 weights cannot be stored as Q8_0"));
}

TEST(Pack, ImagesOfOtherTypesAreRefused) {
  const PackedModel model({TensorType::kF16, StoreAs::as_is, 4, true});
  const auto refused = [&](const std::function<void(model::FlashImageInfo&)>& change) {
    auto info = info_of(model.shape, model.layout);
    change(info);
    const auto source = random_blocks(model.layout, model.shape.ffn, 1);
    return refusal([&] { Packed(info, *source); });
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_THAT(refused([](auto& info) { info.weights.up = "Q5_K"; }),
              HasSubstr("weights of type 'Q5_K'; possible are F32"));
  EXPECT_THAT(refused([](auto& info) { info.weights.down = "Q8_0"; }),
              HasSubstr("F16 F16 Q8_0, cannot have 1536 bytes"));
  EXPECT_THAT(refused([](auto& info) {
                info.weights.down = "Q8_0";
                info.weights.down_in_groups = true;
              }),
              HasSubstr("F16 F16 Q8_0 in groups, cannot have 1536 bytes"));
}

TEST(Pack, RandomWeightsDependOnSeedLayerAndNeuronOnly) {
  for (const TensorType type : {TensorType::kF16, TensorType::kQ8_0}) {
    LlamaShape shape;
    shape.layers = 2;
    shape.hidden = 256;
    shape.ffn = 400;
    shape.heads = shape.kv_heads = shape.vocab = 1;
    const auto packed = [&](std::int32_t k, std::uint64_t seed) {
      const auto layout =
          packed_layout({type, type, type}, type == TensorType::kF16 ? StoreAs::f16 : StoreAs::q8_0,
                        shape.hidden, k, true);
      const auto source = random_blocks(layout, shape.ffn, seed);
      return Packed(info_of(shape, layout), *source);
    };
    const Packed one = packed(1, 7), seven = packed(7, 7), other = packed(1, 8);
    std::array<double, 3> squares{};
    for (std::int32_t j = 0; j < shape.ffn; ++j) {
      const auto neuron = one.neuron(1, j, 0);
      EXPECT_EQ(neuron, seven.neuron(1, j / 7, j % 7));
      EXPECT_NE(neuron, one.neuron(0, j, 0));
      EXPECT_NE(neuron, other.neuron(1, j, 0));
      EXPECT_NE(neuron[0], neuron[1]);
      for (std::size_t m = 0; m < 3; ++m) {
        for (const float w : neuron[m]) squares[m] += double{w} * double{w};
      }
    }
    const double weights = 400.0 * 256;
    EXPECT_NEAR(squares[0] / weights * 256, 1, 0.02);
    EXPECT_NEAR(squares[1] / weights * 256, 1, 0.02);
    EXPECT_NEAR(squares[2] / weights * 400, 1, 0.02);
  }
}

}  // namespace
}  // namespace leanstream::transformer
