#include "cluster/filters/unschedulable.h"

#include <algorithm>

namespace lockstep::cluster {

bool RefuseUnschedulable(const kube::PodNeed& need, const NodeFacts& node) {
  if (!node.unschedulable) return false;
  const kube::Taint cordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return std::ranges::none_of(
      need.tolerations, [&](const kube::Toleration& toleration) { return toleration.Tolerates(cordon); });
}

}  // namespace lockstep::cluster
