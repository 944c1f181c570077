#include "engine/config/find_file.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "engine/config/diagnostics.h"

namespace leanstream::config {
namespace {

namespace fs = std::filesystem;

std::string_view folder(FileKind kind) {
  switch (kind) {
    case FileKind::model:
      return "experiments/models";
    case FileKind::platform:
      return "platforms";
    case FileKind::system:
      return "experiments/systems";
    case FileKind::fit:
      return "traces/fits";
  }
  return "";
}

}  // namespace

std::string_view word(FileKind kind) {
  switch (kind) {
    case FileKind::model:
      return "model";
    case FileKind::platform:
      return "platform";
    case FileKind::system:
      return "system";
    case FileKind::fit:
      return "fit";
  }
  return "";
}

std::string data_root() {
  if (const char* root = std::getenv("LEANSTREAM_ROOT"); root != nullptr && *root != '\0') {
    return root;
  }
  std::error_code ignored;
  const fs::path built = LEANSTREAM_DATA_ROOT;
  return fs::is_directory(built / "platforms", ignored) ? built.string() : ".";
}

std::vector<std::string> file_names(FileKind kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(data_root()) / folder(kind), error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string find_file(FileKind kind, const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".yaml")) {
    return name_or_path;
  }
  const auto names = file_names(kind);
  if (std::find(names.begin(), names.end(), name_or_path) == names.end()) {
    const std::string valid = names.empty() ? "none in " + data_root() : join(names);
    throw UserError("unknown {} {}; there are: {}{}", word(kind), quote(name_or_path), valid,
                    suggestion(name_or_path, names));
  }
  const fs::path root = data_root();
  return ((root == "." ? fs::path{} : root) / folder(kind) / (name_or_path + ".yaml")).string();
}

std::string name_of(const std::string& path) {
  return fs::path(path).stem().string();
}

}  // namespace leanstream::config
