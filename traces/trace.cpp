#include "traces/trace.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"

namespace leanstream::traces {
namespace {

// The contents, or UserError with all problems, one a line.
Contents load_or_throw(const model::SafetensorsReader& reader) {
  std::vector<std::string> problems;
  Contents contents = load(reader, problems);
  if (!problems.empty()) {
    throw UserError("{}: {}", reader.path(), fmt::join(problems, "\n" + reader.path() + ": "));
  }
  return contents;
}

}  // namespace

Trace::Trace(const std::string& path) : reader_(path), contents_(load_or_throw(reader_)) {}

std::size_t Trace::step(TokenId token, LayerId layer) const {
  LEANSTREAM_CHECK(token >= 0 && token < tokens() && layer >= 0 && layer < layers(),
                   "token {} of {}, layer {} of {}", token, tokens(), layer, layers());
  return static_cast<std::size_t>(token) * static_cast<std::size_t>(layers()) +
         static_cast<std::size_t>(layer);
}

std::span<const std::uint8_t> Trace::importance(TokenId token, LayerId layer) const {
  const auto width = static_cast<std::size_t>(ffn());
  return contents_.importance.subspan(step(token, layer) * width, width);
}

std::span<const float> Trace::levels(LayerId layer) const {
  return std::span(contents_.levels).subspan(step(0, layer) * model::kLevels, model::kLevels);
}

std::span<const std::uint16_t> Trace::features_f16(TokenId token, LayerId layer,
                                                   int feature) const {
  LEANSTREAM_CHECK(has_features() && feature >= kFirstFeature && feature <= kLastFeature,
                   "feature {} of {}", feature, path());
  const auto width = static_cast<std::size_t>(info().model.hidden);
  const auto row = step(token, layer) * kFeatures + static_cast<std::size_t>(feature_slot(feature));
  return contents_.features.subspan(row * width, width);
}

std::span<const float> Trace::recall(LayerId layer) const {
  if (!has_recall()) return {};
  return std::span(contents_.recall).subspan(step(0, layer) * kFeatures, kFeatures);
}

float Trace::recall(LayerId layer, int feature) const {
  LEANSTREAM_CHECK(has_recall() && feature >= kFirstFeature && feature <= kLastFeature,
                   "recall of feature {} of {}", feature, path());
  return contents_
      .recall[step(0, layer) * kFeatures + static_cast<std::size_t>(feature_slot(feature))];
}

std::vector<std::string> check_file(const std::string& path) {
  std::vector<std::string> problems;
  try {
    const model::SafetensorsReader reader(path);
    const Contents contents = load(reader, problems);
    check_features(contents, problems);
    for (std::string& problem : problems) problem = path + ": " + problem;
  } catch (const UserError& error) {
    problems.push_back(error.what());
  }
  return problems;
}

}  // namespace leanstream::traces
