#include "engine/model/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/find_file.h"

namespace leanstream::model {
namespace {

std::string errors(std::string_view text) {
  config::Diagnostics diagnostics;
  read_model(config::parse_document(text, "m.yaml", diagnostics), diagnostics);
  return diagnostics.text();
}

TEST(ModelFile, ShippedFilesLoad) {
  const auto names = config::file_names(config::FileKind::model);
  EXPECT_THAT(names, testing::IsSupersetOf({"mistral-7b", "smollm2-135m"}));
  for (const auto& name : names) EXPECT_EQ(load_model(name).shape.name, name);
}

TEST(ModelFile, SizesOfTheModels) {
  const auto mistral = load_model("mistral-7b").shape;
  EXPECT_EQ(mistral.bundle_bytes(), 24 * 1024);
  EXPECT_NEAR(mistral.layer_mlp_bytes(), 352.3e6, 0.1e6);
  EXPECT_NEAR(mistral.mlp_bytes(), 11.27e9, 0.01e9);
  EXPECT_EQ(mistral.kv_bytes_per_token(), 128 * 1024);
  EXPECT_FALSE(mistral.tied_embeddings);
  const auto small = load_model("smollm2-135m");
  EXPECT_EQ(small.shape.layers, 30);
  EXPECT_EQ(small.shape.ffn, 1536);
  EXPECT_TRUE(small.shape.tied_embeddings);
  EXPECT_NE(small.reference, "");
  EXPECT_EQ(load_model("qwen2.5-7b").shape.bundle_bytes(), 21 * 1024);
}

TEST(ModelFile, ReportsAllErrors) {
  EXPECT_EQ(errors("kind: model\n"
                   "description: a model\n"
                   "layer: 2\n"
                   "hidden: 0\n"
                   "ffn: 64\n"
                   "heads: 4\n"
                   "kv_heads: two\n"
                   "vocab: 100\n"),
            "m.yaml:1:1: error: 'layers' is missing: a whole number, decoder layers\n"
            "m.yaml:1:1: error: 'reference' is missing: a text, where the shape is published\n"
            "m.yaml:3:1: error: unknown parameter 'layer'; valid: layers, hidden, ffn, heads, "
            "kv_heads, vocab, tied_embeddings, bytes_per_weight; did you mean 'layers'?\n"
            "m.yaml:4:9: error: 'hidden' is 0; it must be 1 … 1048576\n"
            "m.yaml:7:11: error: 'kv_heads' must be a whole number, not 'two'");
  EXPECT_EQ(errors("{kind: model, description: d, reference: r, layers: 1, hidden: 10, ffn: 4, "
                   "heads: 4, kv_heads: 3, vocab: 9}"),
            "m.yaml:1:83: error: 'heads' is 4; it must divide 'hidden', 10\n"
            "m.yaml:1:96: error: 'kv_heads' is 3; it must divide 'heads', 4");
}

}  // namespace
}  // namespace leanstream::model
