#include "base/loop.h"

namespace lockstep {

void Timer::SetAt(MonoTime when, Loop::Task task) {
  Stop();
  armed_ = true;
  id_ = loop_.At(when, [this, task = std::move(task)] {
    armed_ = false;
    task();  // may set this timer again, or destroy its owner: nothing may follow
  });
}

void Timer::Stop() {
  if (!armed_) return;
  armed_ = false;
  loop_.Cancel(id_);
}

}  // namespace lockstep
