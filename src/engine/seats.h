#pragma once

#include "engine/draft.h"

namespace lockstep::engine {

// Where the members of the recorded attempt stand.
struct Members {
  // One per role; a role's pods by index, null where no pod of this attempt exists.
  std::vector<std::vector<cluster::PodPtr>> pods;
  std::vector<jobs::RoleCounts> counts;
  int32_t wanted = 0, running = 0, succeeded = 0;
  int32_t existing = 0;                          // where pods are bound: with a node
  int32_t vanished = 0;                          // existed once in this attempt and are gone
  const cluster::PodRecord* refused = nullptr;   // its kubelet refused to admit it
  const cluster::PodRecord* unplaced = nullptr;  // steered: the scheduler that should bind it finds no room
  const cluster::PodRecord* broken = nullptr;    // waits with an error of image or configuration
  int32_t failed = 0;                            // where the job goes on: ranks that it can do without
  int32_t container_restarts = 0;                // in place, of the running ones
};

// The job with as many replicas as the recorded placement has: what is edited while a job runs acts from its
// next start. Kept in `storage` where that differs from the job as it is written.
const jobs::Job& AsPlaced(const cluster::GangState& gang, std::optional<jobs::Job>& storage);

// `job` is AsPlaced, here and below.
Members CountMembers(cluster::GangState& gang, const jobs::Job& job);

// The services that some rank looks up. They may come with the record of the placement, for they hold
// nothing. True when all exist.
bool CreateLookedUpServices(Draft& draft, cluster::GangState& gang, const jobs::Job& job);

// Creates what the recorded placement still lacks: first the services that ranks look up, then the pods, by
// the way that is on record with it; those that wait for their binding are bound. True when everything
// exists.
bool CreateMembers(Draft& draft, cluster::GangState& gang, const jobs::Job& job, const Members& members);

// A kubelet has refused a pod that was assigned to it: it never started, and says nothing of the program.
bool RefusedByKubelet(const cluster::PodRecord& pod);

// The node of one rank by the record, `role` as in the label; "" if it has none.
std::string SeatOf(const api::GangStatus& status, const std::string& role, int32_t index);

// The pod of one rank in an attempt. Without a node it waits for its binding.
void CreatePod(Draft& draft, cluster::GangState& gang, const jobs::Job& job, size_t role, int32_t index,
               int64_t attempt, api::Way way, const std::string& node);

// Binds a pod to its seat, once.
void BindPod(Draft& draft, cluster::GangState& gang, const cluster::PodRecord& pod, const std::string& node);

// The services that no rank looks up; made once the gang runs.
void CreateOtherServices(Draft& draft, cluster::GangState& gang, const jobs::Job& job);

}  // namespace lockstep::engine
