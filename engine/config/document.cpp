#include "engine/config/document.h"

#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "engine/base/error.h"
#include "engine/base/hash.h"

namespace leanstream::config {
namespace {

// A file that is refused at a position; only inside this file.
struct Refused {
  YAML::Mark mark;
  std::string message;
};

// Bytes of the UTF-8 character at the start of a text, 0 when there is none (The Unicode Standard,
// table 3-7).
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_large = first == 0xF4 && second > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
    bytes = utf8_bytes(text);
    if (bytes == 0) return false;
  }
  return true;
}

// Builds nodes from the parser's events. yaml-cpp's own tree would lose keys given twice and allow
// aliases that contain themselves.
class Builder final : public YAML::EventHandler {
 public:
  // Without lines, all positions are the name alone.
  Builder(const std::string& name, bool lines)
      : file_(std::make_shared<const std::string>(name)), lines_(lines) {}

  // Throws Refused for what the parser itself lets through.
  Node root() const {
    if (bad_key_) throw Refused(*bad_key_);
    return root_;
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add({Node::null(at(mark)), 1, 1}, mark, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (tag != "?" && tag != "!") refuse_tag(mark, tag);
    // Not only the file's bytes: of the escapes "\\_" and "\\N" the parser makes no UTF-8.
    if (!is_utf8(value)) throw Refused{mark, "a text that is no UTF-8"};
    add({Node::scalar(at(mark), value, tag == "!"), 1, 1}, mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refused{mark, "an alias inside its own anchor"};
    add(found->second, mark, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, true);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Built {
    Node node;
    std::size_t nodes = 1;  // with every alias written out
    int depth = 1;
  };
  struct Level {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    bool is_map;
    bool has_key = false;
    Entry pending{};
    std::vector<Node> items{};
    std::vector<Entry> entries{};
    std::size_t nodes = 1;
    int depth = 1;
  };

  Position at(const YAML::Mark& mark) const {
    return lines_ ? Position{file_, mark.line + 1, mark.column + 1} : Position{file_, 0, 0};
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty()) throw Refused{mark, "YAML tags like " + quote(tag) + " are not supported"};
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool is_map) {
    if (tag != "?" && tag != "!") refuse_tag(mark, tag);
    if (levels_.size() >= kMostDepth) {
      throw Refused{mark, fmt::format("nested more than {} deep", kMostDepth)};
    }
    levels_.push_back({mark, anchor, is_map});
  }

  void close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Node node = level.is_map ? Node::map(at(level.mark), std::move(level.entries))
                             : Node::sequence(at(level.mark), std::move(level.items));
    add({std::move(node), level.nodes, level.depth}, level.mark, level.anchor);
  }

  void add(Built built, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, built);
    if (levels_.empty()) {
      root_ = built.node;
      return;
    }
    Level& level = levels_.back();
    if (level.is_map && !level.has_key) {
      // Kept for later: the parser sees an unclosed list as a key before it misses the bracket.
      if (!built.node.is_scalar() && !bad_key_) {
        bad_key_ = Refused{mark, "a key must be a word, not " + built.node.describe()};
      }
      level.pending = {built.node.text(), at(mark), {}};
      level.has_key = true;
      return;
    }
    level.nodes += built.nodes;
    level.depth = std::max(level.depth, built.depth + 1);
    if (level.nodes > kMostNodes) {
      throw Refused{mark, fmt::format("more than {} values (aliases written out)", kMostNodes)};
    }
    if (static_cast<int>(levels_.size()) + built.depth > kMostDepth) {
      throw Refused{mark, fmt::format("nested more than {} deep", kMostDepth)};
    }
    if (!level.is_map) {
      level.items.push_back(std::move(built.node));
      return;
    }
    // The parser places an absent value at the next token; its key is where the user looks.
    if (built.node.is_null()) built.node = Node::null(level.pending.key_position);
    level.pending.value = std::move(built.node);
    level.entries.push_back(std::move(level.pending));
    level.has_key = false;
  }

  std::shared_ptr<const std::string> file_;
  bool lines_;
  std::map<YAML::anchor_t, Built> anchors_;
  std::vector<Level> levels_;
  std::optional<Refused> bad_key_;
  Node root_;
};

Position position(const std::string& name, int line, int column) {
  return {std::make_shared<const std::string>(name), line, column};
}

Document parse(std::string_view text, const std::string& name, bool lines,
               Diagnostics& diagnostics) {
  Document document{name, hash_bytes(std::as_bytes(std::span(text.data(), text.size()))), {}};
  if (text.size() > kMostFileBytes) {
    diagnostics.error(position(name, 0, 0), "larger than {} MiB", kMostFileBytes >> 20);
    return document;
  }
  const auto report = [&](const YAML::Mark& mark, const std::string& message) {
    const auto where =
        lines ? position(name, mark.line + 1, mark.column + 1) : position(name, 0, 0);
    diagnostics.error(where, message);
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(name, lines);
    if (!parser.HandleNextDocument(builder)) {
      document.root = Node::null(position(name, 1, 1));
      return document;
    }
    Builder second(name, lines);
    if (parser.HandleNextDocument(second)) {
      const Position where = second.root() ? second.root().position() : position(name, 0, 0);
      diagnostics.error(where, "a second YAML document; one file holds one");
      return document;
    }
    document.root = builder.root();
  } catch (const Refused& refused) {
    report(refused.mark, refused.message);
  } catch (const YAML::Exception& error) {
    report(error.mark, "no valid YAML: " + error.msg);
  }
  return document;
}

}  // namespace

Document parse_document(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  return parse(text, name, true, diagnostics);
}

Document load_document(const std::string& path, Diagnostics& diagnostics) {
  std::ifstream file(path, std::ios::binary);
  // One byte more than allowed tells a file that is too large from one that just fits.
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    diagnostics.error(position(path, 0, 0), "the file cannot be read");
    return {path, "", {}};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_document(text, path, diagnostics);
}

bool check_kind(const Document& document, std::string_view kind, Diagnostics& diagnostics) {
  if (!document.root) return false;
  const Node found = document.root["kind"];
  if (found.is_scalar() && found.text() == kind) return true;
  const Position& at = found ? found.position() : document.root.position();
  diagnostics.error(at, "the {} file starts with 'kind: {}', not {}", kind, kind,
                    found ? found.describe() : document.root.describe());
  return false;
}

Node with_assignment(const Node& root, const std::string& assignment, Diagnostics& diagnostics) {
  const std::string where = "command line: " + assignment;
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    diagnostics.error(position(where, 0, 0), "an assignment looks like name=value");
    return root;
  }
  const auto value = std::string_view(assignment).substr(equals + 1);
  const auto parsed = parse(value, where, false, diagnostics);
  if (!parsed.root) return root;
  return root.with(std::string_view(assignment).substr(0, equals), parsed.root, diagnostics);
}

}  // namespace leanstream::config
