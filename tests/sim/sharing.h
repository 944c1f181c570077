// A second solver of the fabric's flows, to check it against: max-min fair shares by progressive
// filling, from event to event. Shares no code with the fabric.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/fabric.h"

namespace leanstream::sim {

class Sharing {
 public:
  explicit Sharing(const Fabric::Bandwidths& bandwidths) : bandwidths_(bandwidths) {}

  void start(Port port, const Flow& flow) {
    flows_.push_back({port, flow.delay_s, static_cast<double>(flow.bytes), flow.bytes_per_s, 0});
  }

  // The next port to end and its date.
  std::pair<Port, double> next() {
    for (;;) {
      solve();
      double step = std::numeric_limits<double>::infinity();
      std::size_t first = 0;
      for (std::size_t i = 0; i < flows_.size(); ++i) {
        const Shared& f = flows_[i];
        const double t = f.delay_s > 0 ? f.delay_s : f.bytes / f.rate;
        if (t < step) step = t, first = i;
      }
      now_ += step;
      const bool ends = flows_[first].delay_s <= 0;
      for (Shared& f : flows_) {
        if (f.delay_s > 0) {
          f.delay_s -= step;
        } else {
          f.bytes -= f.rate * step;
        }
      }
      if (ends) {
        const Port port = flows_[first].port;
        flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(first));
        return {port, now_};
      }
      flows_[first].delay_s = 0;
    }
  }

 private:
  struct Shared {
    Port port;
    double delay_s, bytes, bound, rate;
  };

  // All rates rise together; a flow stops at its bound or when one of its links is full.
  void solve() {
    std::vector<Shared*> rising;
    for (Shared& f : flows_) {
      f.rate = 0;
      if (f.delay_s <= 0) rising.push_back(&f);
    }
    double ssd = std::min(bandwidths_.ssd, bandwidths_.link);
    double dram = bandwidths_.dram;
    while (!rising.empty()) {
      const auto lanes =
          std::count_if(rising.begin(), rising.end(), [](auto* f) { return f->port < kLanes; });
      double rise = dram / static_cast<double>(rising.size());
      if (lanes > 0) rise = std::min(rise, ssd / static_cast<double>(lanes));
      for (const Shared* f : rising) rise = std::min(rise, f->bound - f->rate);
      for (Shared* f : rising) f->rate += rise;
      dram -= rise * static_cast<double>(rising.size());
      ssd -= rise * static_cast<double>(lanes);
      std::erase_if(rising, [&](const Shared* f) {
        return f->rate >= f->bound * (1 - 1e-12) || dram <= 1e-9 * bandwidths_.dram ||
               (f->port < kLanes && ssd <= 1e-9 * bandwidths_.ssd);
      });
    }
  }

  Fabric::Bandwidths bandwidths_;
  std::vector<Shared> flows_;
  double now_ = 0;
};

}  // namespace leanstream::sim
