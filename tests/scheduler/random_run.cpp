#include "tests/scheduler/random_run.h"

#include <charconv>
#include <optional>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "tests/scheduler/any_order_world.h"

namespace leanstream::scheduler {
namespace {

// Any registered policy of a kind.
template <typename Kind>
std::string any_name(Choices& choices) {
  const auto& entries = policy::Registry<Kind>::instance().entries();
  return std::next(entries.begin(), static_cast<std::ptrdiff_t>(choices.below(entries.size())))
      ->first;
}

std::string any_cache(Choices& choices) {
  const std::string name = any_name<policy::CachePolicy>(choices);
  if (choices.one_in(2)) return name;
  if (name == "window") {
    return fmt::format("{{policy: window, tokens: {}}}", choices.from_to(1, 6));
  }
  if (name == "pinned")
    return choices.pick({"{policy: pinned, share: 0}", "{policy: pinned, share: 1}"});
  if (name == "hot_cold") return "{policy: hot_cold, hot_share: 0.7}";
  return name;
}

std::string any_loader(Choices& choices, std::int32_t block_neurons) {
  const std::string name = any_name<policy::Loader>(choices);
  if (name != "collapse" || choices.one_in(2)) return name;
  const std::int32_t block_bytes = 512 * block_neurons;
  const std::int32_t gap_blocks = choices.from_to(0, 5);
  return fmt::format("{{policy: collapse, gap: {} B, largest_read: {} B}}",
                     block_bytes * gap_blocks, block_bytes * choices.from_to(1, 9));
}

// Learned ones are files, which are tested elsewhere.
std::string any_placement(Choices& choices, std::int32_t prompt_tokens) {
  std::string name = any_name<policy::Placement>(choices);
  if (name == "file") name = "pairwise";
  if (!policy::fitted_in_run(name) || (prompt_tokens > 0 && choices.one_in(2))) return name;
  return fmt::format("{{policy: {}, fit_tokens: 1}}", name);
}

std::string any_controller(Choices& choices) {
  const std::string name =
      choices.one_in(2) ? any_name<policy::Controller>(choices) : std::string("static");
  const auto omega = [&] { return choices.from_to(1, 16); };
  if (name == "clusters") {
    return fmt::format("{{policy: clusters, cluster_neurons: {}}}", omega());
  }
  if (name != "static") return name;
  std::vector<std::int32_t> io, gpu;
  const std::int32_t stages = choices.pick({1, 1, 1, 2, 3, 8});
  for (std::int32_t s = 0; s < stages; ++s) {
    io.push_back(omega());
    gpu.push_back(omega());
  }
  return fmt::format("{{policy: static, omega_io: {}, omega_gpu: {}}}", io, gpu);
}

void draw_rules(SmallRun& run, Choices& choices) {
  run.select = choices.pick({Select::blocks, Select::neurons});
  run.final_at = choices.pick({FinalAt::residual, FinalAt::own_input});
  run.refine = choices.pick({false, true});
  run.compute_order = choices.pick({ComputeOrder::priority, ComputeOrder::flash});
  run.layer0 = choices.pick({LayerZero::previous_token, LayerZero::hottest});
  run.prefetch_limit = choices.pick({PrefetchLimit::plan, PrefetchLimit::fits});
  run.prefetch_cancel = choices.pick({PrefetchCancel::none, PrefetchCancel::queued});
  run.io_segment_sync = choices.pick({IoSegmentSync::barrier, IoSegmentSync::none});
  run.publish = choices.pick({Publish::segment, Publish::block});
  run.scope = choices.pick({Scope::shared, Scope::shared, Scope::even, Scope::by_miss_curve});
  run.io_lanes = choices.pick({1, 1, 2, 3});
  run.queue_depth = choices.pick({1, 1, 2, 5});
  run.prefill_merge_blocks = choices.pick({1, 4});
  run.end_token = choices.pick({kNone, kNone, AnyOrderWorld::kEndToken});
}

// The budget that a message names as the smallest; nothing when it is about something else.
std::optional<SlotId> smallest_named(std::string_view message) {
  const std::string_view before = " need ";
  const std::size_t at = message.find(before);
  SlotId slots = 0;
  if (at == std::string_view::npos) return std::nullopt;
  message.remove_prefix(at + before.size());
  const auto [end, error] = std::from_chars(message.begin(), message.end(), slots);
  LEANSTREAM_CHECK(error == std::errc(), "no number of blocks in '{}'", message);
  return slots;
}

// Of a run to its end: the prompt has one.
std::int64_t most_heads(const SmallRun& run) {
  return run.tokens - run.prompt_tokens + (run.prompt_tokens > 0 ? 1 : 0);
}

// Throws UserError when it is refused.
void run_once(SmallRun& run, Choices& choices) {
  std::optional<AnyOrderWorld> world;
  run.run_in([&](const policy::Predictor& predictor) -> backend::Backend& {
    return world.emplace(choices, predictor, run.ffn);
  });
  const bool failed = !run.failure.empty();
  const bool may_fail = world->unread_blocks() > run.read_retries;
  LEANSTREAM_CHECK(failed == world->gave_up() || (failed && may_fail), "it ended with '{}'",
                   run.failure);
  const bool ended = run.end_token != kNone && world->heads_to_end() > 0;
  const std::int64_t heads = ended ? world->heads_to_end() : most_heads(run);
  const auto decoded = static_cast<std::int64_t>(run.metrics.tokens.size());
  LEANSTREAM_CHECK(failed || decoded == heads - (run.prompt_tokens > 0 ? 1 : 0),
                   "{} tokens were decoded by {} heads", decoded, heads);
  LEANSTREAM_CHECK(run.metrics.slots_used_peak <= run.slots, "{} of {} slots were used",
                   run.metrics.slots_used_peak, run.slots);
}

}  // namespace

SmallRun draw_run(Choices& choices) {
  SmallRun run;
  run.seed = choices.below(1U << 16);
  run.layers = choices.from_to(1, 4);
  run.ffn = choices.from_to(4, 43);
  run.block_neurons = choices.from_to(1, 3);
  run.tokens = choices.from_to(2, choices.pick({6, 6, 6, 31}));
  run.prompt_tokens = choices.from_to(0, run.tokens - 1);
  run.density = 0.05 * choices.from_to(1, 20);
  draw_rules(run, choices);
  run.read_retries = choices.pick({100, 100, 3, 0});
  run.predictor = any_name<policy::Predictor>(choices);
  run.cache = any_cache(choices);
  run.controller = any_controller(choices);
  run.loader = any_loader(choices, run.block_neurons);
  run.placed = any_placement(choices, run.prompt_tokens);
  const auto omega = [&] { return choices.pick({1, 1, 2, 4, 16}); };
  const std::int32_t steps = run.controller == "clairvoyant_plan" ? run.tokens * run.layers : 0;
  for (std::int32_t i = 0; i < steps; ++i) run.sequence.push_back({omega(), omega()});
  const BlockId blocks = run.spec().geometry.blocks_per_layer;
  const SlotId all = run.layers * blocks;  // nearly all of it is where late reads matter
  run.slots =
      choices.one_in(2) ? choices.from_to(1, all + 8) : std::max(1, all - choices.from_to(0, 7));
  return run;
}

std::string describe(const SmallRun& run) {
  return fmt::format(
      "{} layers of {} neurons, k {}, {} tokens ({} prompt), density {}, {} slots, {} {} {} {} {} "
      "select {} refine {} own {} layer0 {} limit {} cancel {} sync {} publish {} scope {} lanes "
      "{} depth {} merge {} retries {} end {}",
      run.layers, run.ffn, run.block_neurons, run.tokens, run.prompt_tokens, run.density, run.slots,
      run.predictor, run.cache, run.loader, run.controller, run.placed,
      static_cast<int>(run.select), run.refine, static_cast<int>(run.final_at),
      static_cast<int>(run.layer0), static_cast<int>(run.prefetch_limit),
      static_cast<int>(run.prefetch_cancel), static_cast<int>(run.io_segment_sync),
      static_cast<int>(run.publish), static_cast<int>(run.scope), run.io_lanes, run.queue_depth,
      run.prefill_merge_blocks, run.read_retries, run.end_token);
}

bool run_in_any_order(SmallRun& run, Choices& choices) {
  try {
    run_once(run, choices);
    return true;
  } catch (const UserError& refused) {
    const auto smallest = smallest_named(refused.what());
    if (!smallest) return false;
    LEANSTREAM_CHECK(run.slots < *smallest, "{} slots, refused: {}", run.slots, refused.what());
    run.slots = *smallest;
  }
  try {
    run_once(run, choices);
  } catch (const UserError& refused) {
    LEANSTREAM_CHECK(!smallest_named(refused.what()), "the smallest budget: {}", refused.what());
  }
  return false;
}

}  // namespace leanstream::scheduler
