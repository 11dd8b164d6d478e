#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/nodes.h"
#include "gang/need.h"

namespace lockstep::gang {

// Pods of one kind (an index into the kinds that were asked for) on one node.
struct KindShare {
  cluster::NodeId node = 0;
  int32_t kind = 0;
  int32_t pods = 0;

  friend bool operator==(const KindShare&, const KindShare&) = default;
};

struct MixedResult {
  std::vector<KindShare> shares;  // empty: no placement was found
  bool proved = true;             // where none was found: there is none
};

// Seats for a gang of several kinds of pods (distinct classes, counts > 0), in this order:
//   1. bounds: a kind alone, or as many of the smallest pod as there are pods, do not fit: there is no
//   placement
//   2. all kinds as pods of one envelope class, where they differ little (a master's init container)
//   3. the whole gang on the tightest single node
//   4. kind after kind, hardest first, then other orders
//   5. an exact search within a bound of work (exact.h): kExactWork steps, about a millisecond at most. Where
//   it ends first, `proved` is false and nobody knows; a gang of 3 kinds on 12 different nodes is well
//   within.
MixedResult PlaceMixed(cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                       std::span<const cluster::NodeId> barred);

}  // namespace lockstep::gang
