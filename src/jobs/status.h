#pragma once

#include <span>
#include <string>

#include "api/gang.h"
#include "jobs/framework.h"

namespace lockstep::jobs {

// What the engine knows about a job when its status is due.
struct JobFacts {
  const api::GangStatus* gang = nullptr;  // null before the Gang exists
  std::span<const RoleCounts> counts;     // empty or one per role
  Verdict verdict = Verdict::kGoesOn;
  size_t failed_role = 0;  // with kFailed and kRestart
  std::string failure;     // with kFailed: an own message (backoffLimit reached), or ""
};

// The status the job should have: conditions by upstream's setCondition rules in upstream's order, replica
// statuses, start and completion time. `Placed` (ours) stands first, so that the last condition and STATE
// stay as upstream's: Placed=False with the gang's reason while it waits, True from Placing on. Unchanged
// facts give an equal document: nothing is written then. lastReconcileTime is never written.
json::Doc NextStatus(const Job& job, const JobFacts& facts, WallTime now);

// The status of a job that breaks validation: Failed, reason <Kind>FailedValidation, every error in the
// message.
json::Doc InvalidStatus(const Framework& framework, const InvalidJob& job, WallTime now);

// A condition of type Succeeded or Failed is True: the job is over.
bool Finished(const json::Doc& status);

}  // namespace lockstep::jobs
