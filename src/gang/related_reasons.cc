#include "gang/related_reasons.h"

#include <algorithm>
#include <map>

#include "gang/related_board.h"

namespace lockstep::gang {
namespace {

using cluster::Domains;
using cluster::NodeId;
using cluster::Nodes;
using cluster::Reason;
using cluster::View;

struct Told {
  Reason reason = Reason::kNone;
  std::string detail;

  friend auto operator<=>(const Told&, const Told&) = default;
};

class Teller {
 public:
  Teller(Nodes& nodes, View view, std::span<const RoleNeed> kinds, size_t kind, const RuleTable& table)
      : nodes_(nodes), view_(static_cast<size_t>(view)), kinds_(kinds), kind_(kind), table_(table) {
    if (kinds[kind].who) keepers_ = nodes.residents().KeepersOf(view_, *kinds[kind].who);
  }

  // Why a node that has seats is out for the kind.
  Told Tell(NodeId node) const {
    if (InUseByOthers(node)) return {Reason::kVolumeInUse, ""};
    Reason reason = table_.RefuseByRules(kind_, node);
    if (reason == Reason::kNoTopology) return {reason, MissingLabel(node)};
    if (reason == Reason::kAntiAffinity) return {reason, WhoIsThere(node)};
    const KindRules& rules = table_.kinds[kind_];
    for (const NearRule& near : rules.near) {
      bool volume = table_.topologies[near.terms[0].topology].key == cluster::kSameNode;
      if (!IsNear(near, node)) return {volume ? Reason::kVolumeInUse : Reason::kAffinity, ""};
    }
    for (const SpreadCount& spread : rules.spread) {
      if (std::ranges::find(spread.matches, true) == spread.matches.end() && IsCrowded(spread, node))
        return {Reason::kSpread, table_.topologies[spread.topology].key};
    }
    return {};
  }

 private:
  // A claim for one pod has one.
  bool InUseByOthers(NodeId node) const {
    return std::ranges::any_of(table_.kinds[kind_].blocked, [&](const Blocked& blocked) {
      int32_t domain = table_.DomainOf(blocked.topology, node);
      return table_.topologies[blocked.topology].key == cluster::kWholeCluster && domain != Domains::kNone &&
             blocked.domains[static_cast<size_t>(domain)] != 0;
    });
  }

  std::string MissingLabel(NodeId node) const {
    for (size_t topology : table_.kinds[kind_].labels) {
      if (table_.DomainOf(topology, node) == Domains::kNone) return table_.topologies[topology].key;
    }
    return "";
  }

  // Of those that keep ours away or that ours keeps away from, the first by name.
  std::string WhoIsThere(NodeId node) const {
    for (const cluster::Residents::Keeper& keeper : keepers_) {
      auto key = std::ranges::find(table_.topologies, keeper.term->topology_key, &Topology::key);
      auto topology = static_cast<size_t>(key - table_.topologies.begin());
      bool here = std::ranges::any_of(keeper.nodes, [&](NodeId other) {
        int32_t domain = table_.DomainOf(topology, other);
        return domain != Domains::kNone && domain == table_.DomainOf(topology, node);
      });
      if (here) return keeper.who->name;
    }
    if (!kinds_[kind_].who) return "";
    for (const kube::PodTerm& term : kinds_[kind_].who->rules.anti_affinity) {
      std::vector<NodeId> domain = NodesOfDomain(term.topology_key, node);
      if (auto who = nodes_.residents().Example(view_, domain, term.pods)) return who->name;
    }
    return "";
  }

  std::vector<NodeId> NodesOfDomain(const std::string& key, NodeId node) const {
    auto found = std::ranges::find(table_.topologies, key, &Topology::key);
    auto topology = static_cast<size_t>(found - table_.topologies.begin());
    int32_t domain = table_.DomainOf(topology, node);
    std::vector<NodeId> members;
    if (domain == Domains::kNone) return members;
    if (table_.topologies[topology].domains->one_node_each) return {node};
    for (NodeId other : nodes_.ByName()) {
      if (table_.DomainOf(topology, other) == domain) members.push_back(other);
    }
    return members;
  }

  // Somebody is there already, or some pod of the gang may come first.
  bool IsNear(const NearRule& near, NodeId node) const {
    if (std::ranges::find(near.matches, true) != near.matches.end() && near.any == 0) return true;
    return std::ranges::all_of(near.terms, [&](const NearRule::Term& term) {
      return term.pods[static_cast<size_t>(table_.DomainOf(term.topology, node))] > 0;
    });
  }

  bool IsCrowded(const SpreadCount& spread, NodeId node) const {
    int32_t fewest = INT32_MAX;
    for (size_t domain = 0; domain < spread.pods.size(); ++domain) {
      if (spread.counted[domain] != 0) fewest = std::min(fewest, spread.pods[domain]);
    }
    if (spread.fewest_is_zero || fewest == INT32_MAX) fewest = 0;
    int64_t there = spread.pods[static_cast<size_t>(table_.DomainOf(spread.topology, node))];
    return there - fewest > spread.max_skew;
  }

  Nodes& nodes_;
  size_t view_;
  std::span<const RoleNeed> kinds_;
  size_t kind_;
  const RuleTable& table_;
  std::vector<cluster::Residents::Keeper> keepers_;
};

// Nodes in one domain have one answer; by domain of every topology.
class ByDomains {
 public:
  ByDomains(const Teller& teller, const RuleTable& table) : teller_(teller), table_(table) {}

  const Told& Tell(NodeId node) {
    std::vector<int32_t> key;
    key.reserve(table_.topologies.size());
    for (size_t topology = 0; topology < table_.topologies.size(); ++topology)
      key.push_back(table_.DomainOf(topology, node));
    auto [found, added] = known_.try_emplace(std::move(key));
    if (added) found->second = teller_.Tell(node);
    return found->second;
  }

 private:
  const Teller& teller_;
  const RuleTable& table_;
  std::map<std::vector<int32_t>, Told> known_;
};

}  // namespace

void AddRuleReasons(Nodes& nodes, View view, std::span<const RoleNeed> kinds, std::span<const NodeId> barred,
                    NoFit& no_fit) {
  RuleTable table = RulesOf(nodes, view, kinds);
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    auto fit = std::ranges::find(no_fit.classes, kinds[kind].pod_class, &ClassFit::pod_class);
    bool told_of = std::ranges::find(kinds.first(kind), kinds[kind].pod_class, &RoleNeed::pod_class) !=
                   kinds.first(kind).end();
    if (fit == no_fit.classes.end() || told_of) continue;
    Teller teller(nodes, view, kinds, kind, table);
    ByDomains by_domains(teller, table);
    const cluster::SeatIndex& index = nodes.Seats(kinds[kind].pod_class, view);
    std::map<Told, int32_t> counts;
    for (NodeId node : nodes.ByName()) {
      if (index.seats(node) == 0 || std::ranges::find(barred, node) != barred.end()) continue;
      const Told& told = by_domains.Tell(node);
      if (told.reason == Reason::kNone) continue;
      ++counts[told];
      fit->seats = std::max<int64_t>(0, fit->seats - index.seats(node));
    }
    for (const auto& [told, number] : counts) fit->refused.push_back({told.reason, told.detail, number});
    std::ranges::stable_sort(fit->refused, std::greater(), &RefusedNodes::nodes);
  }
}

}  // namespace lockstep::gang
