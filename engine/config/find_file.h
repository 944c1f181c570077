// Where shipped and users' YAML files lie: a platform, a model or a system may be given by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leanstream::config {

enum class FileKind { model, platform, system, fit };

// "model", "platform", "system", "fit": also the value of the first key, `kind:`, of such a file.
std::string_view word(FileKind kind);

// The folder that holds experiments/, platforms/ and traces/: $LEANSTREAM_ROOT, else the source
// tree that the program was built from, else the current folder.
std::string data_root();

// Names that find_file takes, sorted; empty when the folder does not exist.
std::vector<std::string> file_names(FileKind kind);

// The path of a file. A text with '/' or ending in ".yaml" is a path and returned as it is.
// Throws UserError for an unknown name: the valid ones and the nearest.
std::string find_file(FileKind kind, const std::string& name_or_path);

// "jetson" of "platforms/jetson.yaml".
std::string name_of(const std::string& path);

}  // namespace leanstream::config
