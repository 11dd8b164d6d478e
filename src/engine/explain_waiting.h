#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Gives every waiting gang a reason that is true now: on its Gang, on the job's Placed condition and, when the
// code changes, as an Event. A new reason is written at once; one whose numbers alone changed at most every
// kReasonInterval. Of a long queue a part is looked at in each step, in turn.
void ExplainWaiting(Draft& draft);

}  // namespace lockstep::engine
