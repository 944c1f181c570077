// Writes a trace file (traces/README.md): quantises importances, checks shapes and values, appears
// whole or not at all.
//
//   TraceWriter writer(info, tokens);
//   writer.set_importance(importance);  // the only one without a default
//   writer.set_tokens(ids);
//   writer.set_nll(nll);
//   writer.write("out/prose.safetensors");
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/format.h"
#include "traces/levels.h"

namespace leanstream::traces {

class TraceWriter {
 public:
  // The shape is tokens × info.model.{layers, ffn, hidden}; tokens ≥ 1. Throws UserError for an
  // info that a reader would refuse.
  TraceWriter(TraceInfo info, TokenId tokens);

  // [tokens, layers, ffn] importances, finite and ≥ 0 (else UserError naming the neuron). They are
  // quantised at once: the span need not outlive the call.
  void set_importance(std::span<const float> importance);

  // The same for values that are codes already (a copy of a file, a generator): [tokens, layers,
  // ffn] and [layers, 256].
  void set_codes(std::vector<std::uint8_t> codes, std::vector<float> levels);

  // [tokens] vocabulary ids ≥ 0. Default: zeros.
  void set_tokens(std::span<const std::int32_t> tokens);

  // [tokens]: nll[i] = −ln p(token i | tokens 0 … i−1) in nats, NaN where unknown; nll[0] is
  // always NaN. Also accepts [tokens − 1] values: those of tokens 1 …. Default: all unknown.
  void set_nll(std::span<const float> nll);

  // [tokens, layers, 11, hidden] as IEEE half floats, feature index −2 … 8.
  // Not copied: must live until write().
  void set_features(std::span<const std::uint16_t> features_f16);

  // [layers, 11] in 0 … 1, NaN where not measured: recall of the true top set of density
  // `density` by a prediction with exact weights from each feature index.
  void set_recall(std::span<const float> recall, double density);

  // Throws UserError when importances were not set or the file cannot be written.
  void write(const std::string& path) const;

  TokenId tokens() const { return tokens_; }
  const TraceInfo& info() const { return info_; }

 private:
  std::size_t neurons() const;  // layers · ffn
  void expect(std::string_view tensor, std::size_t values, std::size_t wanted) const;

  TraceInfo info_;
  TokenId tokens_;
  std::vector<std::uint8_t> codes_;
  std::vector<float> levels_;
  std::vector<std::int32_t> token_ids_;
  std::vector<float> nll_;
  std::span<const std::uint16_t> features_;
  std::vector<float> recall_;
};

}  // namespace leanstream::traces
