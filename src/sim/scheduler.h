#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/loop.h"
#include "sim/ground.h"

namespace lockstep::sim {

// A pretended scheduler beside ours, as much of one as stories need: it binds the pods that name it, one by
// one and without their gates, to the first node by name that takes them, and says Unschedulable of those
// that no node takes. It looks again a moment after anything has changed.
class Scheduler {
 public:
  Scheduler(Ground& ground, std::string name, std::string refuses);

  ~Scheduler() { *alive_ = false; }
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void Wake();  // something has changed

 private:
  void Look();
  void Bind(const SeenPod& pod, const std::string& node);
  void Refuse(const SeenPod& pod);
  void Send(kube::Request request, const std::string& uid);

  Ground& ground_;
  const std::string name_, refuses_;
  Timer timer_;
  bool awake_ = false;
  std::set<std::string> under_way_;  // UIDs of pods with a write in flight
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockstep::sim
