// A trace file opened for reading: memory-mapped, checked when opened.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/activations.h"
#include "engine/model/safetensors.h"
#include "traces/contents.h"
#include "traces/format.h"

namespace leanstream::traces {

class Trace final : public model::Activations {
 public:
  // Opens and checks all but the values of `features` (they may be gigabytes; check_file reads
  // them). Throws UserError with every problem found, each naming the file, the tensor or metadata
  // key, what is wrong and what would be right.
  explicit Trace(const std::string& path);

  const std::string& path() const { return reader_.path(); }
  const TraceInfo& info() const { return contents_.info; }

  TokenId tokens() const override { return static_cast<TokenId>(contents_.token_ids.size()); }
  LayerId layers() const override { return info().model.layers; }
  std::int32_t ffn() const override { return info().model.ffn; }
  std::span<const std::uint8_t> importance(TokenId token, LayerId layer) const override;
  std::span<const float> levels(LayerId layer) const override;
  double error_persistence() const override { return info().error_persistence; }

  // Vocabulary ids; all zero in traces without a text.
  std::span<const std::int32_t> token_ids() const { return contents_.token_ids; }
  // −ln p(token i | tokens 0 … i−1) in nats; NaN where unknown, always for token 0.
  std::span<const float> nll() const { return contents_.nll; }

  bool has_features() const { return !contents_.features.empty(); }
  // `hidden` half floats, feature −2 … 8 of the layer. Only with features.
  std::span<const std::uint16_t> features_f16(TokenId token, LayerId layer, int feature) const;

  bool has_recall() const { return !contents_.recall.empty(); }
  // Recall of the true top set of density info().recall_density by an exact-weights prediction
  // from this feature; NaN where not measured. Only with recall.
  float recall(LayerId layer, int feature) const;
  std::span<const float> recall(LayerId layer) const override;
  double recall_density() const override { return info().recall_density; }

 private:
  std::size_t step(TokenId token, LayerId layer) const;

  model::SafetensorsReader reader_;
  Contents contents_;
};

// Every problem of a file, `features` included; empty when it is a sound trace.
std::vector<std::string> check_file(const std::string& path);

}  // namespace leanstream::traces
