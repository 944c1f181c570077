// A YAML file as nodes with positions.
#pragma once

#include <string>
#include <string_view>

#include "engine/config/node.h"

namespace leanstream::config {

// Limits that no honest file reaches, so that a crafted one can neither crash nor swell.
inline constexpr std::size_t kMostFileBytes = 4U << 20;
inline constexpr int kMostDepth = 64;
inline constexpr std::size_t kMostNodes = 200'000;  // with every alias written out

struct Document {
  std::string path;  // as the user named it
  std::string hash;  // hash_bytes of the text
  Node root;         // missing when the text is no YAML; null when it is empty
};

// Reads a file. A file that cannot be read, is no YAML, holds several documents or passes a limit
// is reported; the root is then missing. Keys given twice stay: Table::read reports them.
Document load_document(const std::string& path, Diagnostics& diagnostics);

// The same of a text; `name` stands for the file in positions.
Document parse_document(std::string_view text, const std::string& name, Diagnostics& diagnostics);

// Whether the file is a map whose key `kind` says `kind`; reports when not (once: a file that was
// no YAML has been reported).
bool check_kind(const Document& document, std::string_view kind, Diagnostics& diagnostics);

// A copy of `root` changed by "dotted.name=value", as on the command line; the value is YAML.
// Positions in it read "command line: dotted.name=value".
Node with_assignment(const Node& root, const std::string& assignment, Diagnostics& diagnostics);

}  // namespace leanstream::config
