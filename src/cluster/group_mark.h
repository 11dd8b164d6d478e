#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json/doc.h"
#include "kube/model/pod.h"

namespace lockstep::cluster {

// What a pod that no job of ours made says of the gang it wants to start with (docs/decisions/0008): by
// `lockstep.dev/gang` and `lockstep.dev/gang-size`, labels or annotations, with a scheduling gate or our
// schedulerName; or by our schedulerName and a PodGroup.
struct GroupMark {
  std::string name;        // "": it says that it is one of several, and not of which
  bool pod_group = false;  // `name` is a PodGroup's, which tells the size
  std::string size;        // as written
  std::vector<std::string> gates;
  bool gated = false;         // ours is among them
  bool ours_to_bind = false;  // by its schedulerName
  std::string seat;           // it is steered to this node
  json::DocPtr required;      // its own required node affinity; null if it has none
  kube::OwnerRef owner;       // its controller; no kind: it has none
  kube::Labels labels;
  WallTime created;
  kube::PodNeed need;
  int32_t priority = 0;
  // Named by the need, so that pods that need the same are of one role, also after a crash: by the need
  // before the pod was steered, under which the record seats it, and by the need as it is now.
  std::string role, role_now;
};
using GroupMarkPtr = std::shared_ptr<const GroupMark>;

// Null for a pod of no group, and for one of another scheduler's PodGroup.
GroupMarkPtr ReadGroupMark(const kube::Pod& pod, const json::Doc& object);

// The name of the gang of a pod: PodGroups have names of their own, and so has who does not say.
std::string GroupName(const kube::Meta& pod, const GroupMark& mark);

}  // namespace lockstep::cluster
