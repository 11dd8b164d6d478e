#pragma once

#include <span>

#include "cluster/nodes.h"
#include "gang/need.h"

namespace lockstep::gang {

// `seats`: of each kind alone on the node. Where the node does not take the volumes of all kinds that have
// seats there, leaves them to the first ones that it takes together. True if a kind lost its seats: a search
// that finds nothing then proves nothing.
bool KeepWithinVolumeLimits(const cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                            cluster::NodeId node, std::span<int32_t> seats);

}  // namespace lockstep::gang
