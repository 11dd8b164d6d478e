#include "engine/leftovers.h"

#include "engine/waiting_pods.h"

namespace lockstep::engine {

using cluster::ActionKind;
using cluster::GangState;
using cluster::PodRecord;

namespace {

void DeleteService(Draft& draft, GangState& gang, const std::string& name) {
  kube::Request request;
  request.verb = kube::Verb::kDelete;
  request.resource = &kube::kServices;
  request.ns = gang.ns;
  request.name = name;
  draft.Emit(ActionKind::kDeleteService, gang, "services/" + gang.ns + "/" + name, std::move(request));
}

}  // namespace

void DeleteGang(Draft& draft, GangState& gang) {
  kube::Request request;
  request.verb = kube::Verb::kDelete;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.name = gang.gang->meta.name;
  request.precondition_uid = gang.gang->meta.uid;
  draft.Emit(ActionKind::kDeleteGang, gang, GangObjectKey(gang), std::move(request));
}

void DeletePod(Draft& draft, GangState& gang, const PodRecord& pod) {
  if (pod.deleting) return;
  kube::Request request;
  request.verb = kube::Verb::kDelete;
  request.resource = &kube::kPods;
  request.ns = pod.ns;
  request.name = pod.name;
  request.precondition_uid = pod.uid;
  draft.Emit(ActionKind::kDeletePod, gang, "pods/" + pod.ns + "/" + pod.name, std::move(request));
}

void LetGo(Draft& draft, GangState& gang) {
  if (gang.gang != nullptr) DeleteGang(draft, gang);
}

// `kubectl delete --cascade=orphan`: the garbage collector is about to take the owner references away.
bool LeavesOrphans(const cluster::JobRecord& job) {
  return job.meta.deleted_at && std::ranges::find(job.meta.finalizers, "orphan") != job.meta.finalizers.end();
}

void RemoveOrphans(Draft& draft, GangState& gang) {
  if (gang.job != nullptr && LeavesOrphans(*gang.job)) return;
  std::string uid = gang.job != nullptr && !gang.job->meta.deleted_at ? gang.job->meta.uid : "";
  for (const auto& [name, pod] : gang.pods) {
    if (pod->owner_uid != uid && !pod->owner_uid.empty()) DeletePod(draft, gang, *pod);
  }
  for (const auto& [name, owner] : gang.services) {
    if (owner != uid && !owner.empty()) DeleteService(draft, gang, name);
  }
  if (gang.gang != nullptr && gang.gang->spec.job.uid != uid) DeleteGang(draft, gang);
}

bool RemoveStalePods(Draft& draft, GangState& gang) {
  const std::string& uid = gang.job->meta.uid;
  bool none_left = true;
  for (const auto& [name, pod] : gang.pods) {
    if (pod->owner_uid != uid) continue;
    bool current = gang.has_seats() && pod->attempt == gang.status().attempt;
    if (current || IsWaitingPod(draft.world, gang, *pod)) continue;
    none_left = false;
    if (pod->role.empty() && !pod->deleting) {
      draft.Record(gang, "Warning", "LabelsLost",
                   "pod " + name + " has lost the labels by which it belongs to its job, and is deleted");
    }
    if (pod->attempt > gang.status().attempt && !gang.gang_read) {
      // Our copy of the Gang may be the one that is behind: read before anything is deleted.
      draft.ReadGang(gang);
      continue;
    }
    DeletePod(draft, gang, *pod);
  }
  return none_left;
}

void ReadDoubtfulPods(Draft& draft, GangState& gang) {
  auto name_of = [](const std::string& key) { return key.substr(key.rfind('/') + 1); };
  std::erase_if(gang.doubtful, [&](const std::string& key) { return gang.pods.contains(name_of(key)); });
  for (const std::string& key : gang.doubtful) {
    kube::Request request;
    request.verb = kube::Verb::kGet;
    request.resource = &kube::kPods;
    request.ns = gang.ns;
    request.name = name_of(key);
    draft.Emit(ActionKind::kReadPod, gang, key, std::move(request));
  }
}

void CleanUp(Draft& draft, GangState& gang) {
  using jobs::CleanPodPolicy;
  const jobs::Job& job = *gang.job->job();
  if (job.run_policy.clean_pods == CleanPodPolicy::kNone) return;
  for (const auto& [name, pod] : gang.pods) {
    if (pod->owner_uid != job.meta.uid) continue;
    bool over = pod->phase == kube::PodPhase::kSucceeded || pod->phase == kube::PodPhase::kFailed;
    if (job.run_policy.clean_pods == CleanPodPolicy::kRunning && over) continue;
    DeletePod(draft, gang, *pod);
    std::string service = name;  // upstream deletes the service of the same name with its pod
    if (gang.services.contains(service)) DeleteService(draft, gang, service);
  }
  if (job.run_policy.clean_pods == CleanPodPolicy::kAll) {
    for (const auto& [name, owner] : gang.services) {
      if (owner == job.meta.uid) DeleteService(draft, gang, name);
    }
  }
}

}  // namespace lockstep::engine
