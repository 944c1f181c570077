// Printing what `list` knows.
#pragma once

#include <string>

#include "engine/config/parameter_info.h"

namespace leanstream::commands {

// Rows (objects of scalars) as columns under the keys of the first row; texts of the last column
// are wrapped at 100 columns.
std::string table_text(const config::Json& rows);

// "key: value" lines of the scalars of an object, then each list of rows as a table.
std::string object_text(const config::Json& object);

}  // namespace leanstream::commands
