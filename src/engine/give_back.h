#pragma once

#include "engine/draft.h"

// How a gang loses its seats before it runs, and how it waits for others.
namespace lockstep::engine {

// Gives all seats back and queues the gang again after a back-off. Its pods become stale with this write and
// are deleted; the attempt number stays used.
void Undo(Draft& draft, cluster::GangState& gang, api::GangReason reason);

// The same through no fault of the job's: nothing is counted and no time is lost.
void PlaceAgain(Draft& draft, cluster::GangState& gang, api::GangStatus next, api::GangReason reason);

// A kubelet refused a pod that was assigned to it: not the job's fault, so nothing is counted. The node is
// barred for this gang for a growing time and the gang is placed again at once.
void BarAndUndo(Draft& draft, cluster::GangState& gang, const std::string& node, const std::string& why,
                api::GangReason reason);

// The first node of the placement that is no more.
const std::string* GoneNode(const Draft& draft, const cluster::GangState& gang);

// A gang without seats grows older, and is looked at again when its back-off or a bar ends.
void Wait(Draft& draft, cluster::GangState& gang);

// The Gang says of which roles it is; those may change while it waits.
void WriteRoles(Draft& draft, cluster::GangState& gang, const std::vector<api::GangRole>& wanted);

}  // namespace lockstep::engine
