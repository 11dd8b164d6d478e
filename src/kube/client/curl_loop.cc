#include "kube/client/curl_loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/real_loop.h"

namespace lockstep::kube {
namespace {

constexpr uint64_t kWake = ~uint64_t{0};

// The multi handle and the socket that an epoll event is about.
uint64_t Tag(uint32_t index, int fd) { return (uint64_t{index} << 32) | static_cast<uint32_t>(fd); }

void InitCurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(once == CURLE_OK) << "curl_global_init: " << curl_easy_strerror(once);
}

}  // namespace

CurlLoop::CurlLoop() {
  InitCurl();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(epoll_ >= 0 && wake_ >= 0) << "epoll or eventfd: errno " << errno;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWake}};
  CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0) << "epoll_ctl: errno " << errno;
}

CurlLoop::~CurlLoop() {
  Stop();
  for (auto& multi : multis_) curl_multi_cleanup(multi->handle);
  close(wake_);
  close(epoll_);
}

CURLM* CurlLoop::NewMulti(long idle_connections, Finished finished) {
  CURLM* handle = curl_multi_init();
  CHECK(handle != nullptr) << "curl_multi_init";
  auto index = static_cast<uint32_t>(multis_.size());
  multis_.push_back(std::make_unique<Multi>(Multi{this, index, handle, std::move(finished), std::nullopt}));
  Multi* multi = multis_.back().get();
  curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, &CurlLoop::OnSocket);
  curl_multi_setopt(handle, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, &CurlLoop::OnTimer);
  curl_multi_setopt(handle, CURLMOPT_TIMERDATA, multi);
  curl_multi_setopt(handle, CURLMOPT_MAXCONNECTS, idle_connections);
  return handle;
}

void CurlLoop::Start() {
  CHECK(!thread_.joinable()) << "started twice";
  thread_ = std::thread([this] { Run(); });
}

void CurlLoop::Stop() {
  stopped_ = true;
  if (!thread_.joinable()) return;
  Post([] {});
  thread_.join();
  // Destroyed here, on the owner's thread, and outside the lock: a task may own things that post.
  std::vector<Task> dropped;
  {
    std::lock_guard lock(mutex_);
    dropped.swap(posted_);
  }
  timers_.clear();
  when_.clear();
}

Now CurlLoop::now() const { return ReadClocks(); }

void CurlLoop::Post(Task task) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(task));
  }
  uint64_t one = 1;
  // Can't fail but when the counter is full, and then the thread is awake anyway.
  if (first && write(wake_, &one, sizeof one) < 0) return;
}

Loop::TimerId CurlLoop::At(MonoTime when, Task task) {
  TimerId id = next_id_++;
  timers_.emplace(std::pair(when, id), std::move(task));
  when_.emplace(id, when);
  return id;
}

void CurlLoop::Cancel(TimerId timer) {
  auto found = when_.find(timer);
  if (found == when_.end()) return;
  timers_.erase({found->second, timer});
  when_.erase(found);
}

int CurlLoop::OnSocket(CURL*, curl_socket_t fd, int what, void* data, void*) {
  auto* multi = static_cast<Multi*>(data);
  // Nobody waits any more. And curl 7.88 tells the end of a connection that was still being made only after
  // it closed its socket, whose number may belong to another thread by now.
  if (multi->loop->stopped_) return 0;
  int epoll = multi->loop->epoll_;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);  // an error: it is closed already, which removed it
    return 0;
  }
  epoll_event event{.events = 0, .data = {.u64 = Tag(multi->index, fd)}};
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  return 0;
}

int CurlLoop::OnTimer(CURLM*, long timeout_ms, void* data) {
  auto* multi = static_cast<Multi*>(data);
  multi->timer.reset();
  if (timeout_ms >= 0) multi->timer = multi->loop->now().mono + milliseconds{timeout_ms};
  return 0;
}

void CurlLoop::Run() {
  // A TLS library may write to a connection that the server has closed; that must not end the program.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  std::array<epoll_event, 256> events;
  while (!stopped_) {
    int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), WaitMs());
    CHECK(count >= 0 || errno == EINTR) << "epoll_wait: errno " << errno;
    for (int i = 0; i < count; ++i) {
      uint64_t tag = events[static_cast<size_t>(i)].data.u64;
      uint32_t ready = events[static_cast<size_t>(i)].events;
      if (tag == kWake) {
        uint64_t ignored;
        if (read(wake_, &ignored, sizeof ignored) < 0) continue;
        continue;
      }
      int what = ((ready & EPOLLIN) ? CURL_CSELECT_IN : 0) | ((ready & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                 ((ready & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0);
      int running = 0;
      curl_multi_socket_action(multis_[tag >> 32]->handle, static_cast<int>(tag & 0xffffffffu), what,
                               &running);
    }
    RunMultiTimers();
    ReportFinished();
    RunTimers();
    RunPosted();
  }
}

int CurlLoop::WaitMs() const {
  constexpr int kLongest = 60'000;
  std::optional<MonoTime> next;
  if (!timers_.empty()) next = timers_.begin()->first.first;
  for (const auto& multi : multis_) {
    if (multi->timer && (!next || *multi->timer < *next)) next = multi->timer;
  }
  if (!next) return kLongest;
  auto wait = std::chrono::ceil<milliseconds>(*next - now().mono).count();
  return static_cast<int>(std::clamp<int64_t>(wait, 0, kLongest));
}

void CurlLoop::RunPosted() {
  std::vector<Task> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    if (stopped_) return;
    task();
  }
}

void CurlLoop::RunTimers() {
  MonoTime due = now().mono;
  while (!timers_.empty() && timers_.begin()->first.first <= due && !stopped_) {
    auto first = timers_.begin();
    Task task = std::move(first->second);
    when_.erase(first->first.second);
    timers_.erase(first);
    task();
  }
}

void CurlLoop::RunMultiTimers() {
  MonoTime due = now().mono;
  for (auto& multi : multis_) {
    if (!multi->timer || *multi->timer > due) continue;
    multi->timer.reset();
    int running = 0;
    curl_multi_socket_action(multi->handle, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void CurlLoop::ReportFinished() {
  for (auto& multi : multis_) {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi->handle, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      // The message dies with the removal of its handle, which the callee does.
      CURL* easy = message->easy_handle;
      CURLcode code = message->data.result;
      multi->finished(easy, code);
    }
  }
}

}  // namespace lockstep::kube
