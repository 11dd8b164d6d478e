#pragma once

#include <cstdint>
#include <span>

#include "cluster/nodes.h"
#include "gang/mixed.h"

namespace lockstep::gang {

// Steps (options tried, states compared) before the search gives up: about a millisecond.
inline constexpr int64_t kExactWork = 200'000;

// Whether there is any placement at all, and one if so. Walks the nodes once and keeps, for each prefix of
// them, the set of pods still to be seated that no other choice beats; nodes in an equal state share their
// options. `proved` is false where the work ran out first.
MixedResult PlaceExactly(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                         std::span<const cluster::NodeId> barred, int64_t work = kExactWork);

}  // namespace lockstep::gang
