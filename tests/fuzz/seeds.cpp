// fuzz_seeds FOLDER: writes small sound files for the fuzz targets to start from, FOLDER/gguf/ and
// FOLDER/safetensors/.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/traces/small_trace.h"
#include "tests/transformer/tiny_model.h"

namespace {

using leanstream::transformer::GgufBuilder;
using leanstream::transformer::TensorType;

// The tiny model's metadata, and a tensor of each type.
std::string small_model() {
  GgufBuilder builder = leanstream::transformer::tiny_metadata();
  for (const TensorType type : leanstream::transformer::all_tensor_types()) {
    builder.add_tensor("w" + std::to_string(static_cast<int>(type)), {32, 2}, type,
                       std::vector<float>(64, 0.5F));
  }
  return builder.bytes();
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz_seeds FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder / "gguf");
  std::filesystem::create_directories(folder / "safetensors");
  write(folder / "gguf" / "vocabulary", small_model());
  GgufBuilder plain;
  plain.add_u32("a", 7);
  plain.add_texts("b", {"x", ""});
  plain.add_tensor("w", {32, 2}, TensorType::kQ8_0, std::vector<float>(64, 0.5F));
  write(folder / "gguf" / "plain", plain.bytes());
  std::vector<std::uint16_t> features;
  leanstream::traces::full_writer({}, features).write(folder / "safetensors" / "trace");
}
