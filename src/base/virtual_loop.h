#pragma once

#include <map>

#include "base/loop.h"

namespace lockstep {

// Simulated time: it stands still while tasks run and jumps to the next timer when none is left. Two runs
// of the same program do the same things in the same order. Single-threaded.
class VirtualLoop final : public Loop {
 public:
  // Virtual time zero: 2026-01-01T00:00:00Z on the wall.
  VirtualLoop();

  Now now() const override { return now_; }
  void Post(Task task) override { At(now_.mono, std::move(task)); }
  TimerId At(MonoTime when, Task task) override;
  void Cancel(TimerId timer) override;

  // Time since virtual time zero.
  Duration elapsed() const { return now_.mono.time_since_epoch(); }

  // Runs the next task, moving time to it. False if there is none.
  bool RunOne();
  // Runs all tasks due up to `when` and leaves the time there.
  void RunUntil(MonoTime when);
  void RunFor(Duration duration) { RunUntil(now_.mono + duration); }
  // Runs until `done()` holds, checked after every task; false if `limit` of virtual time passed first.
  bool RunUntilTrue(const std::function<bool()>& done, Duration limit);

 private:
  struct Slot {
    MonoTime when;
    TimerId id;
    friend auto operator<=>(const Slot&, const Slot&) = default;
  };

  Now now_;
  TimerId next_id_ = 1;
  std::map<Slot, Task> tasks_;
  std::map<TimerId, MonoTime> when_;
};

}  // namespace lockstep
