// A wake-up that costs a system call only when somebody sleeps.
#pragma once

#include <atomic>
#include <cstdint>

namespace leanstream::hardware {

class WakeFlag {
 public:
  // The sleeper: true when it may sleep, false when it was woken since disarm().
  bool arm() {
    auto idle = State::idle;
    return state_.compare_exchange_strong(idle, State::asleep);
  }
  // The sleeper, afterwards, whether it slept or not: what woke it counts no more.
  // An exchange, so that what the waker wrote before is seen.
  void disarm() { state_.exchange(State::idle); }

  // The waker: true when the sleeper must be rung out of its sleep.
  bool wake() { return state_.exchange(State::woken) == State::asleep; }

 private:
  enum class State : std::uint8_t { idle, asleep, woken };
  std::atomic<State> state_{State::idle};
};

}  // namespace leanstream::hardware
