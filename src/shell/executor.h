#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "cluster/action.h"
#include "kube/api/api.h"

namespace lockstep::shell {

// Sends the engine's actions and reports each answer once. It decides nothing: actions of one step touch
// different keys, so they go out together, at most `width` at a time; records of gangs and deletes overtake
// creates, Events go last.
class Executor {
 public:
  // Until when this process may write (it holds the lease); nothing: not at all. Asked right before every
  // send, and the request must be on its way by then.
  using Gate = std::function<std::optional<MonoTime>()>;
  using OnDone = std::function<void(const cluster::Action&, cluster::ActionDone, Duration took)>;

  Executor(kube::Api& api, Gate gate, OnDone on_done, size_t width = 64);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Run(std::vector<cluster::Action> actions);

  size_t in_flight() const { return in_flight_; }
  size_t queued() const;
  // What has not been sent will not be.
  void DropQueued();
  // An action was kept back because the gate was shut. Nothing is sent from then on.
  bool shut() const { return shut_; }

 private:
  void Pump();
  void Send(cluster::Action action, MonoTime until);

  kube::Api& api_;
  const Gate gate_;
  const OnDone on_done_;
  const size_t width_;
  std::array<std::deque<cluster::Action>, 3> lanes_;
  size_t in_flight_ = 0;
  bool shut_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::shell
