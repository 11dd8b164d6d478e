#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gang.h"

namespace lockstep::api {

// How a placement is written into a Gang's status, so that a person can read it and 20,000 pods stay short.
//
//   gpu-7=Master/0,Worker/0-6               the Master and Workers 0 to 6 on node gpu-7
//   gpu-{07..31}=Worker/0-199               Workers 0 to 199 on gpu-07 to gpu-31: alike on each, here eight
//   ip-10-1-2-{15,7}.internal=Worker/0-3    Workers 0 and 1 on ip-10-1-2-15.internal, 2 and 3 on the other
//   gpu-{1*2,4,9*3}=Worker/0-5              two on gpu-1, one on gpu-4, three on gpu-9
//
// Each pod of a node group follows the last of the node before, so nodes are grouped as they follow each
// other in `placement`: in the order of their names they take the least.
std::vector<std::string> PlacementText(const std::vector<NodeSeats>& placement);

// One entry, appended to `placement`; false if it can't be read, or would make more than `max_nodes`.
bool ParsePlacementText(std::string_view entry, size_t max_nodes, std::vector<NodeSeats>& placement);

}  // namespace lockstep::api
