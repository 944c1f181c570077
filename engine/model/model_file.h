// Model files: the shape of a model by name.
#pragma once

#include <string>

#include "engine/config/document.h"
#include "engine/config/parameters.h"
#include "engine/model/shape.h"

namespace leanstream::model {

struct LoadedModel {
  ModelShape shape;
  std::string description;
  std::string reference;  // where the shape is published
  std::string path;
  std::string hash;
};

// The parameters of a shape; its name is that of the file.
const config::Table<ModelShape>& table();

// Reads a parsed model file; never throws. With errors the result is incomplete.
LoadedModel read_model(const config::Document& document, config::Diagnostics& diagnostics);

// Finds ("mistral-7b" or a path), loads and reads. Throws UserError with all errors.
LoadedModel load_model(const std::string& name_or_path);

}  // namespace leanstream::model
