#pragma once

#include <string>
#include <vector>

#include "api/gang.h"
#include "cluster/quotas.h"
#include "gang/no_fit.h"

namespace lockstep::explain {

// Who has seats of a resource: "a holds 8".
struct Holder {
  std::string gang;
  kube::Amount amount = 0;
  std::optional<WallTime> since;  // it was placed then
};

// One sentence for people and a stable code for programs.
//
//   InsufficientResources  "needs 8 nvidia.com/gpu, 0 free; a holds 8"
//   Impossible             "can never run here: needs 64 nvidia.com/gpu, the cluster has 32"
//   Fragmented             "needs 8 nvidia.com/gpu, 8 free, but in too small pieces: ..."
//   NoMatchingNode         "no node takes its pods: 3 nodes lack the wanted labels, 1 has the taint
//   x=y:NoSchedule"
//   AntiAffinity, Affinity, TopologySpread, PodRules
//                          "its 4 pods keep apart by kubernetes.io/hostname: room for 3; 1 node is cordoned",
//                          "its 4 pods find 1 seat: 3 nodes are excluded by anti-affinity with bert"
//
// `holders`: who holds the resource in shortest supply, largest first; at most three are named.
api::GangReason ExplainNoFit(const gang::NoFit& no_fit, const std::vector<Holder>& holders);

// What a quota says to a gang.
//
//   QuotaExceeded  "quota team: asks for 8 requests.nvidia.com/gpu, used 4 of 8"
//   QuotaTooSmall  "can never start: asks for 16 requests.nvidia.com/gpu, quota team allows 8"
//   QuotaUnknown   "quota team: nobody has counted yet what of pods is used"
api::GangReason ExplainQuota(const cluster::QuotaLack& lack);

// "8 nvidia.com/gpu", "1500m cpu", "20Gi memory".
std::string AmountText(std::string_view resource, kube::Amount amount);
// The same without the resource: "8", "1500m", "20Gi". Nothing is less than 0.
std::string QuantityText(std::string_view resource, kube::Amount amount);

// "3 nodes have the taint team=x:NoSchedule".
std::string RefusedText(const gang::RefusedNodes& refused);
// The same of one node that was named before: "it has the taint team=x:NoSchedule".
std::string RefusedText(cluster::Reason reason, const std::string& detail);

}  // namespace lockstep::explain
