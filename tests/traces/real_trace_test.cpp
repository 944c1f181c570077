// What every cache study of this project rests on, shown on traces of a real model: Belady misses
// less than LFU, LFU less than LRU; the last layer's sets persist more than the first one's.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/base/atomic_file.h"
#include "engine/base/hash.h"
#include "engine/transformer/forward.h"
#include "engine/transformer/gguf.h"
#include "engine/transformer/recorder.h"
#include "engine/transformer/tokenizer.h"
#include "tests/traces/small_trace.h"
#include "traces/statistics.h"
#include "traces/trace.h"

namespace leanstream::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFewestTokens = 512;
constexpr std::size_t kMostTokens = 640;  // keeps the test short

std::string model_path() {
  const char* chosen = std::getenv("LEANSTREAM_SMOLLM2");
  if (chosen != nullptr) return chosen;
  return std::string(LEANSTREAM_SOURCE_DIR) + "/build/models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

std::vector<fs::path> texts() {
  std::vector<fs::path> paths;
  const fs::path folder = fs::path(LEANSTREAM_TEST_DATA) / "texts";
  if (!fs::exists(folder)) return paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class RealTrace : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(model_path())) GTEST_SKIP() << "no model at " << model_path();
    if (texts().empty()) GTEST_SKIP() << "no texts in " << LEANSTREAM_TEST_DATA << "/texts";
  }

  void record(const transformer::Model& model, const std::vector<std::int32_t>& ids,
              const std::string& source, const std::string& path) const {
    const auto& shape = model.shape();
    transformer::Recorder recorder(model, {.recall_density = 0});
    const auto nll = transformer::nll_of_text(model, ids, recorder);
    TraceInfo info;
    info.model = {"SmolLM2-135M-Instruct", shape.layers, shape.hidden, shape.ffn, model_hash_};
    info.source = source;
    info.tool = "traces_test";
    TraceWriter writer(info, static_cast<TokenId>(ids.size()));
    writer.set_importance(recorder.importance());
    writer.set_tokens(ids);
    writer.set_nll(nll);
    writer.write(path);
  }

  TemporaryFolder folder_;
  std::string model_hash_;
};

void expect_known_order(const Statistics& s, const std::string& name) {
  for (const CacheMisses& c : s.cache) {
    EXPECT_LT(c.belady, c.lfu) << name << " at " << c.cache_share;
    EXPECT_LT(c.lfu, c.lru) << name << " at " << c.cache_share;
  }
  EXPECT_GT(s.importance_share, 0.5) << name;
  EXPECT_LT(s.importance_share, 0.75) << name;
  EXPECT_GT(s.overlap_by_layer.back(), s.overlap_by_layer.front()) << name;
  EXPECT_LT(s.tied_at_threshold, 16) << name;  // 1 % of 1,536
  EXPECT_EQ(s.warm_up_tokens, 200) << name;
}

TEST_F(RealTrace, CachesAndPersistenceAreInTheKnownOrder) {
  const transformer::GgufFile file(model_path());
  const transformer::Model model(file);
  const transformer::Tokenizer tokenizer(file);
  model_hash_ = hash_file(model_path());
  for (const fs::path& text : texts()) {
    const std::string name = text.filename().string();
    auto ids = tokenizer.encode(read_file(text.string()));
    ASSERT_GE(ids.size(), kFewestTokens) << name << " is too short";
    ids.resize(std::min(ids.size(), kMostTokens));
    record(model, ids, name, folder_.file(name));
    EXPECT_TRUE(check_file(folder_.file(name)).empty());
    const Trace trace(folder_.file(name));
    const Statistics s = statistics(trace, 0.2);
    expect_known_order(s, name);
    std::printf("%-28s %d tokens, perplexity %.1f, share %.3f, kept %.3f (%.2f … %.2f), tied %.1f,",
                name.c_str(), trace.tokens(), perplexity(trace).value_or(0), s.importance_share,
                s.overlap, s.overlap_by_layer.front(), s.overlap_by_layer.back(),
                s.tied_at_threshold);
    for (const CacheMisses& c : s.cache) {
      std::printf(" static/LRU/LFU/Belady at %.0f %%: %.3f %.3f %.3f %.3f", 100 * c.cache_share,
                  c.static_hottest, c.lru, c.lfu, c.belady);
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace leanstream::traces
