#pragma once

#include "cluster/node_facts.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// spec.nodeSelector and required node affinity, matchFields included. Source: kube-scheduler NodeAffinity.
bool RefuseSelector(const kube::PodNeed& need, const NodeFacts& node);

}  // namespace lockstep::cluster
