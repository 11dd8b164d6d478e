#include "cluster/filters/taints.h"

#include <algorithm>

namespace lockstep::cluster {

std::optional<size_t> RefuseTaint(const kube::PodNeed& need, const NodeFacts& node) {
  const kube::Taint* taint = kube::FirstUntolerated(node.taints, need.tolerations);
  if (taint == nullptr) return std::nullopt;
  return static_cast<size_t>(taint - node.taints.data());
}

size_t CountDisliked(const kube::PodNeed& need, const NodeFacts& node) {
  return static_cast<size_t>(std::ranges::count_if(node.taints, [&](const kube::Taint& taint) {
    return taint.effect == "PreferNoSchedule" &&
           std::ranges::none_of(need.tolerations, [&](const auto& t) { return t.Tolerates(taint); });
  }));
}

}  // namespace lockstep::cluster
