#include "cluster/filters/taints.h"

namespace lockstep::cluster {

std::optional<size_t> RefuseTaint(const kube::PodNeed& need, const NodeFacts& node) {
  const kube::Taint* taint = kube::FirstUntolerated(node.taints, need.tolerations);
  if (taint == nullptr) return std::nullopt;
  return static_cast<size_t>(taint - node.taints.data());
}

}  // namespace lockstep::cluster
