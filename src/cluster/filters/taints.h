#pragma once

#include <cstddef>
#include <optional>

#include "cluster/node_facts.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// The place in `node.taints` of the first NoSchedule or NoExecute taint that the pod does not tolerate.
// Source: kube-scheduler TaintToleration. PreferNoSchedule is a preference and refuses nothing.
std::optional<size_t> RefuseTaint(const kube::PodNeed& need, const NodeFacts& node);

// How many PreferNoSchedule taints of the node the pod does not tolerate.
size_t CountDisliked(const kube::PodNeed& need, const NodeFacts& node);

}  // namespace lockstep::cluster
