#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Gives every waiting gang a reason that is true now: on its Gang, on the job's Placed condition and, when
// the code changes, as an Event. A new reason is written at once; one whose numbers alone changed at most
// every kReasonInterval. Gangs that changed are looked at in the same step, the others of a long queue a part
// at a time.
void ExplainWaiting(Draft& draft);

// The reason of one gang that waits, as it is now.
api::GangReason WaitsFor(Draft& draft, const cluster::GangState& gang);

// The queue has not been gone through once since nodes or pods last changed.
bool MoreToExplain(const cluster::World& world);

}  // namespace lockstep::engine
