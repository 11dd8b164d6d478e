#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/nodes.h"

namespace lockstep::gang {

struct Share {
  cluster::NodeId node = 0;
  int32_t pods = 0;

  friend bool operator==(const Share&, const Share&) = default;
};

// How many pods of the class fit now, the barred nodes left out.
int64_t SeatsFor(const cluster::SeatIndex& index, std::span<const cluster::NodeId> barred);

// Seats for `pods` alike pods so that later gangs fit: on nodes without devices that the class has no use
// for, while those last; all on the tightest node that takes them all, else on the fewest nodes: fullest
// shares first, and the rest on the tightest node that takes it. Ties go by node name. Empty if they do not
// fit, which is exact: they fit if and only if the seats of all nodes add up to `pods`. `pods` > 0.
std::vector<Share> PlaceAlike(const cluster::Nodes& nodes, const cluster::SeatIndex& index, int32_t pods,
                              std::span<const cluster::NodeId> barred);

}  // namespace lockstep::gang
