#include "cluster/action.h"

namespace lockstep::cluster {

std::string_view KindText(ActionKind kind) {
  switch (kind) {
    case ActionKind::kCreateGang:
      return "create_gang";
    case ActionKind::kWriteGang:
      return "write_gang";
    case ActionKind::kReadGang:
      return "read_gang";
    case ActionKind::kCheckTemplate:
      return "check_template";
    case ActionKind::kCreateService:
      return "create_service";
    case ActionKind::kCreatePod:
      return "create_pod";
    case ActionKind::kReadPod:
      return "read_pod";
    case ActionKind::kBindPod:
      return "bind_pod";
    case ActionKind::kPatchPod:
      return "patch_pod";
    case ActionKind::kTellPodWaits:
      return "tell_pod_waits";
    case ActionKind::kDeletePod:
      return "delete_pod";
    case ActionKind::kDeleteService:
      return "delete_service";
    case ActionKind::kDeleteGang:
      return "delete_gang";
    case ActionKind::kWriteJobStatus:
      return "write_job_status";
    case ActionKind::kMirrorCounters:
      return "mirror_counters";
    case ActionKind::kRecordEvent:
      return "record_event";
  }
  return "unknown";
}

}  // namespace lockstep::cluster
