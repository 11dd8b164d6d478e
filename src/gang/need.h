#pragma once

#include <cstdint>
#include <vector>

#include "cluster/nodes.h"

namespace lockstep::gang {

struct RoleNeed {
  cluster::ClassId pod_class = 0;
  int32_t count = 0;  // may be 0
  // What these pods are to other pods, their own rules included. Null: nothing.
  cluster::PodIdentityPtr who = nullptr;

  friend bool operator==(const RoleNeed&, const RoleNeed&) = default;
};

// What a gang needs at one time: all pods of all its roles, in role order.
struct Need {
  std::vector<RoleNeed> roles;

  friend bool operator==(const Need&, const Need&) = default;
};

// Pods `first` to `first + count - 1` of a role, on one node.
struct Seats {
  cluster::NodeId node = 0;
  int32_t role = 0;  // index into Need::roles
  int32_t first = 0;
  int32_t count = 0;

  friend bool operator==(const Seats&, const Seats&) = default;
};

// A seat for every pod of a gang: grouped by node, every (role, index) exactly once. Index 0 of the first
// role is on the first node.
struct Placement {
  std::vector<Seats> seats;

  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace lockstep::gang
