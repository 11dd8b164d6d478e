#pragma once

#include <optional>

#include "kube/model/pod.h"

namespace lockstep::kube {

// The part of a DaemonSet that says which nodes its pods come to, and what they take there.
struct DaemonSet {
  Meta meta;
  Labels labels;  // of its pods
  PodNeed need;   // of its pods, with the tolerations that its controller gives them all
};

// Errors name the field. Source: k8s.io/kubernetes/pkg/controller/daemon/util
// AddOrUpdateDaemonPodTolerations.
Result<DaemonSet> ParseDaemonSet(const json::Doc& object);

// Whether its controller makes a pod for this node: node name, selector and affinity match, and every
// NoSchedule and NoExecute taint is tolerated. Source: pkg/controller/daemon NodeShouldRunDaemonPod.
bool BelongsOn(const DaemonSet& set, const std::string& node_name, const Labels& labels,
               const std::vector<Taint>& taints);

}  // namespace lockstep::kube
