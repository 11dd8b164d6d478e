#pragma once

#include <atomic>
#include <memory>

namespace lockstep::cluster {

// What `shared` points to, for this owner alone: copied if others see it too.
template <class T>
T& MakeOwn(std::shared_ptr<T>& shared) {
  if (shared.use_count() > 1) {
    shared = std::make_shared<T>(*shared);
  } else {
    // The last other owner, perhaps on another thread, has finished with it.
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return *shared;
}

}  // namespace lockstep::cluster
