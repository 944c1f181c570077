#include "tests/scheduler/small_run.h"

#include "engine/backend/run_loop.h"
#include "engine/config/document.h"
#include "engine/scheduler/future_sets.h"

namespace leanstream::scheduler {
namespace {

template <typename Kind>
std::unique_ptr<Kind> make(const std::string& yaml, const typename Kind::Context& context) {
  config::Diagnostics diagnostics;
  const auto document = config::parse_document(yaml, "test", diagnostics);
  const auto choice = policy::Registry<Kind>::instance().choose(document.root, diagnostics);
  diagnostics.throw_if_any();
  return choice.make(context);
}

}  // namespace

RunSpec SmallRun::spec() const {
  model::ModelShape shape;
  shape.layers = layers;
  shape.hidden = 64;
  shape.ffn = ffn;
  RunSpec s;
  s.layers = layers;
  s.geometry = model::cut_into_blocks(shape, block_neurons, 512);
  s.slots = slots;
  s.prompt_tokens = prompt_tokens;
  s.tokens = tokens;
  s.density = density;
  s.select = select;
  s.final_at = final_at;
  s.refine = refine;
  s.compute_order = compute_order;
  return s;
}

void SmallRun::run() {
  if (!activations) activations = std::make_shared<SmallActivations>(tokens, layers, ffn, seed);
  const RunSpec s = spec();
  const auto p = make<policy::Predictor>(predictor, {activations.get(), seed});
  const auto k = make<policy::Controller>(
      controller, {layers, s.geometry.blocks_per_layer, s.geometry.block_neurons});
  const auto l = make<policy::Loader>(loader, {s.geometry.block_bytes});
  const FutureSets future(s, {p.get(), nullptr, k.get(), l.get(), activations.get()});
  const auto c = make<policy::CachePolicy>(
      cache, {layers, s.geometry.blocks_per_layer, slots, prompt_tokens, &future});
  Scheduler scheduler(s, {p.get(), c.get(), k.get(), l.get(), activations.get()});
  VirtualWorld world(costs, *p, ffn);
  world.fail_ticket = fail_ticket;
  backend::run(scheduler, world);
  transcript = world.transcript;
  blocks_read = world.blocks_read;
  failure = scheduler.failure();
  hash = scheduler.commands_hash();
  metrics = scheduler.metrics();
}

}  // namespace leanstream::scheduler
