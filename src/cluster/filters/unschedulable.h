#pragma once

#include "cluster/node_facts.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// A cordoned node takes no pods, unless they tolerate node.kubernetes.io/unschedulable:NoSchedule.
// Source: kube-scheduler NodeUnschedulable.
bool RefuseUnschedulable(const kube::PodNeed& need, const NodeFacts& node);

}  // namespace lockstep::cluster
