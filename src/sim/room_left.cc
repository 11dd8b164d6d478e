#include "sim/room_left.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/labels.h"
#include "base/ascii.h"
#include "jobs/pod_set.h"

namespace lockstep::sim {

namespace {

void Add(Taken& taken, Neighbour pod) {
  kube::AddTo(taken.requests, pod.need->requests);
  taken.requests["pods"] += 1000;
  taken.pods.push_back(std::move(pod));
}

std::map<std::string, const kube::Node*> ByName(const std::map<std::string, kube::Node>& all) {
  std::map<std::string, const kube::Node*> nodes;
  for (const auto& [name, node] : all) nodes.emplace(name, &node);
  return nodes;
}

std::vector<Neighbour> Everybody(const std::map<std::string, Taken>& taken) {
  std::vector<Neighbour> pods;
  for (const auto& [node, there] : taken) pods.insert(pods.end(), there.pods.begin(), there.pods.end());
  return pods;
}

bool HasSeats(api::GangPhase phase) {
  return phase == api::GangPhase::kPlacing || phase == api::GangPhase::kStarting ||
         phase == api::GangPhase::kRunning;
}

// Seats that are on record for pods that do not exist.
void AddEmptySeats(const Picture& picture, const SeenJob& job, const api::Gang& gang,
                   std::map<std::string, Taken>& taken) {
  std::set<std::pair<std::string, int32_t>> there;
  for (const SeenPod* pod : picture.PodsOf(job.meta.key())) {
    if (pod->owner_uid == job.meta.uid && pod->attempt == gang.status.attempt && !pod->unbound())
      there.emplace(pod->role, pod->index);
  }
  const std::vector<RoleAsk>& asks = job.asks;
  for (const api::NodeSeats& seats : gang.status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      auto ask =
          std::find_if(asks.begin(), asks.end(), [&](const RoleAsk& a) { return a.role == range.role; });
      if (ask == asks.end()) continue;
      for (int32_t i = range.first; i <= range.last; ++i) {
        if (!there.contains({AsciiLower(range.role), i}))
          Add(taken[seats.node], {&job.meta.ns, &ask->labels, &ask->need, seats.node, false});
      }
    }
  }
}

// The name of the gang that a pod of nobody's job says it is of; "" if of none.
std::string GroupOf(const kube::Meta& pod) {
  std::string pod_group = pod.label(api::kPodGroupLabel);
  return pod_group.empty() ? pod.label(api::kGangLabel) : "podgroup." + pod_group;
}

bool IsOfPods(const api::Gang& gang) { return gang.spec.job.kind == jobs::PodSets().resource().kind; }

bool Usable(const kube::Node& node, const kube::PodNeed& need) {
  return node.ready() && !node.unschedulable && !node.meta.deleted_at &&
         need.nodes.Matches(node.meta.name, node.meta.labels) &&
         kube::FirstUntolerated(node.taints, need.tolerations) == nullptr;
}

kube::Amount Of(const kube::Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// Pod by pod, each to the node with the emptiest domain that takes it; roles that wait for others get a
// second chance.
bool GreedyByRules(const std::vector<const kube::Node*>& nodes, std::map<std::string, Taken> taken,
                   const std::vector<RoleAsk>& asks, const std::string& ns,
                   const std::map<std::string, kube::Node>& all) {
  std::map<std::string, const kube::Node*> by_name = ByName(all);
  std::vector<Neighbour> others = Everybody(taken);
  std::vector<int32_t> left;
  left.reserve(asks.size());
  for (const RoleAsk& ask : asks) left.push_back(ask.count);
  for (bool more = true; more;) {
    more = false;
    for (size_t role = 0; role < asks.size(); ++role) {
      while (left[role] > 0) {
        std::optional<std::pair<int64_t, Neighbour>> best;
        for (const kube::Node* node : nodes) {
          Neighbour pod{&ns, &asks[role].labels, &asks[role].need, node->meta.name, false};
          if (Room(*node, &taken[node->meta.name], asks[role].need) < 1) continue;
          if (!RuleAgainst(pod, others, by_name).empty()) continue;
          int64_t crowd = CrowdAt(pod, others, by_name);
          if (!best || crowd < best->first) best = {crowd, pod};
        }
        if (!best) break;
        others.push_back(best->second);
        Add(taken[best->second.node], best->second);
        --left[role];
        more = true;
      }
    }
  }
  return std::ranges::all_of(left, [](int32_t pods) { return pods == 0; });
}

bool Greedy(const std::vector<const kube::Node*>& nodes, std::map<std::string, Taken> taken,
            const std::vector<RoleAsk>& asks) {
  for (const RoleAsk& ask : asks) {
    int64_t missing = ask.count;
    for (const kube::Node* node : nodes) {
      Taken& there = taken[node->meta.name];
      int64_t more = std::min<int64_t>(missing, Room(*node, &there, ask.need));
      for (int64_t i = 0; i < more; ++i) Add(there, {nullptr, nullptr, &ask.need, "", false});
      missing -= more;
      if (missing == 0) break;
    }
    if (missing > 0) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, Taken> TakenByNode(const Picture& picture, const std::string& except) {
  std::map<std::string, Taken> taken;
  for (const auto& [key, pod] : picture.pods) {
    if (pod.pod.node_name.empty() || !kube::HoldsResources(pod.pod)) continue;
    if (!except.empty() && pod.job == except) continue;
    Add(taken[pod.pod.node_name],
        {&pod.pod.meta.ns, &pod.pod.meta.labels, &pod.pod.need, pod.pod.node_name, pod.deleting()});
  }
  for (const auto& [key, job] : picture.jobs) {
    const api::Gang* gang = picture.GangOf(job);
    if (key != except && gang != nullptr && HasSeats(gang->status.phase) && !job.finished()) {
      AddEmptySeats(picture, job, *gang, taken);
    }
  }
  AddGroupSeats(picture, /*running=*/false, taken);
  return taken;
}

void AddGroupSeats(const Picture& picture, bool running, std::map<std::string, Taken>& taken) {
  for (const auto& [key, gang] : picture.gangs) {
    bool runs = gang.status.phase == api::GangPhase::kRunning;
    if (!IsOfPods(gang) || !HasSeats(gang.status.phase) || runs != running) continue;
    std::map<std::string, int32_t> there;
    const SeenPod* like = nullptr;
    for (const auto& [name, pod] : picture.pods) {
      if (pod.pod.meta.ns != gang.meta.ns || GroupOf(pod.pod.meta) != gang.spec.job.name) continue;
      like = &pod;
      bool done = pod.pod.phase == kube::PodPhase::kSucceeded;
      if (done || kube::HoldsResources(pod.pod)) ++there[pod.pod.node_name];
    }
    for (const api::NodeSeats& seats : gang.status.placement) {
      int32_t free = -there[seats.node];
      for (const api::RoleRange& range : seats.pods) free += range.last - range.first + 1;
      for (; free > 0 && like != nullptr; --free)
        Add(taken[seats.node],
            {&like->pod.meta.ns, &like->pod.meta.labels, &like->pod.need, seats.node, false});
    }
  }
}

bool OldGroupWaits(const Picture& picture, WallTime queued_before) {
  return std::ranges::any_of(picture.gangs, [&](const auto& entry) {
    const api::Gang& gang = entry.second;
    return IsOfPods(gang) && gang.status.phase == api::GangPhase::kQueued &&
           gang.status.waiting_since.value_or(gang.spec.queued_at) <= queued_before;
  });
}

void AddExpected(const Picture& picture, bool daemons_alone, std::map<std::string, Taken>& taken) {
  std::set<std::pair<std::string, std::string>> there;  // (owner's UID, node)
  for (const auto& [key, pod] : picture.pods) {
    if (kube::HoldsResources(pod.pod)) there.emplace(pod.owner_uid, pod.pod.node_name);
    const kube::OwnerRef* owner = pod.pod.meta.controller();
    bool daemon = owner != nullptr && owner->kind == "DaemonSet";
    bool comes = pod.job.empty() && !daemon && pod.pod.node_name.empty() && !pod.pod.nominated_node.empty() &&
                 pod.pod.phase == kube::PodPhase::kPending && !pod.deleting();
    if (comes && !daemons_alone) {
      const std::string& node = pod.pod.nominated_node;
      Add(taken[node], {&pod.pod.meta.ns, &pod.pod.meta.labels, &pod.pod.need, node, false});
    }
  }
  for (const auto& [key, set] : picture.daemon_sets) {
    for (const auto& [name, node] : picture.nodes) {
      bool fits = std::ranges::all_of(set.need.requests, [&](const auto& request) {
        return Of(node.allocatable, request.first) >= request.second;
      });
      if (set.meta.deleted_at || !fits || there.contains({set.meta.uid, name})) continue;
      if (kube::BelongsOn(set, name, node.meta.labels, node.taints))
        Add(taken[name], {&set.meta.ns, &set.labels, &set.need, name, false});
    }
  }
}

std::map<std::string, Taken> PermanentByNode(const Picture& picture) {
  std::map<std::string, Taken> taken;
  for (const auto& [key, pod] : picture.pods) {
    const kube::OwnerRef* owner = pod.pod.meta.controller();
    bool permanent = owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node");
    if (!permanent || pod.pod.node_name.empty() || !kube::HoldsResources(pod.pod)) continue;
    Add(taken[pod.pod.node_name],
        {&pod.pod.meta.ns, &pod.pod.meta.labels, &pod.pod.need, pod.pod.node_name, pod.deleting()});
  }
  AddExpected(picture, /*daemons_alone=*/true, taken);
  return taken;
}

std::string Excess(const kube::Node& node, const Taken& taken) {
  for (const auto& [resource, amount] : taken.requests) {
    if (amount > Of(node.allocatable, resource) && amount > 0) return resource;
  }
  return "";
}

int64_t Room(const kube::Node& node, const Taken* taken, const kube::PodNeed& need) {
  if (!Usable(node, need)) return 0;
  int64_t room = INT64_MAX;
  kube::Resources asked = need.requests;
  asked["pods"] = 1000;
  for (const auto& [resource, amount] : asked) {
    if (amount == 0) continue;
    kube::Amount free =
        Of(node.allocatable, resource) - (taken == nullptr ? 0 : Of(taken->requests, resource));
    room = std::min<int64_t>(room, std::max<kube::Amount>(free, 0) / amount);
  }
  return room;
}

std::string FullQuota(const Picture& picture, const SeenJob& job) {
  int64_t services = 0;
  for (const RoleAsk& ask : job.asks) services += ask.count;
  for (const auto& [key, service] : picture.services) {
    const kube::OwnerRef* owner = service.controller();
    if (owner != nullptr && owner->uid == job.meta.uid) --services;
  }
  for (const auto& [key, quota] : picture.quotas) {
    if (quota.ns != job.meta.ns) continue;
    kube::Resources asked;
    auto add = [&](const kube::QuotaCharge& charge, int64_t count) {
      if (!quota.Selects(charge)) return;
      for (const auto& [name, amount] : charge.amounts)
        asked[name] = kube::AddAmounts(asked[name], kube::MultiplyAmount(amount, count));
    };
    for (const RoleAsk& ask : job.asks) add(ask.charge, ask.count);
    if (services > 0) add(kube::ServiceCharge(), services);
    for (const auto& [name, hard] : quota.hard) {
      if (Of(asked, name) == 0) continue;
      bool counted = quota.used.contains(name) && quota.enforced.contains(name);
      if (!counted) return quota.name;
      if (kube::AddAmounts(Of(asked, name), Of(quota.used, name)) > std::min(hard, Of(quota.enforced, name)))
        return quota.name;
    }
  }
  return "";
}

bool Alike(const std::vector<RoleAsk>& asks) {
  return std::all_of(asks.begin(), asks.end(),
                     [&](const RoleAsk& ask) { return ask.need == asks.front().need; });
}

bool HasClaims(const std::vector<RoleAsk>& asks) {
  return std::ranges::any_of(asks, [](const RoleAsk& ask) { return !ask.need.claims.empty(); });
}

bool HasRules(const std::vector<RoleAsk>& asks) {
  return std::ranges::any_of(asks, [](const RoleAsk& ask) { return !ask.need.rules.empty(); });
}

bool AnybodyKeepsAway(const std::map<std::string, Taken>& taken) {
  return std::ranges::any_of(taken, [](const auto& entry) {
    return std::ranges::any_of(entry.second.pods, [](const Neighbour& pod) {
      return pod.labels != nullptr && !pod.need->rules.anti_affinity.empty();
    });
  });
}

bool HasPorts(const std::vector<RoleAsk>& asks) {
  return std::ranges::any_of(asks, [](const RoleAsk& ask) { return !ask.need.host_ports.empty(); });
}

bool SurelyFits(const std::vector<const kube::Node*>& nodes, const std::map<std::string, Taken>& taken,
                const std::vector<RoleAsk>& asks, const std::string& ns,
                const std::map<std::string, kube::Node>& all) {
  if (asks.empty()) return false;
  if (HasPorts(asks) || HasClaims(asks)) return false;  // would need a search, and the volumes
  if (HasRules(asks) || AnybodyKeepsAway(taken)) return GreedyByRules(nodes, taken, asks, ns, all);
  if (Greedy(nodes, taken, asks)) return true;
  if (Alike(asks)) return false;
  std::vector<RoleAsk> turned(asks.rbegin(), asks.rend());
  return Greedy(nodes, taken, turned);
}

std::string BrokenRule(const Picture& picture, const SeenJob& job, const api::Gang& gang,
                       const std::map<std::string, Taken>& taken) {
  if (!HasRules(job.asks) && !AnybodyKeepsAway(taken)) return "";
  std::vector<Neighbour> pods;
  for (const api::NodeSeats& seats : gang.status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      auto ask = std::ranges::find(job.asks, range.role, &RoleAsk::role);
      if (ask == job.asks.end()) continue;
      for (int32_t i = range.first; i <= range.last; ++i)
        pods.push_back({&job.meta.ns, &ask->labels, &ask->need, seats.node, false});
    }
  }
  return RuleAgainstAll(std::move(pods), Everybody(taken), ByName(picture.nodes));
}

}  // namespace lockstep::sim
