#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace lockstep::sim {

// A pod on a node, as far as other pods' rules ask. Points into what it was made from.
struct Neighbour {
  const std::string* ns = nullptr;
  const kube::Labels* labels = nullptr;
  const kube::PodNeed* need = nullptr;
  std::string node;
  bool leaving = false;
};

// Rules between pods, read off kube-scheduler 1.34 (plugins InterPodAffinity and PodTopologySpread) and
// sharing nothing with cluster/ and gang/. Slow and plain, so that it can be trusted.
//
// "" if `pod` may go to its node beside `others`; else the rule that is against it.
std::string RuleAgainst(const Neighbour& pod, const std::vector<Neighbour>& others,
                        const std::map<std::string, const kube::Node*>& nodes);

// Whether all of `pods` can go to their nodes one after another in some order; "" or the rule against one
// that is left. The emptiest domain goes first, which is enough wherever one spread constraint counts a pod.
std::string RuleAgainstAll(std::vector<Neighbour> pods, std::vector<Neighbour> others,
                           const std::map<std::string, const kube::Node*>& nodes);

// How many of `others` the pod's spread constraints count in the domains of its node.
int64_t CrowdAt(const Neighbour& pod, const std::vector<Neighbour>& others,
                const std::map<std::string, const kube::Node*>& nodes);

}  // namespace lockstep::sim
