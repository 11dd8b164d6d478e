#pragma once

#include <string>
#include <vector>

#include "kube/model/meta.h"
#include "kube/model/quantity.h"
#include "kube/model/taint.h"

namespace lockstep::kube {

struct NodeCondition {
  std::string type, status, reason;
};

// The part of a Node that Lockstep reads.
struct Node {
  Meta meta;
  bool unschedulable = false;
  std::vector<Taint> taints;
  Resources allocatable;  // status.allocatable, else status.capacity; holds "pods"
  std::string boot_id;    // status.nodeInfo.bootID
  std::vector<NodeCondition> conditions;

  bool ready() const;  // condition Ready is True
};

Result<Node> ParseNode(const json::Doc& object);

}  // namespace lockstep::kube
