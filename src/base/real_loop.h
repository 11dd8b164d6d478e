#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "base/loop.h"

namespace lockstep {

// CLOCK_BOOTTIME and CLOCK_REALTIME, read together. Boot time runs on while the machine sleeps, so a lease
// that has expired meanwhile is seen as expired.
Now ReadClocks();

// A Loop on the machine's clocks. Run() is called by the thread that owns everything on the loop.
class RealLoop final : public Loop {
 public:
  Now now() const override { return ReadClocks(); }
  void Post(Task task) override;
  TimerId At(MonoTime when, Task task) override;
  void Cancel(TimerId timer) override;

  // Runs tasks until Stop().
  void Run();
  // Runs tasks until `done()` holds, checked after every task; false if `limit` passed first or on Stop().
  bool RunUntilTrue(const std::function<bool()>& done, Duration limit);
  // May be called from any thread and, being one atomic store and a write, from a signal handler's thread.
  void Stop();

 private:
  // Takes and runs what is due; waits for more until `until`. False when stopped.
  bool RunSome(MonoTime until);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> posted_;  // guarded by mutex_
  bool stopped_ = false;      // guarded by mutex_

  // Only touched by the loop's own thread.
  TimerId next_id_ = 1;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
  std::map<TimerId, MonoTime> when_;
};

}  // namespace lockstep
