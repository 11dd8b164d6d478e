#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Where pods are bound (api::Way::kBind) they exist while their gang waits, so that an autoscaler sees what
// is missing: without a node, of the attempt to come, with the condition PodScheduled=False/Unschedulable.
// They hold nothing, and the placement that is written for that attempt takes them as they are.
// docs/decisions/0007.
//
// Whether this is such a pod of the job as it is now; any other pod of a gang without seats is a leftover.
bool IsWaitingPod(const cluster::World& world, const cluster::GangState& gang, const cluster::PodRecord& pod);

// Makes the waiting pods of the gangs that only lack room, and once all of one gang exist says on each that
// it waits. Only gangs that this step has looked at are considered: each change of a pod brings its gang
// back.
void ShowWaitingPods(Draft& draft);

}  // namespace lockstep::engine
