#include "base/real_loop.h"

#include <time.h>

#include <algorithm>

namespace lockstep {

namespace {

Duration Read(clockid_t clock) {
  timespec t{};
  CHECK(clock_gettime(clock, &t) == 0) << "clock " << clock;
  return std::chrono::duration_cast<Duration>(seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

// The longest wait without a timer; only bounds the arithmetic of wait_for.
constexpr Duration kLongWait = hours(1);

}  // namespace

Now ReadClocks() { return {MonoTime(Read(CLOCK_BOOTTIME)), WallTime(Read(CLOCK_REALTIME))}; }

void RealLoop::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    posted_.push_back(std::move(task));
  }
  wake_.notify_one();
}

Loop::TimerId RealLoop::At(MonoTime when, Task task) {
  TimerId id = next_id_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  when_.emplace(id, when);
  return id;
}

void RealLoop::Cancel(TimerId timer) {
  auto found = when_.find(timer);
  if (found == when_.end()) return;
  timers_.erase({found->second, timer});
  when_.erase(found);
}

void RealLoop::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
}

void RealLoop::Run() {
  while (RunSome(MonoTime::max())) {
  }
}

bool RealLoop::RunUntilTrue(const std::function<bool()>& done, Duration limit) {
  MonoTime end = now().mono + limit;
  while (!done()) {
    if (now().mono >= end || !RunSome(end)) return false;
  }
  return true;
}

bool RealLoop::RunSome(MonoTime until) {
  if (!timers_.empty()) {
    auto due = timers_.begin();
    if (due->first.first <= now().mono) {
      Task task = std::move(due->second);
      when_.erase(due->first.second);
      timers_.erase(due);
      task();
      until = MonoTime::min();  // the caller may be done now: take what is posted, but don't wait
    } else {
      until = std::min(until, due->first.first);
    }
  }
  std::vector<Task> batch;
  {
    std::unique_lock lock(mutex_);
    MonoTime start = now().mono;
    if (until > start) {
      wake_.wait_for(lock, std::min(until, start + kLongWait) - start,
                     [this] { return stopped_ || !posted_.empty(); });
    }
    if (stopped_) return false;
    batch.swap(posted_);
  }
  for (Task& task : batch) task();
  return true;
}

}  // namespace lockstep
