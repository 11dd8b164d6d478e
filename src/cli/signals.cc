#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace lockstep::cli {

namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR1);  // ends the watching thread itself
  return set;
}

}  // namespace

Signals::Signals() {
  sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::~Signals() {
  if (!thread_.joinable()) return;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void Signals::Watch(Loop& loop, std::function<void()> on_stop) {
  thread_ = std::thread([&loop, on_stop = std::move(on_stop)] {
    sigset_t set = StopSignals();
    for (int stops = 0;;) {
      int signal = 0;
      if (sigwait(&set, &signal) != 0 || signal == SIGUSR1) return;
      if (++stops > 1) _exit(128 + signal);
      loop.Post(on_stop);
    }
  });
}

}  // namespace lockstep::cli
