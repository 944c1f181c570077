// Any text as an experiment and as a system: what is wrong is listed, nothing else happens.
#include <cstdint>
#include <string_view>

#include "engine/config/document.h"
#include "experiments/run/experiment.h"
#include "experiments/run/system_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace leanstream;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics parsing, experiment, system;
  const config::Document document = config::parse_document(text, "fuzz.yaml", parsing);
  run::expand(document, {}, experiment);
  run::read_system(document, {}, system);
  for (const auto* diagnostics : {&parsing, &experiment, &system}) diagnostics->text();
  return 0;
}
