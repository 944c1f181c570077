#include "tests/transformer/smollm2.h"

#include <cstdlib>
#include <filesystem>

namespace leanstream::transformer {

std::string smollm2_path() {
  const char* chosen = std::getenv("LEANSTREAM_SMOLLM2");
  const std::string path = chosen != nullptr ? std::string(chosen)
                                             : std::string(LEANSTREAM_SOURCE_DIR) +
                                                   "/build/models/"
                                                   "SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::exists(path) ? path : "";
}

const SmolLm2& smollm2() {
  static const SmolLm2 loaded(smollm2_path());
  return loaded;
}

std::string reference_path(const std::string& name) {
  return std::string(LEANSTREAM_TEST_DATA) + "/smollm2/" + name;
}

}  // namespace leanstream::transformer
