#include "base/virtual_loop.h"

#include <algorithm>

namespace lockstep {

namespace {
constexpr Duration kWallStart = seconds(1767225600);  // 2026-01-01T00:00:00Z
}

VirtualLoop::VirtualLoop() : now_{MonoTime{}, WallTime{kWallStart}} {}

Loop::TimerId VirtualLoop::At(MonoTime when, Task task) {
  when = std::max(when, now_.mono);
  TimerId id = next_id_++;
  tasks_.emplace(Slot{when, id}, std::move(task));
  when_.emplace(id, when);
  return id;
}

void VirtualLoop::Cancel(TimerId timer) {
  auto found = when_.find(timer);
  if (found == when_.end()) return;
  tasks_.erase(Slot{found->second, timer});
  when_.erase(found);
}

bool VirtualLoop::RunOne() {
  if (tasks_.empty()) return false;
  auto next = tasks_.begin();
  Duration jump = next->first.when - now_.mono;
  now_ = {now_.mono + jump, now_.wall + jump};
  Task task = std::move(next->second);
  when_.erase(next->first.id);
  tasks_.erase(next);
  task();
  return true;
}

void VirtualLoop::RunUntil(MonoTime when) {
  while (!tasks_.empty() && tasks_.begin()->first.when <= when) RunOne();
  Duration jump = when - now_.mono;
  if (jump > Duration::zero()) now_ = {when, now_.wall + jump};
}

bool VirtualLoop::RunUntilTrue(const std::function<bool()>& done, Duration limit) {
  MonoTime end = now_.mono + limit;
  while (!done()) {
    if (tasks_.empty() || tasks_.begin()->first.when > end) return false;
    RunOne();
  }
  return true;
}

}  // namespace lockstep
