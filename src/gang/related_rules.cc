#include "gang/related_rules.h"

#include <algorithm>

#include "cluster/filters/host_ports.h"
#include "cluster/filters/selector.h"
#include "cluster/filters/taints.h"

namespace lockstep::gang {
namespace {

using cluster::Domains;
using cluster::NodeId;
using cluster::Nodes;
using cluster::Reason;
using cluster::Residents;
using cluster::View;

const cluster::PodIdentity kNobody;

class Maker {
 public:
  Maker(Nodes& nodes, View view, std::span<const RoleNeed> kinds)
      : nodes_(nodes), view_(static_cast<size_t>(view)), kinds_(kinds) {
    table_.kinds.resize(kinds.size());
  }

  RuleTable Make() {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      AddKeepers(kind);
      AddAntiAffinity(kind);
      AddAffinity(kind);
      AddSpread(kind);
      AddHostPorts(kind);
    }
    for (KindRules& rules : table_.kinds) {
      SortUnique(rules.labels);
      SortUnique(rules.apart);
    }
    return std::move(table_);
  }

 private:
  template <class List>
  static void SortUnique(List& list) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  const kube::PodNeed& Need(size_t kind) const { return nodes_.pod_class(kinds_[kind].pod_class).need; }
  const cluster::PodIdentity& Who(size_t kind) const {
    return kinds_[kind].who ? *kinds_[kind].who : kNobody;
  }

  size_t TopologyOf(const std::string& key) {
    auto known = std::ranges::find(table_.topologies, key, &Topology::key);
    if (known != table_.topologies.end()) return static_cast<size_t>(known - table_.topologies.begin());
    table_.topologies.push_back({key, key == cluster::kSameNode       ? EachNode()
                                      : key == cluster::kWholeCluster ? AllNodes()
                                                                      : nodes_.DomainsOf(key)});
    return table_.topologies.size() - 1;
  }

  std::shared_ptr<const Domains> EachNode() const {
    auto domains = std::make_shared<Domains>();
    for (NodeId node : nodes_.ByName()) {
      if (node >= domains->of.size()) domains->of.resize(node + 1, Domains::kNone);
      domains->of[node] = domains->count();
      domains->value.push_back(nodes_.name(node));
    }
    return domains;
  }

  std::shared_ptr<const Domains> AllNodes() const {
    auto domains = std::make_shared<Domains>();
    domains->one_node_each = nodes_.size() < 2;
    if (nodes_.size() > 0) domains->value.emplace_back();
    for (NodeId node : nodes_.ByName()) {
      if (node >= domains->of.size()) domains->of.resize(node + 1, Domains::kNone);
      domains->of[node] = 0;
    }
    return domains;
  }

  const Domains& DomainsAt(size_t topology) const { return *table_.topologies[topology].domains; }

  // Matching pods by domain.
  std::vector<int32_t> Sum(const Residents::Question& question, size_t topology,
                           const std::vector<uint8_t>* node_counts = nullptr) {
    const Domains& domains = DomainsAt(topology);
    std::vector<int32_t> sum(static_cast<size_t>(domains.count()));
    std::span<const int32_t> pods = nodes_.residents().Count(view_, question);
    for (NodeId node = 0; node < pods.size(); ++node) {
      if (pods[node] == 0 || node >= domains.of.size() || domains.of[node] == Domains::kNone) continue;
      if (node_counts == nullptr || (*node_counts)[node] != 0)
        sum[static_cast<size_t>(domains.of[node])] += pods[node];
    }
    return sum;
  }

  Blocked& BlockedAt(size_t kind, size_t topology) {
    std::vector<Blocked>& list = table_.kinds[kind].blocked;
    auto known = std::ranges::find(list, topology, &Blocked::topology);
    if (known != list.end()) return *known;
    list.push_back({topology, std::vector<uint8_t>(static_cast<size_t>(DomainsAt(topology).count()))});
    return list.back();
  }

  // Anti-affinity of pods that are there against this kind.
  void AddKeepers(size_t kind) {
    for (const Residents::Keeper& keeper : nodes_.residents().KeepersOf(view_, Who(kind))) {
      size_t topology = TopologyOf(keeper.term->topology_key);
      Blocked& blocked = BlockedAt(kind, topology);
      for (NodeId node : keeper.nodes) {
        int32_t domain = table_.DomainOf(topology, node);
        if (domain != Domains::kNone) blocked.domains[static_cast<size_t>(domain)] = 1;
      }
    }
  }

  // This kind's anti-affinity against pods that are there, and between the kinds, both ways.
  void AddAntiAffinity(size_t kind) {
    for (const kube::PodTerm& term : Who(kind).rules.anti_affinity) {
      size_t topology = TopologyOf(term.topology_key);
      std::vector<int32_t> pods = Sum({{term.pods}, false}, topology);
      Blocked& blocked = BlockedAt(kind, topology);
      for (size_t domain = 0; domain < pods.size(); ++domain) blocked.domains[domain] |= pods[domain] > 0;
      for (size_t other = 0; other < kinds_.size(); ++other) {
        if (!Selects(term.pods, Who(other))) continue;
        table_.kinds[kind].apart.push_back({topology, other});
        table_.kinds[other].apart.push_back({topology, kind});
      }
    }
  }

  void AddAffinity(size_t kind) {
    const kube::PodRules& rules = Who(kind).rules;
    if (!rules.affinity.empty()) AddNear(kind, rules.affinity);
    for (const kube::PodTerm& term : rules.together) AddNear(kind, std::span(&term, 1));
  }

  void AddNear(size_t kind, std::span<const kube::PodTerm> terms) {
    Residents::Question question;
    for (const kube::PodTerm& term : terms) question.queries.push_back(term.pods);
    NearRule near;
    for (const kube::PodTerm& term : terms) {
      size_t topology = TopologyOf(term.topology_key);
      near.terms.push_back({topology, Sum(question, topology)});
      for (int32_t pods : near.terms.back().pods) near.any += pods;
      table_.kinds[kind].labels.push_back(topology);
    }
    for (size_t other = 0; other < kinds_.size(); ++other) {
      near.matches.push_back(std::ranges::all_of(
          question.queries, [&](const kube::PodQuery& query) { return Selects(query, Who(other)); }));
    }
    table_.kinds[kind].near.push_back(std::move(near));
  }

  // Source: nodeLabelsMatchSpreadConstraints, matchNodeInclusionPolicies. A node counts for a constraint if
  // it has the labels of all constraints and passes this one's policies.
  std::vector<uint8_t> CountedNodes(size_t kind, const kube::SpreadRule& rule) {
    const kube::PodNeed& need = Need(kind);
    std::vector<size_t> topologies;
    for (const kube::SpreadRule& each : Who(kind).rules.spread)
      topologies.push_back(TopologyOf(each.topology_key));
    std::vector<uint8_t> counted(DomainsAt(topologies[0]).of.size());
    for (NodeId node : nodes_.ByName()) {
      bool labels = std::ranges::all_of(
          topologies, [&](size_t topology) { return table_.DomainOf(topology, node) != Domains::kNone; });
      if (!labels) continue;
      if (rule.honors_affinity && !need.nodes.empty() && cluster::RefuseSelector(need, nodes_.facts(node)))
        continue;
      if (rule.honors_taints && cluster::RefuseTaint(need, nodes_.facts(node))) continue;
      counted[node] = 1;
    }
    return counted;
  }

  void AddSpread(size_t kind) {
    for (const kube::SpreadRule& rule : Who(kind).rules.spread) {
      SpreadCount spread;
      spread.topology = TopologyOf(rule.topology_key);
      spread.max_skew = rule.max_skew;
      spread.node_counts = CountedNodes(kind, rule);
      spread.pods = Sum({{rule.pods}, true}, spread.topology, &spread.node_counts);
      spread.counted.assign(spread.pods.size(), 0);
      for (NodeId node : nodes_.ByName()) {
        if (spread.node_counts[node] != 0)
          spread.counted[static_cast<size_t>(table_.DomainOf(spread.topology, node))] = 1;
      }
      spread.fewest_is_zero = std::ranges::count(spread.counted, 1) < rule.min_domains;
      for (size_t other = 0; other < kinds_.size(); ++other)
        spread.matches.push_back(Selects(rule.pods, Who(other)));
      spread.self = spread.matches[kind];
      table_.kinds[kind].labels.push_back(spread.topology);
      table_.kinds[kind].spread.push_back(std::move(spread));
    }
  }

  // Kinds that want the same host port can't share a node.
  void AddHostPorts(size_t kind) {
    for (size_t other = 0; other < kinds_.size(); ++other) {
      if (!cluster::PortsConflict(Need(kind).host_ports, Need(other).host_ports)) continue;
      table_.kinds[kind].apart.push_back({TopologyOf(std::string(cluster::kSameNode)), other});
    }
  }

  Nodes& nodes_;
  size_t view_;
  std::span<const RoleNeed> kinds_;
  RuleTable table_;
};

}  // namespace

Reason RuleTable::RefuseByRules(size_t kind, NodeId node) const {
  const KindRules& rules = kinds[kind];
  for (size_t topology : rules.labels) {
    if (DomainOf(topology, node) == Domains::kNone) return Reason::kNoTopology;
  }
  for (const Blocked& blocked : rules.blocked) {
    int32_t domain = DomainOf(blocked.topology, node);
    if (domain != Domains::kNone && blocked.domains[static_cast<size_t>(domain)] != 0)
      return Reason::kAntiAffinity;
  }
  return Reason::kNone;
}

RuleTable RulesOf(Nodes& nodes, View view, std::span<const RoleNeed> kinds) {
  return Maker(nodes, view, kinds).Make();
}

}  // namespace lockstep::gang
