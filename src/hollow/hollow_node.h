#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "hollow/node_objects.h"
#include "kubelet/pod_life.h"

namespace lockstep::hollow {

// One pretended machine.
struct HollowNode {
  enum class State { kUp, kFrozen, kKubeletStopped, kCrashed };

  HollowNode(Loop& loop, NodeFacts node_facts, int64_t node_index)
      : facts(std::move(node_facts)), index(node_index), lease_timer(loop) {}

  NodeFacts facts;
  const int64_t index;
  State state = State::kUp;
  int64_t boots = 0;
  bool registered = false;
  std::vector<kube::Taint> api_taints;  // as the API server shows them
  kubelet::Usage admitted;              // what admission counts
  kubelet::Usage processes;             // what really runs
  std::set<std::string> pods;           // UIDs
  std::set<int> pod_ips;                // slots in use
  Timer lease_timer;

  bool up() const { return state == State::kUp; }
  // The lowest free address of the node's own range, taken.
  int TakePodIp();
  std::string PodIp(int slot) const;
};

std::string HostIp(int64_t index);

// One pod on its machine: what the kubelet keeps beside the life itself.
struct HollowPod {
  HollowPod(Loop& loop, HollowNode& on, kubelet::PodLife pod_life, kube::PodNeed pod_need)
      : node(on), life(std::move(pod_life)), need(std::move(pod_need)), timer(loop) {}

  HollowNode& node;
  kubelet::PodLife life;
  kube::PodNeed need;
  int ip_slot = 0;
  bool counted = false;          // in node.admitted
  bool process_counted = false;  // in node.processes
  std::optional<MonoTime> evict_at;
  Timer timer;

  // What happened while no kubelet looked.
  std::optional<int64_t> missed_first_grace, missed_last_grace;
  bool missed_vanishing = false;

  const std::string& uid() const { return life.shape().uid; }
};

// Tells the life what the kubelet missed. A suspended kubelet finds every event in its socket; a new one
// lists.
void CatchUp(HollowPod& pod, HollowNode::State was, Now now);

}  // namespace lockstep::hollow
