// Small traces and temporary files for the tests of this folder.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "engine/base/random.h"
#include "traces/trace_writer.h"

namespace leanstream::traces {

// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("leanstream-traces-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct SmallShape {
  TokenId tokens = 3;
  LayerId layers = 2;
  std::int32_t hidden = 4;
  std::int32_t ffn = 6;
};

inline TraceInfo small_info(const SmallShape& shape) {
  TraceInfo info;
  info.model = {"tiny", shape.layers, shape.hidden, shape.ffn, "00ff"};
  info.kind = TraceKind::kSynthetic;
  info.source = "random numbers, seed 1";
  info.upstream_density = 0.7;
  info.tool = "tests";
  info.command = "traces_test";
  return info;
}

// Log-normal importances whose medians differ by neuron (some are hot) and by token.
inline std::vector<float> random_importance(const SmallShape& shape, std::uint64_t seed) {
  RandomStream random(seed, "test.importance");
  const auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.next_unit();
    return sum;
  };
  std::vector<double> heat(static_cast<std::size_t>(shape.layers * shape.ffn));
  for (double& h : heat) h = normal();
  std::vector<float> importance;
  for (TokenId t = 0; t < shape.tokens; ++t) {
    const double scale = 0.2 * normal();
    for (const double h : heat) {
      importance.push_back(static_cast<float>(std::exp(scale + 0.8 * h + normal())));
    }
  }
  return importance;
}

// A writer with every tensor set, features included (which live in `features`).
inline TraceWriter full_writer(const SmallShape& shape, std::vector<std::uint16_t>& features) {
  TraceWriter writer(small_info(shape), shape.tokens);
  const auto tokens = static_cast<std::size_t>(shape.tokens);
  const auto layers = static_cast<std::size_t>(shape.layers);
  writer.set_importance(random_importance(shape, 1));
  std::vector<std::int32_t> ids;
  std::vector<float> nll;
  for (std::size_t i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<std::int32_t>(100 + i));
    nll.push_back(0.5F + static_cast<float>(i));
  }
  writer.set_tokens(ids);
  writer.set_nll(nll);
  features.clear();
  for (std::size_t i = 0; i < tokens * layers * kFeatures * static_cast<std::size_t>(shape.hidden);
       ++i) {
    features.push_back(static_cast<std::uint16_t>(0x3C00 + i % 1024));
  }
  writer.set_features(features);
  std::vector<float> recall(layers * kFeatures);
  for (std::size_t i = 0; i < recall.size(); ++i) {
    recall[i] = static_cast<float>(i) / static_cast<float>(recall.size());
  }
  writer.set_recall(recall, 0.2);
  return writer;
}

}  // namespace leanstream::traces
