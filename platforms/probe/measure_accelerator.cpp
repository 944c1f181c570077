// What the accelerator's commands take at shapes of their own.
#include <memory>

#include "platforms/probe/accelerator_rig.h"
#include "platforms/probe/probes.h"

namespace leanstream::probe {
namespace {

// Made when it is first needed, gone with its group.
class LazyRig {
 public:
  LazyRig(const Shape& shape, const Plan& plan) : shape_(shape), plan_(plan) {}
  AcceleratorRig& get() {
    if (!rig_) {
      rig_ = std::make_unique<AcceleratorRig>(shape_, plan_.threads, plan_.processors.accelerator);
    }
    return *rig_;
  }

 private:
  Shape shape_;
  const Plan& plan_;
  std::unique_ptr<AcceleratorRig> rig_;
};

std::vector<double> values_of(const PassTimes& t) {
  return {t.attention.wall_s, t.mlp.wall_s, t.head.wall_s,
          t.attention.work_s, t.mlp.work_s, t.head.work_s};
}

}  // namespace

std::vector<Group> accelerator_probes(const Plan& plan, const PathOf& path) {
  const std::vector<FigureName> figures{{"attention", "s"}, {"mlp", "s"},
                                        {"head", "s"},      {"attention work", "s"},
                                        {"mlp work", "s"},  {"head work", "s"}};
  std::vector<Group> groups;
  for (const Shape& shape : plan.shapes) {
    const auto rig = std::make_shared<LazyRig>(shape, plan);
    Group& group = groups.emplace_back();
    for_each_decode(plan, [&](std::size_t at, int segments, double share, Order order) {
      const auto how = kSynchronisations[at].first;
      group.push_back({kDecode, decode_parameters(shape, how, segments, share, order), figures,
                       [=, &plan](int repetition) {
                         return values_of(rig->get().decode(how, segments, share, order,
                                                            plan.layer_samples, repetition));
                       }});
    });
    group.push_back(
        {kPrefill, shape_parameters(shape), {{"attention", "s"}, {"mlp", "s"}}, [=, &plan](int) {
           const PassTimes t = rig->get().prefill(plan.prompt);
           return std::vector<double>{t.attention.wall_s, t.mlp.wall_s};
         }});
    if (&shape != &plan.shapes.front()) continue;  // starting does not depend on what is started
    for (const TimeNs idle_ns : plan.start_idle_ns) {
      group.push_back(
          {kStart, idle_parameters(idle_ns), {{"time", "s"}}, [=, &plan](int repetition) {
             const auto storage =
                 hardware::open_storage({.path = path(repetition), .engine = plan.engine});
             return std::vector<double>{rig->get().round_trip_s(*storage, idle_ns, plan.wakes)};
           }});
    }
  }
  return groups;
}

}  // namespace leanstream::probe
