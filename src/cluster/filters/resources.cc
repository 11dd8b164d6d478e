#include "cluster/filters/resources.h"

#include <algorithm>
#include <limits>

namespace lockstep::cluster {

Room RoomFor(std::span<const Request> requests, const kube::Amount* allocatable, const kube::Amount* used) {
  kube::Amount pods = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (request.column == kNoColumn || request.amount == kube::kMaxAmount) return {0, i};
    kube::Amount free = allocatable[request.column] - used[request.column];
    if (free < request.amount) return {0, i};
    // Most pods ask for one of something: the division is the cost of this loop.
    if (free / 2 < request.amount) {
      pods = 1;
    } else if (pods > 1) {
      pods = std::min(pods, free / request.amount);
    }
  }
  return {static_cast<int32_t>(pods), 0};
}

}  // namespace lockstep::cluster
