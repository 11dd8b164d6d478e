#pragma once

#include <functional>
#include <thread>

#include "base/loop.h"

namespace lockstep::cli {

// SIGTERM and SIGINT as tasks on a loop. Made before any other thread, which all inherit the blocked signals.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Posts `on_stop` to `loop` at the first signal; a second one ends the process at once.
  void Watch(Loop& loop, std::function<void()> on_stop);

 private:
  std::thread thread_;
};

}  // namespace lockstep::cli
