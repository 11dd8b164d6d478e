#include "cluster/filters/selector.h"

namespace lockstep::cluster {

bool RefuseSelector(const kube::PodNeed& need, const NodeFacts& node) {
  return !need.nodes.empty() && !need.nodes.Matches(node.name, node.labels);
}

}  // namespace lockstep::cluster
