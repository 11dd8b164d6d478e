#include "cluster/filters/readiness.h"

namespace lockstep::cluster {

bool RefuseNotReady(const NodeFacts& node) { return node.not_ready; }

}  // namespace lockstep::cluster
