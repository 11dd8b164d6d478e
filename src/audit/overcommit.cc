#include "audit/overcommit.h"

#include <algorithm>

#include "kube/model/quantity.h"

namespace lockstep::audit {

namespace {

using kube::Amount;

struct Change {
  WallTime time;
  bool comes;
  const PodRecord* pod;
};

// What left at a moment is gone for what comes at the same moment.
bool Before(const Change& a, const Change& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.comes != b.comes) return !a.comes;
  return a.pod->name < b.pod->name;
}

Amount Find(const kube::Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// Sums of Amounts may not saturate here: they are taken back again.
using Usage = std::map<std::string, __int128>;

void Add(Usage& usage, const PodRecord& pod, int sign) {
  for (const auto& [name, amount] : pod.requests) usage[name] += sign * static_cast<__int128>(amount);
  usage["pods"] += sign * 1000;
}

void JudgeNode(const std::string& name, const NodeRecord& node, std::vector<Change>& changes,
               std::vector<Violation>& violations) {
  std::ranges::sort(changes, Before);
  Usage usage;
  for (const Change& change : changes) {
    Add(usage, *change.pod, change.comes ? 1 : -1);
    if (!change.comes) continue;
    kube::Resources offered = node.MostBetween(change.pod->create_sent.value_or(change.time), change.time);
    for (const auto& [resource, used] : usage) {
      bool asked = resource == "pods" || Find(change.pod->requests, resource) > 0;
      if (!asked || used <= Find(offered, resource)) continue;
      bool bytes = resource == "memory" || resource == "ephemeral-storage";
      Amount shown = static_cast<Amount>(std::min<__int128>(used, kube::kMaxAmount));
      violations.push_back({Rule::kOverCommit, change.time,
                            "node " + name + ": " + kube::FormatQuantity(shown, bytes) + " " + resource +
                                " requested of " + kube::FormatQuantity(Find(offered, resource), bytes) +
                                " with pod " + change.pod->ns + "/" + change.pod->name});
    }
  }
}

}  // namespace

void FindOverCommit(const Record& record, std::vector<Violation>& violations) {
  std::map<std::string, std::vector<Change>> by_node;
  for (const PodRecord& pod : record.pods()) {
    auto node = record.nodes().find(pod.node);
    if (!pod.assigned || node == record.nodes().end() || node->second.changes.empty()) continue;
    if (pod.ended && *pod.ended <= *pod.assigned) continue;
    by_node[pod.node].push_back({*pod.assigned, true, &pod});
    if (pod.ended) by_node[pod.node].push_back({*pod.ended, false, &pod});
  }
  for (auto& [name, changes] : by_node) JudgeNode(name, record.nodes().at(name), changes, violations);
}

}  // namespace lockstep::audit
