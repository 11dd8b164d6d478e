#include "engine/claims.h"

#include <algorithm>

namespace lockstep::engine {

using cluster::ClaimState;

namespace {

api::GangReason ReasonFor(const std::string& claim, ClaimState state) {
  std::string name = claim.substr(claim.find('/') + 1);
  std::string uses = "its pods use the claim " + name;
  switch (state) {
    case ClaimState::kMissing:
      return {"ClaimNotReady", uses + ", which does not exist"};
    case ClaimState::kDeleting:
      return {"ClaimNotReady", uses + ", which is being deleted"};
    case ClaimState::kLost:
      return {"ClaimNotReady", uses + ", which has lost its volume"};
    case ClaimState::kUnbound:
      return {"ClaimNotReady", uses + ", which is not bound to a volume yet"};
    case ClaimState::kWaitsForConsumer:  // the pods are steered, so that a scheduler finds the volume
    case ClaimState::kUsable:
      break;
  }
  return {};
}

}  // namespace

void SetClaimRules(const cluster::Volumes& volumes, kube::PodNeed& need) {
  need.rules.together.clear();
  std::erase_if(need.rules.anti_affinity,
                [](const kube::PodTerm& term) { return term.topology_key == cluster::kWholeCluster; });
  for (const std::string& claim : need.claims) {
    const kube::VolumeClaim* known = volumes.claim(claim);
    const kube::Volume* volume = volumes.VolumeOf(claim);
    if (known != nullptr && known->one_pod) {
      need.rules.anti_affinity.push_back({cluster::UsersOf(claim), std::string(cluster::kWholeCluster)});
    } else if (volume != nullptr && volume->one_node) {
      need.rules.together.push_back({cluster::UsersOf(claim), std::string(cluster::kSameNode)});
    }
  }
}

std::optional<api::GangReason> HeldByClaim(const cluster::World& world, const cluster::GangState& gang) {
  const cluster::Volumes& volumes = world.nodes.volumes();
  for (const cluster::RoleState& role : gang.roles) {
    for (const std::string& claim : role.need.claims) {
      ClaimState state = volumes.StateOf(claim);
      if (state != ClaimState::kUsable && state != ClaimState::kWaitsForConsumer)
        return ReasonFor(claim, state);
    }
  }
  return {};
}

}  // namespace lockstep::engine
