#include "engine/model/model_file.h"

#include "engine/config/find_file.h"

namespace leanstream::model {
namespace {

// Limits keep every product of sizes within 64 bits.
constexpr double kMostLayers = 4096;
constexpr double kMostHidden = 1 << 20;
constexpr double kMostFfn = 1 << 24;

struct Text {
  std::string description;
  std::string reference;
};

const config::Table<Text>& text_table() {
  static const config::Table<Text> t{
      config::text("description", &Text::description, "the model in a sentence").required(),
      config::text("reference", &Text::reference, "where the shape is published").required()};
  return t;
}

void check_heads(const ModelShape& shape, const config::Node& root,
                 config::Diagnostics& diagnostics) {
  if (shape.heads > 0 && shape.hidden % shape.heads != 0) {
    diagnostics.error(root["heads"].position(), "'heads' is {}; it must divide 'hidden', {}",
                      shape.heads, shape.hidden);
  }
  if (shape.kv_heads > 0 && shape.heads % shape.kv_heads != 0) {
    diagnostics.error(root["kv_heads"].position(), "'kv_heads' is {}; it must divide 'heads', {}",
                      shape.kv_heads, shape.heads);
  }
}

}  // namespace

const config::Table<ModelShape>& table() {
  using config::integer;
  static const config::Table<ModelShape> t{
      integer("layers", &ModelShape::layers, "decoder layers").range(1, kMostLayers).required(),
      integer("hidden", &ModelShape::hidden, "width of the residual stream")
          .range(1, kMostHidden)
          .required(),
      integer("ffn", &ModelShape::ffn, "neurons of one MLP").range(1, kMostFfn).required(),
      integer("heads", &ModelShape::heads, "attention heads; divides hidden")
          .range(1, kMostHidden)
          .required(),
      integer("kv_heads", &ModelShape::kv_heads, "heads of keys and values; divides heads")
          .range(1, kMostHidden)
          .required(),
      integer("vocab", &ModelShape::vocab, "tokens of the vocabulary")
          .range(1, kMostFfn)
          .required(),
      config::flag("tied_embeddings", &ModelShape::tied_embeddings,
                   "the head reuses the embedding table"),
      config::number("bytes_per_weight", &ModelShape::bytes_per_weight, "2 in f16; 0.625 in Q4_1")
          .range(0.125, 8)};
  return t;
}

LoadedModel read_model(const config::Document& document, config::Diagnostics& diagnostics) {
  LoadedModel loaded{{}, {}, {}, document.path, document.hash};
  if (!config::check_kind(document, "model", diagnostics)) return loaded;
  const auto errors_before = diagnostics.count();
  const config::Node& root = document.root;
  loaded.shape = table().read(root, diagnostics, {"kind", "description", "reference"});
  const Text text = text_table().read(root.only(text_table().names()), diagnostics);
  loaded.description = text.description;
  loaded.reference = text.reference;
  loaded.shape.name = config::name_of(document.path);
  if (diagnostics.count() == errors_before) check_heads(loaded.shape, root, diagnostics);
  return loaded;
}

LoadedModel load_model(const std::string& name_or_path) {
  config::Diagnostics diagnostics;
  const auto path = config::find_file(config::FileKind::model, name_or_path);
  const auto document = config::load_document(path, diagnostics);
  auto loaded = read_model(document, diagnostics);
  diagnostics.throw_if_any();
  return loaded;
}

}  // namespace leanstream::model
