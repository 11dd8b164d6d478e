#pragma once

#include <string>

#include "cluster/event.h"
#include "kube/api/api.h"

namespace lockstep::cluster {

enum class ActionKind {
  kCreateGang,
  kWriteGang,      // Gang.status, guarded by resourceVersion
  kReadGang,       // a fresh read, before pods are deleted that our copy of the Gang does not explain
  kCheckTemplate,  // a dry-run create of one pod
  kCreateService,
  kCreatePod,
  kReadPod,  // a fresh read, before a new attempt, of one whose create had no answer
  kBindPod,
  kPatchPod,      // a pod of somebody else's: steered, or its gate lifted
  kTellPodWaits,  // a condition of its status, for autoscalers
  kDeletePod,
  kDeleteService,
  kDeleteGang,
  kWriteJobStatus,  // guarded by resourceVersion
  kMirrorCounters,  // into an annotation of the job; the same
  kRecordEvent,     // may be lost
};

std::string_view KindText(ActionKind kind);

// Something the engine wants done, as the request to send. Two actions that touch the same key are never in
// flight at the same time, so the executor may send all it has at once and in any order.
struct Action {
  ActionId id = 0;
  ActionKind kind = ActionKind::kRecordEvent;
  std::string gang;     // the GangState it belongs to
  std::string touches;  // "pods/ns/name", "gangs/ns/name", ...
  kube::Request request;
};

}  // namespace lockstep::cluster
