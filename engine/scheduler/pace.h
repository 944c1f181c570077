// How fast the devices have been of late: what `prefetch_limit: fits` goes by. Integer moving
// averages (weight 1/8), so that equal completions give equal estimates everywhere.
#pragma once

#include "engine/base/types.h"

namespace leanstream::scheduler {

class MovingAverage {
 public:
  void add(TimeNs sample) {
    value_ = known_ ? value_ + (sample - value_) / 8 : sample, known_ = true;
  }
  bool known() const { return known_; }
  TimeNs value() const { return value_; }

 private:
  TimeNs value_ = 0;
  bool known_ = false;
};

struct Pace {
  MovingAverage read_block_ns;
  MovingAverage compute_block_ns;
  MovingAverage attention_ns;
  MovingAverage head_ns;
  TimeNs last_read_ns = 0;   // end of the newest read
  TimeNs last_start_ns = 0;  // when the running attention or head was submitted

  bool known() const {
    return read_block_ns.known() && compute_block_ns.known() && attention_ns.known();
  }
};

}  // namespace leanstream::scheduler
