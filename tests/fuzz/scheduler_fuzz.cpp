// Runs of small models under any rules and policies, in a world that completes commands in any
// legal order: every run must end, and the same bytes must give the same commands.
#include <cstdint>
#include <span>

#include <fuzzer/FuzzedDataProvider.h>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/base/random.h"
#include "tests/scheduler/random_run.h"

namespace leanstream::scheduler {
namespace {

// The commands' hash; "" for a run that was refused.
std::string play(const std::uint8_t* data, std::size_t size, std::uint64_t seed) {
  FuzzedDataProvider bytes(data, size);
  RandomStream rest(seed, "fuzz");  // when the bytes are used up, so that short inputs go on too
  Choices choices([&](std::uint64_t bound) {
    if (bytes.remaining_bytes() == 0) return rest.next_below(bound);
    return bytes.ConsumeIntegralInRange<std::uint64_t>(0, bound - 1);
  });
  SmallRun run = draw_run(choices);
  run_in_any_order(run, choices);
  return run.hash;
}

}  // namespace
}  // namespace leanstream::scheduler

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint64_t seed = leanstream::hash64(std::as_bytes(std::span(data, size)));
  const std::string commands = leanstream::scheduler::play(data, size, seed);
  if (seed % 8 == 0) {
    LEANSTREAM_CHECK(commands == leanstream::scheduler::play(data, size, seed),
                     "the same choices gave other commands");
  }
  return 0;
}
