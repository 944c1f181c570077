// The memory bus: its users share its bandwidth max-min fair. Everybody gets the same, but nobody
// more than he asks for.
#pragma once

#include <span>
#include <vector>

#include "sim/flow.h"

namespace leanstream::sim {

struct Claim {
  double bound = 0;   // asks for at most this
  double weight = 1;  // > 0; shares are in proportion to it
};

// The level w with Σ min(bound, w · weight) = capacity; infinite when Σ bound ≤ capacity. The share
// of a claim is min(bound, w · weight).
double fair_level(double capacity, std::span<const Claim> claims);

class BusUser {
 public:
  virtual ~BusUser() = default;
  // bytes/s it would draw now.
  virtual double demand() const = 0;
  // It gets so much from now on, 0 … demand().
  virtual void set_share(double bytes_per_s, double now_s) = 0;
  // Date of its next event with the present share; infinite: none.
  virtual double next_s() const = 0;
  // Everything of its own up to now_s happens.
  virtual void advance(double now_s) = 0;
};

class Bus {
 public:
  // Users outlive the bus.
  Bus(double bytes_per_s, std::vector<BusUser*> users);

  // Shares anew; to be called after anything happened, before next_s().
  void share(double now_s);
  double next_s() const;
  // Lets the users act whose events have come.
  void advance(double now_s);

 private:
  double capacity_;
  std::vector<BusUser*> users_;
  std::vector<Claim> claims_;
};

}  // namespace leanstream::sim
