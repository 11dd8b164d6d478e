#pragma once

#include <curl/curl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/loop.h"

namespace lockstep::kube {

// The I/O thread: a Loop that also drives any number of curl multi handles from one epoll, so that many idle
// watches cost nothing. Only Post() may be called from other threads.
class CurlLoop final : public Loop {
 public:
  // Called on the I/O thread when a transfer of that multi handle is over.
  using Finished = std::function<void(CURL*, CURLcode)>;

  CurlLoop();
  ~CurlLoop() override;
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  // Before Start(). `idle_connections`: how many are kept open for later use. The handle stays ours.
  CURLM* NewMulti(long idle_connections, Finished finished);
  void Start();
  // Ends the thread and waits for it; tasks and timers that have not run are dropped. Then everything that
  // lived on the thread may be destroyed by the caller.
  void Stop();

  Now now() const override;
  void Post(Task task) override;
  TimerId At(MonoTime when, Task task) override;
  void Cancel(TimerId timer) override;

 private:
  struct Multi {
    CurlLoop* loop;
    uint32_t index;
    CURLM* handle;
    Finished finished;
    std::optional<MonoTime> timer;
  };

  static int OnSocket(CURL*, curl_socket_t fd, int what, void* multi, void*);
  static int OnTimer(CURLM*, long timeout_ms, void* multi);

  void Run();
  int WaitMs() const;
  void RunPosted();
  void RunTimers();
  void RunMultiTimers();
  void ReportFinished();

  int epoll_ = -1;
  int wake_ = -1;  // an eventfd
  std::vector<std::unique_ptr<Multi>> multis_;
  std::thread thread_;
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  std::vector<Task> posted_;  // guarded by mutex_

  // Only touched by the I/O thread.
  TimerId next_id_ = 1;
  std::map<std::pair<MonoTime, TimerId>, Task> timers_;
  std::map<TimerId, MonoTime> when_;
};

}  // namespace lockstep::kube
