// What a gang's seats and pods hold, of nodes and of quotas.
#include <algorithm>

#include "base/ascii.h"
#include "cluster/world.h"
#include "jobs/pod_set.h"

namespace lockstep::cluster {

namespace {

// `missing`: by role, how many seats have no pod yet.
void RefreshPromised(World& world, GangState& gang, const std::vector<int64_t>& missing) {
  std::vector<QuotaAsk> now;
  for (size_t role = 0; role < missing.size(); ++role) {
    if (missing[role] > 0 && gang.roles[role].charge != nullptr)
      now.push_back({gang.roles[role].charge, missing[role]});
  }
  if (gang.has_seats() && gang.framework != &jobs::PodSets()) {
    int64_t services = gang.job->job()->pods() - static_cast<int64_t>(gang.services.size());
    if (services > 0) now.push_back({ServiceCharge(), services});
  }
  if (now == gang.promised) return;
  for (const QuotaAsk& ask : gang.promised) world.quotas.Discharge(gang.ns, ask.charge, ask.count);
  for (const QuotaAsk& ask : now) world.quotas.Charge(gang.ns, ask.charge, ask.count);
  gang.promised = std::move(now);
}

// Seats that a start gives back are others' when that is on record: should the write be lost, they are still
// promised.
bool SeatsOnRecord(const GangState& gang) {
  if (!gang.assumed || gang.gang == nullptr || gang.job == nullptr || gang.has_seats()) return false;
  if (gang.job->job() == nullptr || gang.gang->spec.job.uid != gang.job->meta.uid) return false;
  api::GangPhase phase = gang.gang->status.phase;
  return phase == api::GangPhase::kPlacing || phase == api::GangPhase::kStarting;
}

// Pods that no job of ours made count like any others. The record holds the seats that none of them has yet,
// or that one has lost and the next may get.
std::vector<Hold> FreeSeats(const GangState& gang) {
  std::vector<Hold> free;
  const jobs::Job* job = gang.job == nullptr ? nullptr : gang.job->job();
  const api::GangStatus& status = SeatsOnRecord(gang) ? gang.gang->status : gang.status();
  bool starts = status.phase == api::GangPhase::kPlacing || status.phase == api::GangPhase::kStarting;
  if (job == nullptr || status.placement.empty() || !(starts || gang.keeps_seats)) return free;
  std::map<std::pair<std::string, std::string>, int32_t> there;  // pods by node and role
  for (const auto& [name, pod] : gang.pods) {
    const std::string& node = pod->node.empty() ? pod->nominated : pod->node;
    bool counts = pod->holds || (pod->phase == kube::PodPhase::kSucceeded && !pod->deleting);
    if (counts && !node.empty()) ++there[{node, pod->group->role}];
  }
  for (const api::NodeSeats& seats : status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      auto role = std::ranges::find(job->roles, range.role, &jobs::Role::type);
      if (role == job->roles.end()) continue;  // all of its pods are gone
      const RoleState& state = gang.roles[static_cast<size_t>(role - job->roles.begin())];
      int32_t& taken = there[{seats.node, range.role}];
      for (int32_t i = range.first; i <= range.last; ++i) {
        if (taken-- <= 0) free.push_back({seats.node, state.pod_class, state.who, false});
      }
    }
  }
  return free;
}

// The gang's pods on their nodes, and the seats that none of them has yet. `missing` as above.
std::vector<Hold> SeatsAndPods(const GangState& gang, std::vector<int64_t>& missing) {
  std::vector<Hold> now;
  std::set<std::pair<std::string, int32_t>> made;  // (role label, index) with a pod of this attempt
  std::set<std::pair<std::string, int32_t>>
      seated;  // ... that has its node: any other leaves the seat to be counted
  const api::GangStatus& status = SeatsOnRecord(gang) ? gang.gang->status : gang.status();
  for (const auto& [name, pod] : gang.pods) {
    bool unbound = pod->node.empty() && pod->phase == kube::PodPhase::kPending;
    if (pod->attempt == status.attempt) made.insert({pod->role, pod->index});
    if (pod->attempt == status.attempt && !unbound) seated.insert({pod->role, pod->index});
    if (pod->holds && !pod->node.empty()) now.push_back({pod->node, pod->pod_class, pod->who, pod->deleting});
  }
  if ((!gang.has_seats() && !SeatsOnRecord(gang)) || gang.roles.empty()) return now;
  const jobs::Job& job = *gang.job->job();
  for (const api::NodeSeats& seats : status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      for (size_t role = 0; role < job.roles.size(); ++role) {
        if (job.roles[role].type != range.role) continue;
        std::string label = AsciiLower(range.role);
        for (int32_t i = range.first; i <= range.last; ++i) {
          bool done = gang.succeeded.contains(label + "/" + std::to_string(i));
          if (done || seated.contains({label, i})) continue;
          now.push_back({seats.node, gang.roles[role].pod_class, gang.roles[role].who, false});
          if (!made.contains({label, i})) ++missing[role];
        }
      }
    }
  }
  return now;
}

}  // namespace

void RefreshHeld(World& world, GangState& gang) {
  std::vector<int64_t> missing(gang.roles.size(), 0);
  bool of_others = gang.framework == &jobs::PodSets();
  std::vector<Hold> now = of_others ? FreeSeats(gang) : SeatsAndPods(gang, missing);
  RefreshPromised(world, gang, missing);
  std::sort(now.begin(), now.end());
  if (now == gang.held) return;
  for (const Hold& hold : gang.held)
    world.Release(hold.node, hold.pod_class, Tenure::kPod, hold.who, hold.leaving);
  for (const Hold& hold : now) world.Occupy(hold.node, hold.pod_class, Tenure::kPod, hold.who, hold.leaving);
  gang.held = std::move(now);
  if (gang.held.empty()) {
    world.holding.erase(gang.key);
  } else {
    world.holding.insert(gang.key);
  }
}

}  // namespace lockstep::cluster
