#pragma once

#include "cluster/node_facts.h"

namespace lockstep::cluster {

// A node whose kubelet reports not ready, or has fallen silent, takes no pods, tolerated or not: an assigned
// pod would hold its gang in Starting. kube-scheduler relies on the not-ready taint, which comes later and
// only where a controller-manager runs. A node that never had a Ready condition is judged by its taints.
bool RefuseNotReady(const NodeFacts& node);

}  // namespace lockstep::cluster
