#include "audit/overcommit.h"

#include <algorithm>

#include "kube/model/quantity.h"

namespace lockstep::audit {

namespace {

using kube::Amount;

struct Change {
  WallTime time;
  enum What { kLeaves, kNode, kComes } what;  // what left at a moment is gone for what comes at the same
  const PodRecord* pod = nullptr;
};

bool Before(const Change& a, const Change& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.what != b.what) return a.what < b.what;
  return a.pod != nullptr && b.pod != nullptr && a.pod->name < b.pod->name;
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

// Too much of one resource on one node, since its first violation.
using Open = std::map<std::string, std::vector<Violation>>;

void Close(std::vector<Violation>& open, WallTime end, Duration lasting, Excess& excess) {
  Duration lasted = end - open.front().time;
  if (lasted >= lasting) return void(std::ranges::move(open, std::back_inserter(excess.violations)));
  ++excess.short_ones;
  excess.longest_short = std::max(excess.longest_short, lasted);
}

Violation OverCommit(const std::string& node, const PodRecord& pod, WallTime time,
                     const std::string& resource, __int128 used, Amount offered) {
  bool bytes = resource == "memory" || resource == "ephemeral-storage";
  Amount shown = static_cast<Amount>(std::min<__int128>(used, kube::kMaxAmount));
  return {Rule::kOverCommit, time,
          "node " + node + ": " + kube::FormatQuantity(shown, bytes) + " " + resource + " requested of " +
              kube::FormatQuantity(offered, bytes) + " with pod " + pod.ns + "/" + pod.name};
}

void JudgeNode(const std::string& name, const NodeRecord& node, std::vector<Change>& changes, WallTime end,
               Duration lasting, Excess& excess) {
  for (const NodeRecord::Change& change : node.changes) changes.push_back({change.sent, Change::kNode});
  std::ranges::sort(changes, Before);
  Usage usage;
  Open open;
  for (const Change& change : changes) {
    if (change.pod != nullptr) Add(usage, *change.pod, change.what == Change::kComes ? 1 : -1);
    if (change.what != Change::kComes) {
      kube::Resources offered = node.MostBetween(change.time, change.time);
      for (auto it = open.begin(); it != open.end();) {
        auto entry = it++;
        if (usage[entry->first] > Find(offered, entry->first)) continue;
        Close(entry->second, change.time, lasting, excess);
        open.erase(entry);
      }
      continue;
    }
    if (change.pod->from_before) continue;
    kube::Resources offered = node.MostBetween(change.pod->create_sent.value_or(change.time), change.time);
    for (const auto& [resource, used] : usage) {
      bool asked = resource == "pods" || Find(change.pod->requests, resource) > 0;
      if (!asked || used <= Find(offered, resource)) continue;
      open[resource].push_back(
          OverCommit(name, *change.pod, change.time, resource, used, Find(offered, resource)));
    }
  }
  for (auto& [resource, violations] : open) Close(violations, end, lasting, excess);
}

}  // namespace

Excess FindOverCommit(const Record& record, Duration lasting) {
  Excess excess;
  std::map<std::string, std::vector<Change>> by_node;
  for (const PodRecord& pod : record.pods()) {
    auto node = record.nodes().find(pod.node);
    if (!pod.assigned || node == record.nodes().end() || node->second.changes.empty()) continue;
    if (pod.ended && *pod.ended <= *pod.assigned) continue;
    by_node[pod.node].push_back({*pod.assigned, Change::kComes, &pod});
    if (pod.ended) by_node[pod.node].push_back({*pod.ended, Change::kLeaves, &pod});
  }
  for (auto& [name, changes] : by_node) {
    WallTime end = std::max(record.last().value_or(changes.back().time), changes.back().time);
    JudgeNode(name, record.nodes().at(name), changes, end, lasting, excess);
  }
  return excess;
}

}  // namespace lockstep::audit
