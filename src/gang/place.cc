#include "gang/place.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "gang/alike.h"
#include "gang/mixed.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using cluster::View;

// Roles of one class are one kind, in order of first role; roles without pods are none.
std::vector<RoleNeed> KindsOf(const Need& need) {
  std::vector<RoleNeed> kinds;
  for (const RoleNeed& role : need.roles) {
    CHECK(role.count >= 0) << "a role cannot need " << role.count << " pods";
    if (role.count == 0) continue;
    auto known = std::ranges::find(kinds, role.pod_class, &RoleNeed::pod_class);
    if (known == kinds.end()) {
      kinds.push_back(role);
    } else {
      CHECK(known->count <= INT_MAX - role.count) << "more pods of one class than can be counted";
      known->count += role.count;
    }
  }
  return kinds;
}

MixedResult Search(Nodes& nodes, View view, const std::vector<RoleNeed>& kinds,
                   std::span<const NodeId> barred) {
  if (kinds.size() != 1) return PlaceMixed(nodes, view, kinds, barred);
  MixedResult result;
  const cluster::SeatIndex& index = nodes.Seats(kinds[0].pod_class, view);
  for (const Share& share : PlaceAlike(nodes, index, kinds[0].count, barred)) {
    result.shares.push_back({share.node, 0, share.pods});
  }
  return result;
}

// Groups the shares by node: the node with a pod of kind 0 first, the others as they first appear.
void GroupByNode(std::vector<KindShare>& shares) {
  std::unordered_map<NodeId, size_t> order;
  auto lead = std::ranges::find(shares, 0, &KindShare::kind);
  if (lead != shares.end()) order.emplace(lead->node, 0);
  for (const KindShare& share : shares) order.emplace(share.node, order.size());
  std::ranges::stable_sort(shares, [&](const KindShare& a, const KindShare& b) {
    return std::pair(order.at(a.node), a.kind) < std::pair(order.at(b.node), b.kind);
  });
}

// Names the pods: the seats of each kind go to its roles in role order, node by node.
Placement NamePods(const Need& need, const std::vector<RoleNeed>& kinds,
                   const std::vector<KindShare>& shares) {
  Placement placement;
  placement.seats.reserve(shares.size() + need.roles.size());
  std::vector<int32_t> next(need.roles.size());
  for (const KindShare& share : shares) {
    int32_t left = share.pods;
    for (size_t role = 0; role < need.roles.size() && left > 0; ++role) {
      const RoleNeed& wanted = need.roles[role];
      if (wanted.pod_class != kinds[share.kind].pod_class) continue;
      int32_t pods = std::min(left, wanted.count - next[role]);
      if (pods == 0) continue;
      placement.seats.push_back({share.node, static_cast<int32_t>(role), next[role], pods});
      next[role] += pods;
      left -= pods;
    }
    CHECK(left == 0) << left << " seats more than pods";
  }
  return placement;
}

std::variant<Placement, NoFit> PlaceIn(Nodes& nodes, View view, const Need& need,
                                       std::span<const NodeId> barred) {
  std::vector<RoleNeed> kinds = KindsOf(need);
  if (kinds.empty()) return Placement{};
  MixedResult result = Search(nodes, view, kinds, barred);
  if (!result.shares.empty()) {
    if (kinds.size() > 1) GroupByNode(result.shares);
    return NamePods(need, kinds, result.shares);
  }
  NoFit no_fit = ReasonsFor(nodes, view, need, barred);
  no_fit.proved = result.proved;
  return no_fit;
}

}  // namespace

std::variant<Placement, NoFit> Place(Nodes& nodes, const Need& need, std::span<const NodeId> barred) {
  std::variant<Placement, NoFit> result = PlaceIn(nodes, View::kNow, need, barred);
  if (NoFit* no_fit = std::get_if<NoFit>(&result)) no_fit->never = !IsPossible(nodes, need);
  return result;
}

std::variant<Placement, NoFit> PlaceOnEmpty(Nodes& nodes, const Need& need) {
  std::variant<Placement, NoFit> result = PlaceIn(nodes, View::kEmpty, need, {});
  if (NoFit* no_fit = std::get_if<NoFit>(&result)) no_fit->never = no_fit->proved;
  return result;
}

bool Fits(Nodes& nodes, const Need& need, std::span<const NodeId> barred) {
  if (need.roles.size() == 1) {  // without the vector
    return SeatsFor(nodes.Seats(need.roles[0].pod_class), barred) >= need.roles[0].count;
  }
  std::vector<RoleNeed> kinds = KindsOf(need);
  if (kinds.empty()) return true;
  if (kinds.size() == 1) return SeatsFor(nodes.Seats(kinds[0].pod_class), barred) >= kinds[0].count;
  return !Search(nodes, View::kNow, kinds, barred).shares.empty();
}

bool IsPossible(Nodes& nodes, const Need& need) {
  if (need.roles.size() == 1) {
    return nodes.Seats(need.roles[0].pod_class, View::kEmpty).total() >= need.roles[0].count;
  }
  std::vector<RoleNeed> kinds = KindsOf(need);
  if (kinds.empty()) return true;
  if (kinds.size() == 1) return nodes.Seats(kinds[0].pod_class, View::kEmpty).total() >= kinds[0].count;
  std::vector<uint64_t> question;
  for (const RoleNeed& kind : kinds) question.insert(question.end(), {kind.pod_class, uint64_t(kind.count)});
  if (std::optional<int> known = nodes.Recall(View::kEmpty, question)) return *known != 0;
  MixedResult result = Search(nodes, View::kEmpty, kinds, {});
  bool possible = !result.shares.empty() || !result.proved;
  nodes.Remember(View::kEmpty, std::move(question), possible);
  return possible;
}

void Occupy(Nodes& nodes, const Need& need, const Placement& placement) {
  for (const Seats& seats : placement.seats) {
    nodes.Occupy(seats.node, need.roles[seats.role].pod_class, seats.count);
  }
}

void Release(Nodes& nodes, const Need& need, const Placement& placement) {
  for (const Seats& seats : placement.seats) {
    nodes.Release(seats.node, need.roles[seats.role].pod_class, seats.count);
  }
}

}  // namespace lockstep::gang
