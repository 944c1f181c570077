#include "platforms/probe/probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/random.h"

namespace leanstream::probe {
namespace {

bool is_there(const Probe& probe, int repetition, const SampleFile& file) {
  return std::all_of(probe.figures.begin(), probe.figures.end(), [&](const FigureName& figure) {
    return file.has(probe.what, probe.parameters, repetition, figure.name);
  });
}

struct Turn {
  const Probe* probe;
  int repetition;
};

std::vector<Turn> turns_left(const Group& group, int repetitions, const SampleFile& file) {
  std::vector<Turn> turns;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const Probe& probe : group) {
      if (!is_there(probe, repetition, file)) turns.push_back({&probe, repetition});
    }
  }
  return turns;
}

void take(const Turn& turn, SampleFile& file) {
  const Probe& probe = *turn.probe;
  const std::vector<double> values = probe.measure(turn.repetition);
  LEANSTREAM_CHECK(values.size() == probe.figures.size(), "{} values of {} figures of {}",
                   values.size(), probe.figures.size(), probe.what);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto at_s = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < values.size(); ++i) {
    samples.push_back({probe.what, probe.parameters, turn.repetition, probe.figures[i].name,
                       values[i], probe.figures[i].unit, at_s});
  }
  file.append(samples);
}

}  // namespace

std::size_t missing(const std::vector<Group>& groups, int repetitions, const SampleFile& file) {
  std::size_t count = 0;
  for (const Group& group : groups) count += turns_left(group, repetitions, file).size();
  return count;
}

void measure(std::vector<Group> groups, int repetitions, SampleFile& file,
             const std::function<void(const Probe&)>& done) {
  RandomStream random(1, "probe.order");
  for (Group& group : groups) {
    std::vector<Turn> turns = turns_left(group, repetitions, file);
    for (std::size_t i = turns.size(); i > 1; --i) {
      std::swap(turns[i - 1], turns[random.next_below(i)]);
    }
    for (const Turn& turn : turns) {
      take(turn, file);
      done(*turn.probe);
    }
    group.clear();
  }
}

}  // namespace leanstream::probe
