#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shell/operator.h"
#include "sim/ground.h"

namespace lockstep::sim {

// The operators of a scenario: one, or several replicas of which one leads. Each has its own connection; a
// crash destroys it in the middle of whatever it did.
class Operators {
 public:
  struct Callbacks {
    std::function<void(const cluster::World&)> on_step;
    std::function<void(const std::string&)> on_log;
  };

  Operators(Ground& ground, cluster::Settings settings, Callbacks callbacks)
      : ground_(ground), settings_(settings), callbacks_(std::move(callbacks)) {}

  void Start();              // one more; with leader election once there were replicas
  void Replicas(int count);  // this many, with leader election
  void CrashAll();
  Outcome CrashLeader();
  Outcome StopLeader();  // as on SIGTERM: gives the lease up first
  bool someone_leads() const;
  size_t running() const { return replicas_.size(); }

 private:
  class Replica;
  size_t Leader() const;  // replicas_.size() if there is none

  Ground& ground_;
  const cluster::Settings settings_;
  const Callbacks callbacks_;
  bool elect_ = false;
  int next_ = 1;
  std::vector<std::shared_ptr<Replica>> replicas_;
};

}  // namespace lockstep::sim
