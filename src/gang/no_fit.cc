#include "gang/no_fit.h"

#include <algorithm>
#include <map>

#include "gang/alike.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using cluster::Reason;
using cluster::SeatIndex;
using cluster::View;

std::string NameOf(const std::string& claim) { return claim.substr(claim.find('/') + 1); }

std::vector<RefusedNodes> Refused(const Nodes& nodes, const SeatIndex& index, cluster::ClassId pod_class,
                                  std::span<const NodeId> barred) {
  std::map<std::pair<Reason, std::string>, int32_t> counts;
  for (const SeatIndex::Count& count : index.refused()) {
    if (count.nodes > 0)
      counts[{count.refusal.reason, DetailOf(nodes, pod_class, count.refusal)}] += count.nodes;
  }
  for (size_t i = 0; i < barred.size(); ++i) {
    if (!nodes.Has(barred[i]) || std::ranges::find(barred.first(i), barred[i]) != barred.first(i).end())
      continue;
    if (index.seats(barred[i]) > 0) ++counts[{Reason::kBarred, ""}];
  }
  std::vector<RefusedNodes> refused;
  refused.reserve(counts.size());
  for (const auto& [key, number] : counts) refused.push_back({key.first, key.second, number});
  std::ranges::stable_sort(refused, std::greater(), &RefusedNodes::nodes);
  return refused;
}

// Roles may use different nodes; a resource is as free as the role that sees most of it finds.
std::optional<Supply> ShortestOf(Nodes& nodes, View view, std::span<const ClassFit> classes) {
  std::map<std::string, Supply> supplies;
  for (const ClassFit& fit : classes) {
    std::vector<kube::Amount> free = nodes.FreeFor(fit.pod_class, view);
    const std::vector<cluster::Request>& requests = nodes.pod_class(fit.pod_class).requests;
    for (size_t i = 0; i < requests.size(); ++i) {
      Supply& supply = supplies[requests[i].name];
      supply.needed = kube::AddAmounts(supply.needed, kube::MultiplyAmount(requests[i].amount, fit.wanted));
      supply.free = std::max(supply.free, free[i]);
    }
  }
  std::optional<Supply> shortest;
  auto shorter = [](const Supply& a, const Supply& b) {
    __int128 left = __int128{a.free} * b.needed, right = __int128{b.free} * a.needed;
    if (left != right) return left < right;
    return cluster::IsExtended(a.resource) && !cluster::IsExtended(b.resource);
  };
  for (auto& [name, supply] : supplies) {
    supply.resource = name;
    if (supply.needed > 0 && (!shortest || shorter(supply, *shortest))) shortest = supply;
  }
  return shortest;
}

}  // namespace

std::string DetailOf(const Nodes& nodes, cluster::ClassId pod_class, cluster::Refusal refusal) {
  const cluster::PodClass& kind = nodes.pod_class(pod_class);
  switch (refusal.reason) {
    case Reason::kTaint:
      return TaintText(nodes.taint(refusal.detail));
    case Reason::kResource:
      return kind.requests[refusal.detail].name;
    case Reason::kSelector:
      return kind.need.nodes.node;
    case Reason::kVolume:
      return NameOf(kind.need.claims[refusal.detail]);
    default:
      return "";
  }
}

std::string TaintText(const kube::Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

NoFit ReasonsFor(Nodes& nodes, View view, const Need& need, std::span<const NodeId> barred) {
  NoFit no_fit;
  no_fit.nodes = static_cast<int32_t>(nodes.size());
  for (size_t role = 0; role < need.roles.size(); ++role) {
    const RoleNeed& wanted = need.roles[role];
    if (wanted.count == 0) continue;
    auto known = std::ranges::find(no_fit.classes, wanted.pod_class, &ClassFit::pod_class);
    if (known != no_fit.classes.end()) {
      known->wanted += wanted.count;
      continue;
    }
    const SeatIndex& index = nodes.Seats(wanted.pod_class, view);
    ClassFit fit{
        .pod_class = wanted.pod_class, .first_role = static_cast<int32_t>(role), .wanted = wanted.count};
    fit.seats = SeatsFor(index, barred);
    fit.refused = Refused(nodes, index, wanted.pod_class, barred);
    for (const kube::HostPort& port : nodes.pod_class(wanted.pod_class).need.host_ports)
      fit.host_ports.push_back(port.port);
    no_fit.classes.push_back(std::move(fit));
  }
  no_fit.shortest = ShortestOf(nodes, view, no_fit.classes);
  return no_fit;
}

}  // namespace lockstep::gang
