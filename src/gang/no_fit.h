#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/nodes.h"
#include "cluster/refusal.h"
#include "gang/need.h"
#include "gang/related_bound.h"

namespace lockstep::gang {

// Nodes without a seat for a pod, by reason.
struct RefusedNodes {
  cluster::Reason reason = cluster::Reason::kNone;
  std::string detail;  // kTaint: "key=value:NoSchedule"; kResource: the resource; kVolume: the claim;
                       // kSelector: the one node that is allowed, if the pod names it; kNoTopology and
                       // kSpread: the topology key; kAntiAffinity: who is there
  int32_t nodes = 0;

  friend bool operator==(const RefusedNodes&, const RefusedNodes&) = default;
};

// One resource, over all pods of the gang and all nodes that they may use at all. Thousandths.
struct Supply {
  std::string resource;
  kube::Amount needed = 0;
  kube::Amount free = 0;

  friend bool operator==(const Supply&, const Supply&) = default;
};

// Why the pods of one class do, or do not, find seats. Roles with the same class are one.
struct ClassFit {
  cluster::ClassId pod_class = 0;
  int32_t first_role = 0;  // index into Need::roles
  int32_t wanted = 0;      // pods
  int64_t seats = 0;       // for this class alone; >= wanted where only the mix of classes does not fit
  std::vector<RefusedNodes> refused;  // most nodes first; by rules between pods only nodes with seats
  std::vector<int32_t> host_ports;  // its pods want these, so that a node has a seat for one of them at most
};

struct NoFit {
  int32_t nodes = 0;  // looked at: all of them
  std::vector<ClassFit> classes;
  // The resource in shortest supply. Where `needed` <= `free`, what is free is in too small pieces.
  std::optional<Supply> shortest;
  // The rule between pods that leaves too little room whatever is free, if one does.
  std::optional<RuleLimit> limit;
  bool related = false;  // rules between pods are in play
  // It does not fit even without any pods but those of daemons: it can never run here as things are.
  bool never = false;
  // False where the bounded search gave up: a placement may exist (only for pods of several classes
  // or with rules about other pods).
  bool proved = true;
};

// The reasons that hold now for a gang that found no seats; `never` and `proved` are the caller's to fill.
NoFit ReasonsFor(cluster::Nodes& nodes, cluster::View view, const Need& need,
                 std::span<const cluster::NodeId> barred);

// RefusedNodes::detail of one refusal of a pod of the class.
std::string DetailOf(const cluster::Nodes& nodes, cluster::ClassId pod_class, cluster::Refusal refusal);

// "key=value:NoSchedule", "key:NoSchedule".
std::string TaintText(const kube::Taint& taint);

}  // namespace lockstep::gang
