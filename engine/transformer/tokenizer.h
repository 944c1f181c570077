// Byte-level byte-pair encoding from the metadata of a GGUF file (tokenizer model `gpt2`;
// pre-tokenizers `gpt-2` and `smollm`). Sennrich et al., arXiv:1508.07909; Radford et al. 2019.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/transformer/gguf.h"
#include "engine/transformer/pre_tokenizer.h"

namespace leanstream::transformer {

class Tokenizer {
 public:
  enum class Special {
    kLiteral,  // "<|im_end|>" in the text is five or so ordinary tokens
    kParse,    // it is the control token of that name
  };

  // Throws UserError when metadata is missing, inconsistent, or of another kind of tokenizer.
  explicit Tokenizer(const GgufFile& file);

  // Ids of the text; no token is put in front (see adds_begin). Throws UserError for a byte that no
  // token spells (some models lack a few control characters).
  std::vector<std::int32_t> encode(std::string_view text,
                                   Special special = Special::kLiteral) const;

  // The bytes that the ids stand for; control tokens give their names. Ids must be below size().
  std::string decode(std::span<const std::int32_t> ids) const;

  std::int32_t size() const { return static_cast<std::int32_t>(texts_.size()); }
  // The id of the token spelt like this in the file, −1 when there is none.
  std::int32_t find(std::string_view token) const;
  // Whether the model wants begin() in front of every text.
  bool adds_begin() const { return adds_begin_; }
  std::int32_t begin() const { return begin_; }  // −1: none
  std::int32_t end() const { return end_; }      // ends an answer; −1: none

 private:
  struct Merge {
    std::uint32_t rank;
    std::int32_t id;  // of the joined token
  };

  void read_vocabulary(const GgufFile& file);
  void read_merges(const GgufFile& file);
  void encode_word(std::string_view word, std::vector<std::int32_t>& ids) const;
  void encode_plain(std::string_view text, std::vector<std::int32_t>& ids) const;
  const Merge* merge_of(std::int32_t left, std::int32_t right) const;

  std::string path_;
  PreTokenizer kind_ = PreTokenizer::kGpt2;
  std::vector<std::string> texts_;     // as spelt in the file
  std::vector<std::int32_t> special_;  // control tokens, the longest name first
  std::unordered_map<std::string, std::int32_t> ids_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // by left · 2³² + right
  std::array<std::int32_t, 256> byte_ids_{};         // −1: no token
  bool adds_begin_ = false;
  std::int32_t begin_ = -1;
  std::int32_t end_ = -1;
};

}  // namespace leanstream::transformer
