#pragma once

#include <span>
#include <variant>

#include "cluster/nodes.h"
#include "gang/need.h"
#include "gang/no_fit.h"

namespace lockstep::gang {

// Seats for the whole gang on what is free now, or why there are none. Decides only: the caller occupies
// (`Occupy`). `barred`: nodes this gang may not use.
//
// Exact for alike pods. Pods of several classes: see mixed.h and NoFit::proved; pods with rules about other
// pods: related.h. Equal for equal clusters,
// whatever the order in which nodes and classes became known. A gang without pods fits, on no seats.
std::variant<Placement, NoFit> Place(cluster::Nodes& nodes, const Need& need,
                                     std::span<const cluster::NodeId> barred = {});

// Whether the gang fits now, without seats and reasons: for alike pods without rules about other pods a look
// at one number. "No" may be unproved as in NoFit.
bool Fits(cluster::Nodes& nodes, const Need& need, std::span<const cluster::NodeId> barred = {});

// Whether the gang could run on this cluster if nothing but daemons ran there. False only if that is proved.
// Remembered until nodes or daemons change.
bool IsPossible(cluster::Nodes& nodes, const Need& need);

// Why it is not possible: as Place, on the cluster without any pods but those of daemons.
std::variant<Placement, NoFit> PlaceOnEmpty(cluster::Nodes& nodes, const Need& need);

// Seats taken, or given back, as counted pods.
void Occupy(cluster::Nodes& nodes, const Need& need, const Placement& placement);
void Release(cluster::Nodes& nodes, const Need& need, const Placement& placement);

}  // namespace lockstep::gang
