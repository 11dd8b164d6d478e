#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Step 3 for a gang that no job of ours made (engine/group.h): its pods are counted and checked, its record
// is made; with a placement on record they are bound or steered, and once all are steered their gates are
// lifted.
void AdvanceGroup(Draft& draft, cluster::GangState& gang);

// A placement for the pods without a node as it is recorded: of the whole gang, those that have their nodes
// included, and by roles that outlast the steering.
std::vector<api::NodeSeats> OfWholeGroup(const cluster::GangState& gang,
                                         std::vector<api::NodeSeats> placement);

}  // namespace lockstep::engine
