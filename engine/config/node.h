// A value of a YAML file and where it was written. Nodes are immutable and cheap to copy.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/diagnostics.h"

namespace leanstream::config {

struct Entry;

// A null, a scalar, a sequence or a map. A default Node is missing: it converts to false, has no
// members, and asking it for anything else gives empty answers.
class Node {
 public:
  enum class Kind { null, scalar, sequence, map };

  Node() = default;
  static Node null(const Position& at);
  static Node scalar(const Position& at, std::string text, bool quoted = false);
  static Node sequence(const Position& at, std::vector<Node> items);
  static Node map(const Position& at);
  static Node map(const Position& at, std::vector<Entry> entries);

  explicit operator bool() const { return data_ != nullptr; }
  bool is_null() const { return data_ && kind() == Kind::null; }
  bool is_scalar() const { return data_ && kind() == Kind::scalar; }
  bool is_sequence() const { return data_ && kind() == Kind::sequence; }
  bool is_map() const { return data_ && kind() == Kind::map; }
  Kind kind() const;
  const Position& position() const;

  // The text of a scalar, as written; empty otherwise.
  const std::string& text() const;
  // Whether the scalar stood in quotes: "5" is a text, 5 a number.
  bool quoted() const;
  // Items of a sequence; empty otherwise.
  const std::vector<Node>& items() const;
  // Entries of a map in file order, duplicates included; empty otherwise.
  const std::vector<Entry>& entries() const;
  std::vector<std::string> keys() const;
  // The value of the first entry with this key; missing when there is none.
  Node operator[](std::string_view key) const;

  // A copy in which the value at a dotted name ("cache.window", "sweep.seed.0") is `value`; absent
  // maps on the way appear. Empty names, an index that is no item, or a scalar on the way are
  // reported at `value`'s position and leave the copy as it was.
  Node with(std::string_view dotted_name, const Node& value, Diagnostics& diagnostics) const;
  // A copy of a map without this key.
  Node without(std::string_view key) const;
  // A copy of a map with these keys only.
  Node only(const std::vector<std::string>& keys) const;

  // "a map", "a list", "nothing" or the quoted text, for messages.
  std::string describe() const;

 private:
  struct Data;
  explicit Node(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

struct Entry {
  std::string key;
  Position key_position;
  Node value;
};

}  // namespace leanstream::config
