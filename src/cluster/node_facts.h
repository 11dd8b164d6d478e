#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/model/node.h"

namespace lockstep::cluster {

// What a node says of itself, apart from amounts; shared by all copies of a world.
struct NodeFacts {
  std::string name;
  kube::Labels labels;
  std::vector<kube::Taint> taints;
  std::vector<uint16_t> taint_ids;  // as in Nodes::taint, parallel to `taints`
  bool unschedulable = false;
  bool not_ready = false;  // a Ready condition exists and is not True
  kube::Resources allocatable;
  std::vector<int32_t> devices;  // columns of the extended resources it has
};

}  // namespace lockstep::cluster
