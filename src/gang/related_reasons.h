#pragma once

#include <span>

#include "cluster/nodes.h"
#include "gang/no_fit.h"

namespace lockstep::gang {

// Adds to each class of `no_fit` the nodes that have seats for it and are out by rules between pods, as
// things stand before any pod of the gang is placed; its `seats` then are those that are left. `kinds` as in
// PlaceRelated.
void AddRuleReasons(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                    std::span<const cluster::NodeId> barred, NoFit& no_fit);

}  // namespace lockstep::gang
