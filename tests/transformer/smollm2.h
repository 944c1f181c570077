// The real model, loaded once for all tests of this program; a test that needs it says so and is
// skipped where the file is missing.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "engine/transformer/gguf.h"
#include "engine/transformer/model.h"
#include "engine/transformer/tokenizer.h"

namespace leanstream::transformer {

// $LEANSTREAM_SMOLLM2, else build/models/SmolLM2-135M-Instruct.Q4_1.gguf; "" when absent.
std::string smollm2_path();

struct SmolLm2 {
  explicit SmolLm2(const std::string& path) : file(path), tokenizer(file), model(file) {}
  GgufFile file;
  Tokenizer tokenizer;
  Model model;
};

// Needs a path. The same object each time.
const SmolLm2& smollm2();

// The path of a file of tests/data/smollm2.
std::string reference_path(const std::string& name);

class SmolLm2Test : public testing::Test {
 protected:
  void SetUp() override {
    if (smollm2_path().empty()) {
      GTEST_SKIP() << "SmolLM2-135M-Instruct.Q4_1.gguf is not here: set LEANSTREAM_SMOLLM2 to its "
                      "path or put it into build/models/";
    }
  }
};

}  // namespace leanstream::transformer
