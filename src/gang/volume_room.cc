#include "gang/volume_room.h"

#include <algorithm>
#include <vector>

namespace lockstep::gang {

bool KeepWithinVolumeLimits(const cluster::Nodes& nodes, cluster::View view, std::span<const RoleNeed> kinds,
                            cluster::NodeId node, std::span<int32_t> seats) {
  auto has_claims = [&](const RoleNeed& kind) {
    return !nodes.pod_class(kind.pod_class).need.claims.empty();
  };
  if (std::ranges::none_of(kinds, has_claims)) return false;
  bool lost = false;
  std::vector<cluster::ClassId> chosen;
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    if (seats[kind] == 0) continue;
    chosen.push_back(kinds[kind].pod_class);
    if (nodes.TakesVolumes(node, chosen, view)) continue;
    chosen.pop_back();
    seats[kind] = 0;
    lost = true;
  }
  return lost;
}

}  // namespace lockstep::gang
