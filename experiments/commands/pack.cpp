// leanstream pack: a flash image of a model's MLP weights, from a GGUF file or with random weights
// of a shape; or whether an image is sound.
#include "engine/transformer/pack.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/config/document.h"
#include "engine/model/flash_image.h"
#include "engine/model/model_file.h"
#include "engine/policy/place/placement.h"
#include "engine/transformer/image_layout.h"
#include "experiments/commands/commands.h"
#include "experiments/commands/list_table.h"
#include "experiments/report/text.h"
#include "experiments/run/progress.h"
#include "experiments/run/version.h"
#include "traces/trace.h"

namespace leanstream::commands {
namespace {

namespace tf = leanstream::transformer;
using Json = nlohmann::ordered_json;

constexpr std::int32_t kMostBlockNeurons = 64;  // as in an experiment

struct PackOptions {
  std::string gguf, shape, out, weights, name, trace, verify;
  std::string placement = "identity";
  std::int32_t layers = 0;  // 0: all
  std::int32_t block_neurons = 1;
  TokenId prompt_tokens = 0;  // 0: the whole trace
  double density = 0.2;
  Bytes logical_block_bytes = 4096;
  std::uint64_t seed = 1;
  bool json = false;
};

void check(const PackOptions& o) {
  if (int{!o.gguf.empty()} + int{!o.shape.empty()} + int{!o.verify.empty()} != 1) {
    throw UserError("pack needs exactly one of MODEL.gguf, --shape NAME, --verify IMAGE");
  }
  if (!o.verify.empty()) return;
  if (o.out.empty()) throw UserError("pack needs --out FILE");
  if (!o.gguf.empty() && o.layers > 0) throw UserError("--layers needs --shape");
  if (!o.shape.empty() && o.weights == "as_is") {
    throw UserError("--weights as_is needs a MODEL.gguf; random weights are f16 or q8_0");
  }
  if (!std::has_single_bit(o.logical_block_bytes)) {
    throw UserError("--logical-block {}: it must be a power of two", o.logical_block_bytes);
  }
  if (!(o.density > 0 && o.density <= 1)) {
    throw UserError("--density {}: it must be above 0 and at most 1", o.density);
  }
}

// What is packed: the model, how its weights are stored, and where they come from.
struct Job {
  std::unique_ptr<tf::GgufFile> file;  // none for random weights
  tf::LlamaShape gguf_shape;
  tf::MlpTypes types;
  tf::StoreAs as = tf::StoreAs::f16;
  model::FlashImageInfo info;

  tf::BlockLayout layout(std::int32_t block_neurons) const {
    return tf::packed_layout(types, as, info.shape.hidden, block_neurons, info.orders.empty());
  }
  model::BlockGeometry geometry(std::int32_t block_neurons) const {
    return model::cut_into_blocks(info.shape.ffn, block_neurons,
                                  static_cast<double>(layout(block_neurons).bytes()),
                                  info.logical_block_bytes);
  }
};

tf::StoreAs store_as(const PackOptions& o) {
  if (o.weights == "q8_0") return tf::StoreAs::q8_0;
  const bool as_is = o.weights == "as_is" || (o.weights.empty() && o.shape.empty());
  return as_is ? tf::StoreAs::as_is : tf::StoreAs::f16;
}

void read_gguf(const PackOptions& o, Job& job) {
  job.file = std::make_unique<tf::GgufFile>(o.gguf);
  job.gguf_shape = tf::read_shape(*job.file);
  job.types = tf::mlp_types(*job.file, job.gguf_shape, job.as);
  const auto& s = job.gguf_shape;
  const std::filesystem::path path(o.gguf);
  job.info.shape = {path.stem().string(),
                    s.layers,
                    s.hidden,
                    s.ffn,
                    s.heads,
                    s.kv_heads,
                    s.vocab,
                    job.file->find("output.weight") == nullptr};
  job.info.source = path.filename().string();
  job.info.source_hash = hash_file(o.gguf);
}

// The order of a placement that was fitted on all layers of the model.
void place(const PackOptions& o, std::int32_t model_layers, model::FlashImageInfo& info) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(o.placement, "--placement", diagnostics);
  diagnostics.throw_if_any();
  const auto choice = policy::Registry<policy::Placement>::instance().choose(
      document.root ? document.root : config::Node{}, diagnostics);
  diagnostics.throw_if_any();
  info.placement = choice.name;
  std::optional<traces::Trace> trace;
  policy::Placement::Context context{nullptr,          0, o.density, model_layers, info.shape.ffn,
                                     info.source_hash, {}};
  if (!o.trace.empty()) {
    trace.emplace(o.trace);
    if (trace->layers() != model_layers || trace->ffn() != info.shape.ffn) {
      throw UserError("{}: a trace of {} layers of {} neurons; the model has {} of {}", o.trace,
                      trace->layers(), trace->ffn(), model_layers, info.shape.ffn);
    }
    context.activations = &*trace;
    context.prompt_tokens = o.prompt_tokens > 0 ? o.prompt_tokens : trace->tokens();
  } else if (policy::fitted_in_run(choice.name)) {
    throw UserError("--placement {} needs --trace FILE", choice.name);
  }
  const auto placement = choice.make(context);
  for (LayerId l = 0; l < info.shape.layers; ++l) {
    const auto order = placement->order(l);
    if (!order.empty()) info.orders.emplace_back(order.begin(), order.end());
  }
  if (info.orders.empty()) return;
  info.placement_source = placement->source();
  if (!info.placement_source.empty()) return;
  info.placement_source = fmt::format("{} on {}, {} tokens, density {}", choice.resolved.dump(),
                                      std::filesystem::path(o.trace).filename().string(),
                                      context.prompt_tokens, o.density);
}

Job prepare(const PackOptions& o) {
  Job job;
  job.as = store_as(o);
  model::FlashImageInfo& info = job.info;
  if (!o.gguf.empty()) {
    read_gguf(o, job);
  } else {
    info.shape = model::load_model(o.shape).shape;
    info.source = "random weights";
    info.seed = o.seed;
  }
  const std::int32_t model_layers = info.shape.layers;
  if (o.layers > model_layers) {
    throw UserError("--layers {}: {} has {}", o.layers, info.shape.name, model_layers);
  }
  if (o.layers > 0) info.shape.layers = o.layers;
  if (!o.name.empty()) info.shape.name = o.name;
  if (o.block_neurons > info.shape.ffn) {
    throw UserError("--block-neurons {}: a layer has {} neurons", o.block_neurons, info.shape.ffn);
  }
  info.logical_block_bytes = o.logical_block_bytes;
  place(o, model_layers, info);
  const tf::BlockLayout layout = job.layout(o.block_neurons);
  if (o.gguf.empty()) job.types = {layout.gate, layout.up, layout.down};
  info.weights = tf::stored_weights(layout);
  info.weights.note = tf::layout_note(job.types, layout, job.as);
  info.geometry = job.geometry(o.block_neurons);
  info.shape.bytes_per_weight =
      info.geometry.useful_block_bytes / (3.0 * info.shape.hidden * o.block_neurons);
  info.tool = fmt::format("leanstream {} ({})", run::version().version, run::version().commit);
  return job;
}

// Rows for the image's k and for every k that wastes less than all smaller ones of the same types;
// the last row is the one that wastes least.
Json waste_by_block_neurons(const Job& job) {
  const auto& weights = job.info.weights;
  const std::int32_t chosen = job.info.geometry.block_neurons;
  Json rows = Json::array();
  double least = 0;
  for (std::int32_t k = 1; k <= std::min(kMostBlockNeurons, job.info.shape.ffn); ++k) {
    const auto stored = tf::stored_weights(job.layout(k));
    if (stored.down != weights.down || stored.down_in_groups != weights.down_in_groups) continue;
    model::FlashImageInfo info;
    info.shape = job.info.shape;
    info.geometry = job.geometry(k);
    const double amplification = info.read_amplification();
    const bool best = rows.empty() || amplification < least;
    if (best || k == chosen) {
      rows.push_back({{"block_neurons", k},
                      {"blocks", info.blocks()},
                      {"block_bytes", info.geometry.block_bytes},
                      {"read_amplification", amplification},
                      {"least_so_far", best}});
    }
    if (best) least = amplification;
  }
  return rows;
}

Json answer(const PackOptions& o, const Job& job, const model::FlashImage& image, double seconds) {
  const auto& info = image.info();
  const Json rows = waste_by_block_neurons(job);
  const auto best = std::find_if(rows.rbegin(), rows.rend(),
                                 [](const Json& row) { return row.at("least_so_far"); });
  return {{"file", o.out},
          {"model", info.shape.name},
          {"layers", info.shape.layers},
          {"source", info.source},
          {"source_hash", info.source_hash},
          {"placement", info.placement},
          {"weights",
           {{"gate", info.weights.gate},
            {"up", info.weights.up},
            {"down", info.weights.down},
            {"down_in_groups", info.weights.down_in_groups},
            {"note", info.weights.note}}},
          {"block_neurons", info.geometry.block_neurons},
          {"blocks_per_layer", info.geometry.blocks_per_layer},
          {"blocks", info.blocks()},
          {"useful_block_bytes", info.geometry.useful_block_bytes},
          {"block_bytes", info.geometry.block_bytes},
          {"header_bytes", image.data_offset()},
          {"bytes", image.bytes()},
          {"read_amplification", info.read_amplification()},
          {"suggested_block_neurons", (*best).at("block_neurons")},
          {"by_block_neurons", rows},
          {"seconds", seconds}};
}

void print(const Json& a) {
  const auto bytes = [&](const char* key) { return report::bytes(a.at(key).get<double>()); };
  const Json& weights = a.at("weights");
  fmt::print("{}: {}, {} layers, from {}\n", a.at("file").get<std::string>(),
             a.at("model").get<std::string>(), a.at("layers").dump(),
             a.at("source").get<std::string>());
  fmt::print("  weights             gate {}, up {}, down {}{}\n",
             weights.at("gate").get<std::string>(), weights.at("up").get<std::string>(),
             weights.at("down").get<std::string>(),
             weights.at("down_in_groups") ? " in its groups" : "");
  if (const auto note = weights.at("note").get<std::string>(); !note.empty()) {
    fmt::print("  note                {}\n", note);
  }
  fmt::print("  placement           {}\n", a.at("placement").get<std::string>());
  fmt::print("  blocks              {} a layer, {} in all; k = {}\n",
             a.at("blocks_per_layer").dump(), a.at("blocks").dump(), a.at("block_neurons").dump());
  fmt::print("  a block             {} bytes, {} of them weights\n", a.at("block_bytes").dump(),
             a.at("useful_block_bytes").get<double>());
  fmt::print("  the image           {}, header {}\n", bytes("bytes"), bytes("header_bytes"));
  fmt::print("  read_amplification  {:.4f}\n", a.at("read_amplification").get<double>());
  fmt::print("\nby --block-neurons, each that wastes less than all smaller ones; {} wastes least\n",
             a.at("suggested_block_neurons").dump());
  Json rows = a.at("by_block_neurons");
  for (Json& row : rows) {
    const bool here = row.at("block_neurons") == a.at("block_neurons");
    row["read_amplification"] = fmt::format("{:.4f}{}", row["read_amplification"].get<double>(),
                                            here ? "  this image" : "");
    row.erase("least_so_far");
  }
  fmt::print("{}", table_text(config::Json::parse(rows.dump())));
}

void pack(const PackOptions& o) {
  const auto begin = std::chrono::steady_clock::now();
  const Job job = prepare(o);
  const tf::BlockLayout layout = job.layout(o.block_neurons);
  const auto source = job.file ? tf::gguf_blocks(*job.file, job.gguf_shape, layout)
                               : tf::random_blocks(layout, job.info.shape.ffn, o.seed);
  model::FlashImageWriter writer(o.out, job.info);
  {
    run::Progress progress(static_cast<std::size_t>(job.info.shape.layers), "layers");
    tf::write_blocks(*source, writer,
                     [&](LayerId done) { progress.show(static_cast<std::size_t>(done), o.out); });
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const Json result = answer(o, job, model::FlashImage(o.out), took.count());
  if (o.json) return fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
  print(result);
}

void verify(const PackOptions& o) {
  constexpr std::size_t kNamed = 8;
  const model::FlashImage image(o.verify);
  tf::image_layout(image);
  std::vector<model::BadBlock> bad;
  {
    run::Progress progress(static_cast<std::size_t>(image.info().shape.layers), "layers");
    bad = model::find_bad_blocks(
        image, [&](LayerId done) { progress.show(static_cast<std::size_t>(done), o.verify); });
  }
  std::vector<std::string> named;
  Json places = Json::array();
  for (const auto& [layer, block] : bad) {
    if (named.size() == kNamed) break;
    named.push_back(fmt::format("layer {} block {}", layer, block));
    places.push_back({{"layer", layer}, {"block", block}});
  }
  if (o.json) {
    fmt::print("{}\n", Json{{"file", o.verify},
                            {"blocks", image.info().blocks()},
                            {"bad_blocks", bad.size()},
                            {"first_bad_blocks", places}}
                           .dump(2));
  } else if (bad.empty()) {
    fmt::print("{}: ok, {} blocks of {}\n", o.verify, image.info().blocks(),
               image.info().shape.name);
  }
  if (bad.empty()) return;
  throw CommandFailed(fmt::format("{}: {} of {} blocks do not have their checksum: {}{}", o.verify,
                                  bad.size(), image.info().blocks(), fmt::join(named, ", "),
                                  bad.size() > kNamed ? ", …" : ""));
}

}  // namespace

void add_pack(CLI::App& app) {
  auto o = std::make_shared<PackOptions>();
  auto* command = app.add_subcommand("pack", "a flash image of a model's MLP weights");
  command->add_option("MODEL", o->gguf, "model file of architecture llama");
  command->add_option("--shape", o->shape, "random weights of a model's shape, by name or path");
  command->add_option("--layers", o->layers, "only so many layers of the shape")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--seed", o->seed, "of random weights")->capture_default_str();
  command->add_option("--out", o->out, "the image");
  command
      ->add_option("--weights", o->weights,
                   "how they are stored: as_is (default of a model file), f16 (of a shape), q8_0")
      ->check(CLI::IsMember({"as_is", "f16", "q8_0"}));
  command->add_option("--block-neurons", o->block_neurons, "neurons of a block (k)")
      ->check(CLI::Range(1, kMostBlockNeurons))
      ->capture_default_str();
  command
      ->add_option("--placement", o->placement, "a placement policy, or a map as in an experiment")
      ->capture_default_str();
  command->add_option("--trace", o->trace, "what a placement is fitted on");
  command
      ->add_option("--prompt-tokens", o->prompt_tokens,
                   "of the trace: its first tokens, by default all")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--density", o->density, "at which the placement counts neurons as used")
      ->capture_default_str();
  command
      ->add_option("--logical-block", o->logical_block_bytes,
                   "bytes of the device's logical block: a power of two")
      ->check(CLI::Range(Bytes{512}, Bytes{1} << 20))
      ->capture_default_str();
  command->add_option("--model-name", o->name, "name of the model (default: from the file name)");
  command->add_option("--verify", o->verify, "check header and every block of this image");
  command->add_flag("--json", o->json, "JSON to stdout");
  command->callback([o] {
    check(*o);
    if (o->verify.empty()) {
      pack(*o);
    } else {
      verify(*o);
    }
  });
}

}  // namespace leanstream::commands
