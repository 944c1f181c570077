// Any bytes as a model file: refused with a UserError, or every value and weight can be read.
#include <numeric>

#include "engine/base/error.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/tokenizer.h"
#include "tests/fuzz/memory_file.h"

namespace leanstream::transformer {
namespace {

void read_all(const GgufFile& file) {
  for (const GgufTensor& tensor : file.tensors()) {
    const auto bytes = file.bytes(tensor);
    volatile auto sum = std::accumulate(
        bytes.begin(), bytes.end(), 0U,
        [](unsigned so_far, std::byte b) { return so_far + std::to_integer<unsigned>(b); });
    static_cast<void>(sum);
    std::vector<float> row(static_cast<std::size_t>(tensor.row_length()));
    file.read_row(tensor, 0, row);
    file.read_row(tensor, tensor.rows() - 1, row);
  }
}

}  // namespace
}  // namespace leanstream::transformer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leanstream;
  const fuzz::MemoryFile memory({data, size});
  try {
    const transformer::GgufFile file(memory.path());
    transformer::read_all(file);
    const transformer::Tokenizer tokenizer(file);
    tokenizer.encode("Hello, <|im_end|> world", transformer::Tokenizer::Special::kParse);
  } catch (const UserError&) {
  }
  return 0;
}
