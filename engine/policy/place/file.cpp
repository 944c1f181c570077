#include "engine/base/error.h"
#include "engine/base/hash.h"
#include "engine/policy/place/placement.h"
#include "engine/policy/place/placement_file.h"

namespace leanstream::policy {
namespace {

struct FileParameters {
  std::string file;
};

// What `leanstream train placement` has learned, from other text.
class File final : public Placement {
 public:
  using Parameters = FileParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::text("file", &Parameters::file, "what `leanstream train placement` wrote")
            .required()};
    return parameters;
  }

  File(const Context& context, const Parameters& parameters) {
    const std::string path = context.find ? context.find(parameters.file) : parameters.file;
    learned_ = read_placement(path);
    const LayerId layers = context.layers > 0 ? context.layers : context.activations->layers();
    const std::int32_t ffn = context.ffn > 0 ? context.ffn : context.activations->ffn();
    if (learned_.layers != layers || learned_.ffn != ffn) {
      throw UserError("{}: a placement of {} ({} layers of {} neurons), not of {} of {}", path,
                      learned_.model, learned_.layers, learned_.ffn, layers, ffn);
    }
    if (!context.model_hash.empty() && !learned_.model_hash.empty() &&
        context.model_hash != learned_.model_hash) {
      throw UserError(
          "{}: learned from a model with other weights: {} ({}), not {}; learn it from a trace of "
          "this one",
          path, learned_.model, learned_.model_hash, context.model_hash);
    }
    source_ = fmt::format("{} on {} tokens of {}, density {}, file {}", learned_.policy,
                          learned_.tokens, learned_.traces, learned_.density, hash_file(path));
  }

  std::span<const std::int32_t> order(LayerId layer) const override {
    return learned_.orders[static_cast<std::size_t>(layer)];
  }
  std::string source() const override { return source_; }

 private:
  LearnedPlacement learned_;
  std::string source_;
};

}  // namespace

LEANSTREAM_PLACEMENT(File, "file", "as `leanstream train placement` has learned it")

}  // namespace leanstream::policy
