#include "engine/config/node.h"

#include <algorithm>
#include <charconv>

#include "engine/base/check.h"

namespace leanstream::config {

struct Node::Data {
  Kind kind = Kind::null;
  Position position;
  std::string text;
  bool quoted = false;
  std::vector<Node> items;
  std::vector<Entry> entries;
};

Node Node::null(const Position& at) {
  return Node(std::make_shared<const Data>(Data{Kind::null, at, {}, false, {}, {}}));
}

Node Node::scalar(const Position& at, std::string text, bool quoted) {
  return Node(
      std::make_shared<const Data>(Data{Kind::scalar, at, std::move(text), quoted, {}, {}}));
}

Node Node::sequence(const Position& at, std::vector<Node> items) {
  return Node(
      std::make_shared<const Data>(Data{Kind::sequence, at, {}, false, std::move(items), {}}));
}

Node Node::map(const Position& at) {
  return map(at, {});
}

Node Node::map(const Position& at, std::vector<Entry> entries) {
  return Node(std::make_shared<const Data>(Data{Kind::map, at, {}, false, {}, std::move(entries)}));
}

Node::Kind Node::kind() const {
  return data_ ? data_->kind : Kind::null;
}

const Position& Node::position() const {
  static const Position nowhere;
  return data_ ? data_->position : nowhere;
}

const std::string& Node::text() const {
  static const std::string none;
  return data_ ? data_->text : none;
}

bool Node::quoted() const {
  return data_ && data_->quoted;
}

const std::vector<Node>& Node::items() const {
  static const std::vector<Node> none;
  return data_ ? data_->items : none;
}

const std::vector<Entry>& Node::entries() const {
  static const std::vector<Entry> none;
  return data_ ? data_->entries : none;
}

std::vector<std::string> Node::keys() const {
  std::vector<std::string> names;
  for (const auto& entry : entries()) names.push_back(entry.key);
  return names;
}

Node Node::operator[](std::string_view key) const {
  for (const auto& entry : entries()) {
    if (entry.key == key) return entry.value;
  }
  return {};
}

Node Node::with(std::string_view dotted_name, const Node& value, Diagnostics& diagnostics) const {
  const auto dot = dotted_name.find('.');
  const std::string_view head = dotted_name.substr(0, dot);
  const bool last = dot == std::string_view::npos;
  const std::string_view rest = last ? std::string_view{} : dotted_name.substr(dot + 1);
  const auto changed = [&](const Node& old) {
    return last ? value : old.with(rest, value, diagnostics);
  };
  if (head.empty()) {
    diagnostics.error(value.position(), "an empty name in {}", quote(dotted_name));
    return *this;
  }
  if (is_sequence()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(head.data(), head.data() + head.size(), index);
    if (error != std::errc{} || end != head.data() + head.size() || index >= items().size()) {
      diagnostics.error(value.position(), "{} is no item of a list of {} (counted from 0)",
                        quote(head), items().size());
      return *this;
    }
    auto copy = items();
    copy[index] = changed(copy[index]);
    return sequence(position(), std::move(copy));
  }
  if (is_scalar()) {
    diagnostics.error(value.position(), "{} cannot be set inside {}, which is not a map",
                      quote(head), describe());
    return *this;
  }
  auto copy = entries();
  for (auto& entry : copy) {
    if (entry.key != head) continue;
    entry.value = changed(entry.value);
    return map(position(), std::move(copy));
  }
  const Position at = *this ? position() : value.position();
  copy.push_back({std::string(head), value.position(), changed(null(value.position()))});
  return map(at, std::move(copy));
}

Node Node::without(std::string_view key) const {
  if (!is_map()) return *this;
  std::vector<Entry> rest;
  for (const auto& entry : entries()) {
    if (entry.key != key) rest.push_back(entry);
  }
  return map(position(), std::move(rest));
}

Node Node::only(const std::vector<std::string>& keys) const {
  if (!is_map()) return *this;
  std::vector<Entry> kept;
  for (const auto& entry : entries()) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) kept.push_back(entry);
  }
  return map(position(), std::move(kept));
}

std::string Node::describe() const {
  switch (kind()) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return quote(text());
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
  }
  LEANSTREAM_CHECK(false, "unknown kind of node");
  return {};
}

}  // namespace leanstream::config
