#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "kube/api/api.h"

namespace lockstep::sim {

// Passes the events of a watch on after a delay, in order; while `stalled` says so they wait. Nothing is
// passed on after the handler was destroyed or told of the end.
class DelayedHandler : public kube::WatchHandler {
 public:
  DelayedHandler(Loop& loop, kube::WatchHandler& to, Duration delay, std::function<bool()> stalled)
      : loop_(loop), to_(to), delay_(delay), stalled_(std::move(stalled)) {}
  ~DelayedHandler() override { *alive_ = false; }
  DelayedHandler(const DelayedHandler&) = delete;
  DelayedHandler& operator=(const DelayedHandler&) = delete;

  void OnEvent(kube::WatchEventType type, std::string object) override {
    Enqueue([this, type, object = std::move(object)]() mutable { to_.OnEvent(type, std::move(object)); });
  }
  void OnTree(kube::WatchEventType type, const json::DocPtr& object) override {
    Enqueue([this, type, object] { to_.OnTree(type, object); });
  }
  void OnEnd(kube::Status status) override {
    Enqueue([this, status = std::move(status)]() mutable { to_.OnEnd(std::move(status)); });
  }

 protected:
  // Ends the watch for its client at once: what was under way is lost.
  void End(const kube::Status& status) {
    queue_.clear();
    Enqueue([this, status] { to_.OnEnd(status); });
  }

 private:
  static constexpr Duration kStallLook = milliseconds(100);
  struct Item {
    MonoTime due;
    Loop::Task task;
  };

  void Enqueue(Loop::Task task) {
    queue_.push_back({loop_.now().mono + delay_, std::move(task)});
    if (queue_.size() == 1) Schedule(queue_.front().due);
  }
  void Schedule(MonoTime when) {
    uint64_t turn = ++turn_;
    loop_.At(when, [this, alive = alive_, turn] {
      if (*alive && turn == turn_) Pass();
    });
  }
  void Pass() {
    std::shared_ptr<bool> alive = alive_;
    while (!queue_.empty()) {
      if (stalled_()) return Schedule(loop_.now().mono + kStallLook);
      if (queue_.front().due > loop_.now().mono) return Schedule(queue_.front().due);
      Loop::Task task = std::move(queue_.front().task);
      queue_.pop_front();
      task();  // may destroy this
      if (!*alive) return;
    }
  }

  Loop& loop_;
  kube::WatchHandler& to_;
  const Duration delay_;
  const std::function<bool()> stalled_;
  std::deque<Item> queue_;
  uint64_t turn_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::sim
