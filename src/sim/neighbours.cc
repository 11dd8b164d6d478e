#include "sim/neighbours.h"

#include <algorithm>
#include <optional>
#include <set>

namespace lockstep::sim {

namespace {

using Nodes = std::map<std::string, const kube::Node*>;

// The node's value of a label, if there is such a node and it has it.
std::optional<std::string> ValueAt(const Nodes& nodes, const std::string& node, const std::string& key) {
  auto found = nodes.find(node);
  if (found == nodes.end()) return {};
  auto value = found->second->meta.labels.find(key);
  if (value == found->second->meta.labels.end()) return {};
  return value->second;
}

bool Selects(const kube::PodQuery& query, const Neighbour& pod) {
  return query.Matches(*pod.ns, *pod.labels);
}

bool SameDomain(const Nodes& nodes, const std::string& key, const Neighbour& a, const Neighbour& b) {
  std::optional<std::string> at = ValueAt(nodes, a.node, key);
  return at && at == ValueAt(nodes, b.node, key);
}

std::string AntiAffinity(const Neighbour& pod, const std::vector<Neighbour>& others, const Nodes& nodes) {
  for (const Neighbour& other : others) {
    for (const kube::PodTerm& term : pod.need->rules.anti_affinity) {
      if (Selects(term.pods, other) && SameDomain(nodes, term.topology_key, pod, other))
        return "its anti-affinity by " + term.topology_key;
    }
    for (const kube::PodTerm& term : other.need->rules.anti_affinity) {
      if (Selects(term.pods, pod) && SameDomain(nodes, term.topology_key, pod, other))
        return "the anti-affinity of a pod there by " + term.topology_key;
    }
  }
  return "";
}

std::string Affinity(const Neighbour& pod, const std::vector<Neighbour>& others, const Nodes& nodes) {
  const std::vector<kube::PodTerm>& terms = pod.need->rules.affinity;
  if (terms.empty()) return "";
  auto matches_all = [&](const Neighbour& other) {
    return std::ranges::all_of(terms, [&](const kube::PodTerm& term) { return Selects(term.pods, other); });
  };
  bool anybody = false, met = true;
  for (const kube::PodTerm& term : terms) {
    if (!ValueAt(nodes, pod.node, term.topology_key)) return "its affinity: no label " + term.topology_key;
    bool near = false;
    for (const Neighbour& other : others) {
      if (!matches_all(other)) continue;
      anybody |= ValueAt(nodes, other.node, term.topology_key).has_value();
      near |= SameDomain(nodes, term.topology_key, pod, other);
    }
    met &= near;
  }
  if (met || (!anybody && matches_all(pod))) return "";
  return "its affinity by " + terms[0].topology_key;
}

// The nodes whose domains count for a constraint.
std::set<std::string> Counted(const kube::PodNeed& need, const kube::SpreadRule& rule, const Nodes& nodes) {
  std::set<std::string> counted;
  for (const auto& [name, node] : nodes) {
    bool labels = std::ranges::all_of(need.rules.spread, [&](const kube::SpreadRule& each) {
      return node->meta.labels.contains(each.topology_key);
    });
    bool affine = !rule.honors_affinity || need.nodes.Matches(name, node->meta.labels);
    bool tolerated = !rule.honors_taints || kube::FirstUntolerated(node->taints, need.tolerations) == nullptr;
    if (labels && affine && tolerated) counted.insert(name);
  }
  return counted;
}

std::map<std::string, int64_t> CountsOf(const Neighbour& pod, const kube::SpreadRule& rule,
                                        const std::vector<Neighbour>& others, const Nodes& nodes) {
  std::map<std::string, int64_t> counts;
  std::set<std::string> counted = Counted(*pod.need, rule, nodes);
  for (const std::string& name : counted) counts[*ValueAt(nodes, name, rule.topology_key)];
  for (const Neighbour& other : others) {
    if (!other.leaving && counted.contains(other.node) && Selects(rule.pods, other))
      ++counts[*ValueAt(nodes, other.node, rule.topology_key)];
  }
  return counts;
}

std::string Spread(const Neighbour& pod, const std::vector<Neighbour>& others, const Nodes& nodes) {
  for (const kube::SpreadRule& rule : pod.need->rules.spread) {
    std::optional<std::string> at = ValueAt(nodes, pod.node, rule.topology_key);
    if (!at) return "its spread: no label " + rule.topology_key;
    std::map<std::string, int64_t> counts = CountsOf(pod, rule, others, nodes);
    int64_t fewest = counts.empty() ? 0 : INT64_MAX;
    for (const auto& [value, count] : counts) fewest = std::min(fewest, count);
    if (static_cast<int64_t>(counts.size()) < rule.min_domains) fewest = 0;
    int64_t self = Selects(rule.pods, pod) ? 1 : 0;
    if (counts[*at] + self - fewest > rule.max_skew) return "its spread over " + rule.topology_key;
  }
  return "";
}

}  // namespace

std::string RuleAgainst(const Neighbour& pod, const std::vector<Neighbour>& others, const Nodes& nodes) {
  for (const auto& rule : {AntiAffinity, Affinity, Spread}) {
    if (std::string against = rule(pod, others, nodes); !against.empty()) return against;
  }
  return "";
}

int64_t CrowdAt(const Neighbour& pod, const std::vector<Neighbour>& others, const Nodes& nodes) {
  int64_t crowd = 0;
  for (const kube::SpreadRule& rule : pod.need->rules.spread) {
    if (std::optional<std::string> at = ValueAt(nodes, pod.node, rule.topology_key))
      crowd += CountsOf(pod, rule, others, nodes)[*at];
  }
  return crowd;
}

std::string RuleAgainstAll(std::vector<Neighbour> pods, std::vector<Neighbour> others, const Nodes& nodes) {
  while (!pods.empty()) {
    std::optional<std::pair<int64_t, size_t>> next;
    std::string against;
    for (size_t i = 0; i < pods.size(); ++i) {
      std::string rule = RuleAgainst(pods[i], others, nodes);
      if (!rule.empty()) {
        against = rule + ", on " + pods[i].node;
        continue;
      }
      std::pair<int64_t, size_t> offer(CrowdAt(pods[i], others, nodes), i);
      if (!next || offer < *next) next = offer;
    }
    if (!next) return against;
    others.push_back(pods[next->second]);
    pods.erase(pods.begin() + static_cast<ptrdiff_t>(next->second));
  }
  return "";
}

}  // namespace lockstep::sim
