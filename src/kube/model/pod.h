#pragma once

#include <string>
#include <vector>

#include "kube/model/meta.h"
#include "kube/model/pod_rules.h"
#include "kube/model/quantity.h"
#include "kube/model/selector.h"
#include "kube/model/taint.h"

namespace lockstep::kube {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

std::string_view PhaseText(PodPhase phase);

// One host port a pod asks for.
struct HostPort {
  std::string ip;        // "" and "0.0.0.0" are every address
  std::string protocol;  // "TCP" by default
  int32_t port = 0;
  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

// What a container's status says, main and init containers alike.
struct ContainerState {
  std::string name;
  bool init = false;
  bool sidecar = false;  // an init container with restartPolicy Always
  bool waiting = false, running = false, terminated = false;
  bool ever_started = false;  // running, terminated now, or a lastState
  std::string reason;         // of waiting or terminated
  int32_t exit_code = 0;      // of terminated
  int32_t restarts = 0;
};

// What a pod needs of its node; equal for all pods of one template.
struct PodNeed {
  // Effective requests: the larger of the init containers' peak and the sum of main and sidecar containers,
  // or pod-level resources where given, plus overhead. A limit without a request counts as the request.
  // Source: k8s.io/component-helpers/resource PodRequests.
  Resources requests;
  NodeConstraint nodes;
  std::vector<Toleration> tolerations;
  std::vector<HostPort> host_ports;
  PodRules rules;
  std::vector<PreferredNodes> preferred;  // preferred node affinity
  std::vector<std::string> claims;        // "ns/name" of its PersistentVolumeClaims; sorted, unique
  // The path of what only a scheduler of Kubernetes can finish on a node (claims of devices, a volume that is
  // made for the pod): such a pod is steered. Or "".
  std::string finisher;
  // Paths of rules of placement that nothing here can meet: pods with one are refused, by its name.
  std::vector<std::string> unmet;

  friend auto operator<=>(const PodNeed&, const PodNeed&) = default;
};

Result<PodNeed> ParsePodNeed(const json::Doc& pod);

// The part of a Pod that Lockstep reads.
struct Pod {
  Meta meta;
  PodNeed need;
  std::string node_name, scheduler_name, priority_class;
  std::string nominated_node;  // status.nominatedNodeName: a scheduler makes room for it there
  int32_t priority = 0;
  bool gated = false;  // has a scheduling gate
  std::string restart_policy;
  bool host_network = false;

  PodPhase phase = PodPhase::kPending;
  std::string reason, message;  // of status
  // A scheduler has said that no node has room (condition PodScheduled=False, reason Unschedulable), and how
  // it said so.
  std::optional<std::string> unschedulable;
  std::vector<ContainerState> containers;  // empty until a kubelet reports
  std::optional<WallTime> started_at;      // status.startTime
  // Why it was told to go through no fault of its own: the reason of its condition DisruptionTarget while
  // that is True (EvictionByEvictionAPI, PreemptionByScheduler, DeletionByTaintManager, DeletionByPodGC,
  // TerminationByKubelet). Source: k8s.io/api/core/v1, PodReasons.
  std::string disruption;

  bool terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
};

// Errors name the field; `meta` is readable even then through ParseMeta.
Result<Pod> ParsePod(const json::Doc& object);

// Every container terminated, or none ever started (DESIGN.md §4).
bool AllContainersEnded(const Pod& pod);

// Whether the pod still counts against its node: until it is terminal *and* every container has terminated or
// never started. Pod GC writes Failed while containers still run.
bool HoldsResources(const Pod& pod);

}  // namespace lockstep::kube
