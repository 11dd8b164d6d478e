#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// The attempt and the counters of a gang outlive its Gang object: an annotation of the job mirrors them from
// the moment when an attempt is over, and the pods of an attempt that is not over tell of themselves. So a
// gang that starts, runs and ends well costs no write.

// Remembers what the Gang says, and writes the annotation when it says less. Call it whenever a job advances.
void MirrorCounters(Draft& draft, cluster::GangState& gang);

// Attempts up to this one are over, and so much was counted, as far as annotation and memory know.
cluster::Counters OverSoFar(const cluster::GangState& gang);

// What a Gang that was made anew takes over; its attempt is at least that of any pod of the job.
void TakeOver(const cluster::GangState& gang, api::GangStatus& status);

}  // namespace lockstep::engine
