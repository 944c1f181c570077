#include "engine/transformer/tokenizer.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/transformer/unicode.h"

namespace leanstream::transformer {
namespace {

constexpr std::int64_t kControlType = 3;
constexpr std::int64_t kUserDefinedType = 4;

// GPT-2 spells a byte as a printable character: itself if it is one, else 256, 257, … in order.
char32_t spelling(unsigned byte) {
  static const auto table = [] {
    std::array<char32_t, 256> all{};
    char32_t next = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      all[b] = printable ? b : next++;
    }
    return all;
  }();
  return table[byte];
}

// The byte that a character spells, if it spells one.
std::optional<char> spelt_byte(char32_t c) {
  for (unsigned b = 0; b < 256; ++b) {
    if (spelling(b) == c) return static_cast<char>(b);
  }
  return std::nullopt;
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

Tokenizer::Tokenizer(const GgufFile& file) : path_(file.path()) {
  const auto model = file.text("tokenizer.ggml.model");
  if (model != "gpt2") {
    throw UserError("{}: tokenizer model '{}' is not supported; 'gpt2' (byte-level BPE) is", path_,
                    model);
  }
  const auto kind = file.text("tokenizer.ggml.pre");
  if (kind == "smollm") {
    kind_ = PreTokenizer::kSmolLm;
  } else if (kind != "gpt-2") {
    throw UserError("{}: pre-tokenizer '{}' is not supported; 'gpt-2' and 'smollm' are", path_,
                    kind);
  }
  read_vocabulary(file);
  read_merges(file);
  adds_begin_ = file.flag("tokenizer.ggml.add_bos_token", false);
  const auto optional_id = [&](const std::string& key) {
    const std::int64_t id = file.integer(key, -1);
    if (id < -1 || id >= size()) throw UserError("{}: '{}' is {} of {}", path_, key, id, size());
    return static_cast<std::int32_t>(id);
  };
  begin_ = optional_id("tokenizer.ggml.bos_token_id");
  end_ = optional_id("tokenizer.ggml.eos_token_id");
  if (adds_begin_ && begin_ < 0) {
    throw UserError("{}: add_bos_token without bos_token_id", path_);
  }
}

void Tokenizer::read_vocabulary(const GgufFile& file) {
  for (const std::string_view text : file.texts("tokenizer.ggml.tokens")) {
    const auto id = static_cast<std::int32_t>(texts_.size());
    texts_.emplace_back(text);
    if (!ids_.emplace(text, id).second) throw UserError("{}: token '{}' comes twice", path_, text);
  }
  const auto types = file.integers("tokenizer.ggml.token_type");
  if (types.size() != texts_.size()) {
    throw UserError("{}: {} token types for {} tokens", path_, types.size(), texts_.size());
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool special = types[i] == kControlType || types[i] == kUserDefinedType;
    if (special && !texts_[i].empty()) special_.push_back(static_cast<std::int32_t>(i));
  }
  std::stable_sort(special_.begin(), special_.end(), [&](std::int32_t a, std::int32_t b) {
    return texts_[static_cast<std::size_t>(a)].size() > texts_[static_cast<std::size_t>(b)].size();
  });
  for (unsigned b = 0; b < 256; ++b) {
    std::string character;
    append_utf8(character, spelling(b));
    byte_ids_[b] = find(character);
  }
}

void Tokenizer::read_merges(const GgufFile& file) {
  std::uint32_t rank = 0;
  for (const std::string_view text : file.texts("tokenizer.ggml.merges")) {
    const std::size_t space = text.find(' ', 1);
    const auto left = std::string(text.substr(0, space));
    const auto right = space < text.size() ? std::string(text.substr(space + 1)) : std::string();
    const std::int32_t a = find(left), b = find(right), joined = find(left + right);
    if (a < 0 || b < 0 || joined < 0) {
      throw UserError("{}: merge {}, '{}', joins what are no tokens", path_, rank, text);
    }
    merges_.emplace(pair_key(a, b), Merge{rank++, joined});
  }
}

std::int32_t Tokenizer::find(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? -1 : found->second;
}

const Tokenizer::Merge* Tokenizer::merge_of(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Joins the pair of the lowest rank, the leftmost of equals, until none is left. A queue of
// candidate pairs over a linked list: n log n for a word of n bytes.
void Tokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  constexpr std::size_t kEnd = std::string_view::npos;
  struct Node {
    std::int32_t id;
    std::size_t previous, next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t left;
    std::int32_t left_id, right_id;  // it is stale when the nodes hold something else by now
    bool operator>(const Candidate& o) const {
      return std::pair(rank, left) > std::pair(o.rank, o.left);
    }
  };
  std::vector<Node> nodes(word.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](std::size_t left) {
    if (left == kEnd || nodes[left].next == kEnd) return;
    const std::int32_t a = nodes[left].id, b = nodes[nodes[left].next].id;
    if (const Merge* merge = merge_of(a, b)) queue.push({merge->rank, left, a, b});
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(word[i]);
    if (byte_ids_[byte] < 0) throw UserError("{}: the model has no token for byte {}", path_, byte);
    nodes[i] = {byte_ids_[byte], i == 0 ? kEnd : i - 1, i + 1 == nodes.size() ? kEnd : i + 1};
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Node& left = nodes[best.left];
    if (left.id != best.left_id || left.next == kEnd) continue;
    Node& right = nodes[left.next];
    if (right.id != best.right_id) continue;
    left.id = merge_of(best.left_id, best.right_id)->id;
    right.id = -1;
    left.next = right.next;
    if (left.next != kEnd) nodes[left.next].previous = best.left;
    offer(left.previous);
    offer(best.left);
  }
  for (std::size_t i = 0; i != kEnd && i < nodes.size(); i = nodes[i].next) {
    ids.push_back(nodes[i].id);
  }
}

void Tokenizer::encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const {
  for (const std::string_view word : pre_tokenize(kind_, text)) encode_word(word, ids);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, Special special) const {
  std::vector<std::int32_t> ids;
  std::size_t plain = 0;
  for (std::size_t at = 0; special == Special::kParse && at < text.size(); ++at) {
    const auto found = std::find_if(special_.begin(), special_.end(), [&](std::int32_t id) {
      return text.substr(at).starts_with(texts_[static_cast<std::size_t>(id)]);
    });
    if (found == special_.end()) continue;
    encode_plain(text.substr(plain, at - plain), ids);
    ids.push_back(*found);
    plain = at + texts_[static_cast<std::size_t>(*found)].size();
    at = plain - 1;
  }
  encode_plain(text.substr(plain), ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    LEANSTREAM_CHECK(id >= 0 && id < size(), "token id {} of {}", id, size());
    const std::string& text = texts_[static_cast<std::size_t>(id)];
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = code_point(text, at);
      const auto byte = spelt_byte(c.value);
      bytes += byte ? std::string(1, *byte) : text.substr(at, c.size_bytes);
      at += c.size_bytes;
    }
  }
  return bytes;
}

}  // namespace leanstream::transformer
