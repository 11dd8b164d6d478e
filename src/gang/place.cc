#include "gang/place.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "gang/alike.h"
#include "gang/mixed.h"
#include "gang/related.h"
#include "gang/related_reasons.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using cluster::View;

struct Kinds {
  std::vector<RoleNeed> list;    // distinct, in order of first role; roles without pods are none
  std::vector<int32_t> of_role;  // index into list; -1: no pods
  bool related = false;          // rules between pods are in play
};

bool SameIdentity(const RoleNeed& a, const RoleNeed& b) {
  return a.who == b.who || (a.who && b.who && *a.who == *b.who);
}

// Roles of one class are one kind; where rules between pods are in play, of one class and identity.
Kinds KindsOf(const Nodes& nodes, View view, const Need& need) {
  Kinds kinds;
  kinds.related = IsRelated(nodes, view, need);
  for (const RoleNeed& role : need.roles) {
    CHECK(role.count >= 0) << "a role cannot need " << role.count << " pods";
    kinds.of_role.push_back(-1);
    if (role.count == 0) continue;
    auto known = std::ranges::find_if(kinds.list, [&](const RoleNeed& kind) {
      return kind.pod_class == role.pod_class && (!kinds.related || SameIdentity(kind, role));
    });
    kinds.of_role.back() = static_cast<int32_t>(known - kinds.list.begin());
    if (known == kinds.list.end()) {
      kinds.list.push_back(role);
    } else {
      CHECK(known->count <= INT_MAX - role.count) << "more pods of one class than can be counted";
      known->count += role.count;
    }
  }
  return kinds;
}

RelatedResult Search(Nodes& nodes, View view, const Kinds& kinds, std::span<const NodeId> barred) {
  if (kinds.related) return PlaceRelated(nodes, view, kinds.list, barred);
  if (kinds.list.size() != 1) {
    MixedResult mixed = PlaceMixed(nodes, view, kinds.list, barred);
    return {std::move(mixed.shares), mixed.proved, {}};
  }
  RelatedResult result;
  const cluster::SeatIndex& index = nodes.Seats(kinds.list[0].pod_class, view);
  for (const Share& share : PlaceAlike(nodes, index, kinds.list[0].count, barred)) {
    result.shares.push_back({share.node, 0, share.pods});
  }
  return result;
}

// What an answer of Search depends on besides the nodes.
std::vector<uint64_t> QuestionOf(const Kinds& kinds, std::span<const NodeId> barred) {
  std::vector<uint64_t> question;
  for (const RoleNeed& kind : kinds.list) {
    question.insert(question.end(), {kind.pod_class, uint64_t(kind.count)});
    if (!kinds.related) continue;
    std::string text = kind.who ? kind.who->ns : "";
    if (kind.who) {
      for (const auto& [key, value] : kind.who->labels) text.append(1, '\n').append(key + "=" + value);
    }
    question.push_back(kind.who ? kind.who->hash : 0);
    question.push_back(text.size());
    for (size_t i = 0; i < text.size(); i += 8) {
      uint64_t word = 0;
      for (size_t at = i; at < std::min(i + 8, text.size()); ++at)
        word = word << 8 | static_cast<unsigned char>(text[at]);
      question.push_back(word);
    }
  }
  question.push_back(UINT64_MAX);
  question.insert(question.end(), barred.begin(), barred.end());
  return question;
}

// Whether there may be a placement; remembered until the nodes change. Only for what takes a search.
bool MayFit(Nodes& nodes, View view, const Kinds& kinds, std::span<const NodeId> barred, bool if_unproved) {
  std::vector<uint64_t> question = QuestionOf(kinds, barred);
  enum Answer { kNo, kYes, kUnproved };
  std::optional<int> known = nodes.Recall(view, question);
  if (!known) {
    RelatedResult result = Search(nodes, view, kinds, barred);
    known = !result.shares.empty() ? kYes : result.proved ? kNo : kUnproved;
    nodes.Remember(view, std::move(question), *known);
  }
  return *known == kUnproved ? if_unproved : *known == kYes;
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

// The record of many nodes is short where they come in the order of their names (api/placement_text.h), and
// ranks that follow each other are then near each other, as names go.
constexpr size_t kManyShares = 256;

void OrderByName(const Nodes& nodes, std::vector<KindShare>& shares) {
  if (shares.size() <= kManyShares) return;
  std::unordered_map<NodeId, size_t> rank;
  for (NodeId node : nodes.ByName()) rank.emplace(node, rank.size());
  std::ranges::sort(shares, {},
                    [&](const KindShare& share) { return std::pair(rank.at(share.node), share.kind); });
}

// Names the pods: the seats of each kind go to its roles in role order, node by node.
Placement NamePods(const Need& need, const Kinds& kinds, const std::vector<KindShare>& shares) {
  Placement placement;
  placement.seats.reserve(shares.size() + need.roles.size());
  std::vector<int32_t> next(need.roles.size());
  for (const KindShare& share : shares) {
    int32_t left = share.pods;
    for (size_t role = 0; role < need.roles.size() && left > 0; ++role) {
      if (kinds.of_role[role] != share.kind) continue;
      int32_t pods = std::min(left, need.roles[role].count - next[role]);
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
  Kinds kinds = KindsOf(nodes, view, need);
  if (kinds.list.empty()) return Placement{};
  RelatedResult result = Search(nodes, view, kinds, barred);
  if (!result.shares.empty()) {
    OrderByName(nodes, result.shares);
    if (kinds.list.size() > 1) GroupByNode(result.shares);
    return NamePods(need, kinds, result.shares);
  }
  NoFit no_fit = ReasonsFor(nodes, view, need, barred);
  if (kinds.related) AddRuleReasons(nodes, view, kinds.list, barred, no_fit);
  no_fit.limit = result.limit;
  no_fit.related = kinds.related;
  no_fit.proved = result.proved;
  return no_fit;
}

// One role of pods without rules between pods: a look at one number.
bool IsPlain(const Nodes& nodes, View view, const Need& need) {
  return need.roles.size() == 1 && !IsRelated(nodes, view, need);
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
  if (IsPlain(nodes, View::kNow, need)) {
    return SeatsFor(nodes.Seats(need.roles[0].pod_class), barred) >= need.roles[0].count;
  }
  Kinds kinds = KindsOf(nodes, View::kNow, need);
  if (kinds.list.empty()) return true;
  if (kinds.related) return MayFit(nodes, View::kNow, kinds, barred, /*if_unproved=*/false);
  if (kinds.list.size() == 1)
    return SeatsFor(nodes.Seats(kinds.list[0].pod_class), barred) >= kinds.list[0].count;
  return !Search(nodes, View::kNow, kinds, barred).shares.empty();
}

bool IsPossible(Nodes& nodes, const Need& need) {
  if (IsPlain(nodes, View::kEmpty, need)) {
    return nodes.Seats(need.roles[0].pod_class, View::kEmpty).total() >= need.roles[0].count;
  }
  Kinds kinds = KindsOf(nodes, View::kEmpty, need);
  if (kinds.list.empty()) return true;
  if (!kinds.related && kinds.list.size() == 1)
    return nodes.Seats(kinds.list[0].pod_class, View::kEmpty).total() >= kinds.list[0].count;
  return MayFit(nodes, View::kEmpty, kinds, {}, /*if_unproved=*/true);
}

void Occupy(Nodes& nodes, const Need& need, const Placement& placement) {
  for (const Seats& seats : placement.seats) {
    const RoleNeed& role = need.roles[seats.role];
    nodes.Occupy(seats.node, role.pod_class, seats.count, cluster::Tenure::kPod, role.who);
  }
}

void Release(Nodes& nodes, const Need& need, const Placement& placement) {
  for (const Seats& seats : placement.seats) {
    const RoleNeed& role = need.roles[seats.role];
    nodes.Release(seats.node, role.pod_class, seats.count, cluster::Tenure::kPod, role.who);
  }
}

}  // namespace lockstep::gang
