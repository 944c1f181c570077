// Any bytes as a trace file: refused with a UserError, or all of it can be read.
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "tests/fuzz/memory_file.h"
#include "traces/trace.h"

namespace leanstream {
namespace {

void read_tensors(const std::string& path) {
  const model::SafetensorsReader reader(path);
  std::vector<std::byte> copy;
  for (const model::TensorInfo& tensor : reader.tensors()) {
    const auto bytes = reader.bytes(tensor);
    LEANSTREAM_CHECK(bytes.size() == tensor.size_bytes, "tensor '{}'", tensor.name);
    copy.assign(bytes.begin(), bytes.end());
  }
}

void read_trace(const std::string& path) {
  const traces::Trace trace(path);
  LEANSTREAM_CHECK(trace.token_ids().size() == trace.nll().size(), "tokens and their nll");
  for (TokenId t = 0; t < trace.tokens(); ++t) {
    for (LayerId l = 0; l < trace.layers(); ++l) {
      const auto levels = trace.levels(l);
      for (const std::uint8_t code : trace.importance(t, l)) {
        LEANSTREAM_CHECK(code < levels.size(), "code {} of {}", code, levels.size());
      }
    }
  }
}

template <typename Read>
void refused_or_read(Read read, const std::string& path) {
  try {
    read(path);
  } catch (const UserError&) {
  }
}

}  // namespace
}  // namespace leanstream

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const leanstream::fuzz::MemoryFile memory({data, size});
  leanstream::refused_or_read(leanstream::read_tensors, memory.path());
  leanstream::refused_or_read(leanstream::read_trace, memory.path());
  leanstream::traces::check_file(memory.path());
  return 0;
}
