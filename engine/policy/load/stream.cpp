#include <algorithm>

#include "engine/policy/load/loader.h"

namespace leanstream::policy {
namespace {

struct StreamParameters {
  Bytes stream_read_bytes = Bytes{1} << 20;
};

// Reads the next layer in flash order in large requests while this one computes.
class Stream final : public Loader {
 public:
  using Parameters = StreamParameters;

  static const config::Table<Parameters>& table() {
    static const config::Table<Parameters> parameters{
        config::quantity("stream_read_bytes", &Parameters::stream_read_bytes,
                         config::Dimension::bytes, "largest request")
            .range(512, double(Bytes{1} << 30))};
    return parameters;
  }

  Stream(const Context& context, const Parameters& parameters)
      : merge_blocks_(static_cast<BlockId>(
            std::max<Bytes>(1, parameters.stream_read_bytes / context.block_bytes))) {}

  ReadAhead read_ahead() const override { return ReadAhead::speculative; }
  BlockId merge_blocks() const override { return merge_blocks_; }

 private:
  BlockId merge_blocks_;
};

}  // namespace

LEANSTREAM_LOADER(Stream, "stream", "the next layer in order, in large requests")

}  // namespace leanstream::policy
