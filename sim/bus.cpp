#include "sim/bus.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace leanstream::sim {

// The level rises with each pass, since those that it satisfies leave more to the others; it stops
// when it satisfies nobody new.
double fair_level(double capacity, std::span<const Claim> claims) {
  LEANSTREAM_CHECK(capacity >= 0, "a capacity of {}", capacity);
  double level = 0;
  for (std::size_t pass = 0; pass <= claims.size(); ++pass) {
    double left = capacity;
    double weights = 0;
    for (const Claim& claim : claims) {
      if (claim.bound <= level * claim.weight) {
        left -= claim.bound;
      } else {
        weights += claim.weight;
      }
    }
    if (weights == 0) return kInfinity;
    const double next = std::max(left, 0.0) / weights;
    if (next <= level) break;
    level = next;
  }
  return level;
}

Bus::Bus(double bytes_per_s, std::vector<BusUser*> users)
    : capacity_(bytes_per_s), users_(std::move(users)), claims_(users_.size()) {
  LEANSTREAM_CHECK(bytes_per_s > 0, "a bus of {} bytes/s", bytes_per_s);
}

void Bus::share(double now_s) {
  double sum = 0;
  for (std::size_t i = 0; i < users_.size(); ++i) {
    claims_[i].bound = users_[i]->demand();
    sum += claims_[i].bound;
  }
  const double level = sum <= capacity_ ? kInfinity : fair_level(capacity_, claims_);
  for (std::size_t i = 0; i < users_.size(); ++i) {
    users_[i]->set_share(std::min(claims_[i].bound, level), now_s);
  }
}

double Bus::next_s() const {
  double next = kInfinity;
  for (const BusUser* user : users_) next = std::min(next, user->next_s());
  return next;
}

void Bus::advance(double now_s) {
  for (BusUser* user : users_) {
    if (user->next_s() <= now_s + kSameS) user->advance(now_s);
  }
}

}  // namespace leanstream::sim
