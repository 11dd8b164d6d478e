#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Deletes one pod, by UID, with the grace its own spec asks for; nothing if it is being deleted already.
void DeletePod(Draft& draft, cluster::GangState& gang, const cluster::PodRecord& pod);

// Deletes the gang's record, by UID.
void DeleteGang(Draft& draft, cluster::GangState& gang);

// The job is another controller's now: its pods are left to that one, our record goes.
void LetGo(Draft& draft, cluster::GangState& gang);

// Removes what a job that is gone (or was replaced by one of the same name) left behind. A garbage collector
// would do it too, but not on every ground, and our pods hold seats meanwhile.
void RemoveOrphans(Draft& draft, cluster::GangState& gang);

// Deletes the pods of this job that the record does not explain: another attempt than the recorded one, or
// any while no placement is in force. True when none is left (a new attempt may start then).
bool RemoveStalePods(Draft& draft, cluster::GangState& gang);

// Reads the pods that may exist although no watch shows them: their creates had no answer. No new attempt is
// placed before that is known.
void ReadDoubtfulPods(Draft& draft, cluster::GangState& gang);

// A finished job: keeps, or deletes by cleanPodPolicy, what is left of it.
void CleanUp(Draft& draft, cluster::GangState& gang);

}  // namespace lockstep::engine
