#pragma once

#include <optional>

#include "cluster/world.h"

namespace lockstep::engine {

// The rules between pods that come from the claims of a pod: users of a ReadWriteOnce volume share a node, a
// ReadWriteOncePod claim has one user. Replaces those that `need` has of this kind.
void SetClaimRules(const cluster::Volumes& volumes, kube::PodNeed& need);

// Why the claims of its pods keep a gang from starting on whatever node, if they do.
std::optional<api::GangReason> HeldByClaim(const cluster::World& world, const cluster::GangState& gang);

}  // namespace lockstep::engine
