#include "cluster/daemons.h"

#include <algorithm>

#include "cluster/world.h"

namespace lockstep::cluster {

namespace {

bool HasPod(const World& world, const DaemonSetState& state, const std::string& node) {
  auto pods = world.daemons.pods.find(state.set->meta.uid);
  return pods != world.daemons.pods.end() && pods->second.contains(node);
}

bool FitsEmpty(const NodeFacts& node, const kube::PodNeed& need) {
  return std::ranges::all_of(need.requests, [&](const auto& request) {
    auto has = node.allocatable.find(request.first);
    return has != node.allocatable.end() && has->second >= request.second;
  });
}

bool IsExpected(const World& world, const DaemonSetState& state, const std::string& node) {
  std::optional<NodeId> id = world.nodes.Find(node);
  if (!id || state.set->meta.deleted_at) return false;
  const NodeFacts& facts = world.nodes.facts(*id);
  return !HasPod(world, state, node) && FitsEmpty(facts, state.set->need) &&
         kube::BelongsOn(*state.set, node, facts.labels, facts.taints);
}

void Expect(World& world, DaemonSetState& state, const std::string& node, bool expected) {
  if (expected && state.expected.insert(node).second) {
    world.Occupy(node, state.pod_class, Tenure::kDaemon, state.who);
  } else if (!expected && state.expected.erase(node) > 0) {
    world.Release(node, state.pod_class, Tenure::kDaemon, state.who);
  }
}

}  // namespace

void SetDaemonSet(World& world, const std::string& key, std::shared_ptr<const kube::DaemonSet> set) {
  auto known = world.daemons.sets.find(key);
  if (known != world.daemons.sets.end()) {
    const kube::DaemonSet& before = *known->second.set;
    bool same = set != nullptr && before.meta.uid == set->meta.uid && before.need == set->need &&
                before.labels == set->labels && before.meta.deleted_at == set->meta.deleted_at;
    if (same) return;
    for (const std::string& node : std::set<std::string>(known->second.expected))
      Expect(world, known->second, node, false);
    world.daemons.sets.erase(known);
  }
  if (set == nullptr) return;
  DaemonSetState state;
  state.pod_class = world.nodes.HeldClass(set->need);
  state.who = world.nodes.residents().Shared(
      MakeIdentity(set->meta.ns, WithClaims(set->labels, set->need), set->need.rules, set->meta.name));
  state.set = std::move(set);
  DaemonSetState& added = world.daemons.sets.emplace(key, std::move(state)).first->second;
  for (NodeId id : world.nodes.ByName()) {
    const std::string& node = world.nodes.name(id);
    Expect(world, added, node, IsExpected(world, added, node));
  }
}

void CountDaemonPod(World& world, const std::string& owner_uid, const std::string& node, int32_t change) {
  auto& pods = world.daemons.pods[owner_uid];
  int32_t& count = pods[node];
  count += change;
  if (count == 0) pods.erase(node);
  if (pods.empty()) world.daemons.pods.erase(owner_uid);
  for (auto& [key, state] : world.daemons.sets) {
    if (state.set->meta.uid == owner_uid) Expect(world, state, node, IsExpected(world, state, node));
  }
}

void RefreshDaemonsOn(World& world, const std::string& node, bool gone) {
  for (auto& [key, state] : world.daemons.sets)
    Expect(world, state, node, !gone && IsExpected(world, state, node));
}

}  // namespace lockstep::cluster
