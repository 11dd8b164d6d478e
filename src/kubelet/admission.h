#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace lockstep::kubelet {

// Why a kubelet would not run a pod: what it writes to status.reason and status.message.
struct Refusal {
  std::string reason;   // "OutOfcpu", "OutOfnvidia.com/gpu", "OutOfpods", "NodeAffinity", "NodePorts", ...
  std::string message;  // starts with "Pod was rejected: "

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// What the admitted pods of a node use together.
struct Usage {
  kube::Resources requests;
  int64_t pods = 0;
  std::multiset<kube::HostPort> host_ports;

  void Add(const kube::PodNeed& need);
  void Remove(const kube::PodNeed& need);
};

// The part of a node that its kubelet admits by.
struct NodeShape {
  std::string name;
  kube::Labels labels;
  std::vector<kube::Taint> taints;
  kube::Resources allocatable;  // holds "pods"
};

// The kubelet's own check, after whoever chose the node. Rules and texts are those of pkg/kubelet/lifecycle
// predicate.go (1.34): requests, pod count, node selector and affinity, host ports, NoExecute taints; the
// first failure is the reason. An extended resource that the node does not list is not checked: the kubelet
// starts the pod without it.
std::optional<Refusal> RefusePod(const kube::PodNeed& pod, const NodeShape& node, const Usage& used);

// How long a pod may stay on a node with these taints; nullopt: for ever; zero: not at all. Only NoExecute
// taints evict. Source: pkg/controller/tainteviction.
std::optional<Duration> TimeUntilEviction(const std::vector<kube::Taint>& taints,
                                          const std::vector<kube::Toleration>& tolerations);

}  // namespace lockstep::kubelet
