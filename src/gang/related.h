#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cluster/nodes.h"
#include "gang/mixed.h"
#include "gang/need.h"
#include "gang/related_bound.h"

namespace lockstep::gang {

// Gangs whose pods have required rules about other pods (affinity, anti-affinity, topology spread), or that
// anti-affinity of pods that are there keeps away. All others never come here.
bool IsRelated(const cluster::Nodes& nodes, cluster::View view, const Need& need);

// Whether anti-affinity of pods that are there keeps some of its pods from some nodes.
bool IsKeptAway(const cluster::Nodes& nodes, const Need& need, cluster::View view = cluster::View::kNow);

struct RelatedResult {
  std::vector<KindShare> shares;   // empty: no placement was found
  bool proved = true;              // where none was found: there is none
  std::optional<RuleLimit> limit;  // the rule that proves it, if one does
};

// Seats for kinds of pods (distinct in class or identity, counts > 0), such that they could be put there one
// after another, in some order, each where kube-scheduler would let it go: pods of the gang count for each
// other's rules. In this order:
//   1. bounds: a rule alone leaves too little room (related_bound.h)
//   2. pod after pod, in two orders of kinds: for spread constraints the emptiest domain first, else as
//      tightly as can be; pods that must be near each other are tried in the tightest domain first
//   3. an exact search within a bound of work (related_exact.h)
// Exact for alike pods with one rule; beyond that, "none" may be unproved for gangs of many pods.
RelatedResult PlaceRelated(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                           std::span<const cluster::NodeId> barred);

}  // namespace lockstep::gang
