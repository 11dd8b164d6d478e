#pragma once

#include "engine/draft.h"
#include "jobs/status.h"

namespace lockstep::engine {

// Brings the job's status to what `facts` ask for, guarded by the version we know. A change of replica counts
// alone waits until kCountsInterval has passed since the last write. True if nothing is left to write.
bool WriteJobStatus(Draft& draft, cluster::GangState& gang, const jobs::JobFacts& facts);

// Marks a job that breaks validation Failed, with every broken field.
void RejectJob(Draft& draft, cluster::GangState& gang);

}  // namespace lockstep::engine
