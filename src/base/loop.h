#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace lockstep {

// The single thread on which a part of the shell lives. Every callback of the program (answers of an API
// server, watch events, timers) runs on a Loop, so the parts on it need no locks. RealLoop runs on the
// machine's clocks, VirtualLoop on simulated time; the code on it can't tell which.
class Loop {
 public:
  using Task = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~Loop() = default;

  virtual Now now() const = 0;

  // Runs `task` after all tasks posted before it. The only member that other threads may call.
  virtual void Post(Task task) = 0;

  // Runs `task` once at `when` (at once if that has passed). Equal times run in the order of their calls.
  virtual TimerId At(MonoTime when, Task task) = 0;
  TimerId After(Duration delay, Task task) { return At(now().mono + delay, std::move(task)); }

  // Does nothing if the timer has fired already.
  virtual void Cancel(TimerId timer) = 0;
};

// A timer that is cancelled when its owner goes, and replaced when it is set again.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { Stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void SetAt(MonoTime when, Loop::Task task);
  void SetAfter(Duration delay, Loop::Task task) { SetAt(loop_.now().mono + delay, std::move(task)); }
  void Stop();
  bool armed() const { return armed_; }

 private:
  Loop& loop_;
  Loop::TimerId id_ = 0;
  bool armed_ = false;
};

}  // namespace lockstep
