#include "engine/seats.h"

#include <set>

#include "api/labels.h"
#include "base/ascii.h"
#include "engine/leftovers.h"
#include "jobs/pod.h"

namespace lockstep::engine {

using cluster::ActionKind;
using cluster::GangState;
using cluster::PodPtr;
using cluster::PodRecord;

// Source: pkg/kubelet/lifecycle/predicate.go; "OutOf" is followed by the resource.
bool RefusedByKubelet(const PodRecord& pod) {
  static const std::set<std::string, std::less<>> reasons = {"NodeAffinity",
                                                             "NodeName",
                                                             "NodePorts",
                                                             "UnexpectedAdmissionError",
                                                             "NodeSelector",
                                                             "TopologyAffinityError",
                                                             "InvalidNodeInfo",
                                                             "UnexpectedPredicateFailureType",
                                                             "NodeShutdown",
                                                             "PodOSNotSupported",
                                                             "PodOSSelectorNodeLabelDoesNotMatch",
                                                             "AdmissionFailed"};
  if (pod.phase != kube::PodPhase::kFailed || pod.started) return false;
  return pod.reason.rfind("OutOf", 0) == 0 || reasons.contains(pod.reason);
}

namespace {

bool WaitsWithError(const PodRecord& pod) {
  static const std::set<std::string, std::less<>> reasons = {
      "ErrImagePull",      "ImagePullBackOff",           "InvalidImageName",
      "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError",
      "RunContainerError"};
  return reasons.contains(pod.waiting);
}

void Count(GangState& gang, const jobs::Role& role, const PodRecord& pod, jobs::RoleCounts& counts,
           Members& members) {
  std::string id = pod.role + "/" + std::to_string(pod.index);
  ++members.existing;
  gang.created.insert(id);
  if (RefusedByKubelet(pod)) {
    if (members.refused == nullptr) members.refused = &pod;
    return;
  }
  if (WaitsWithError(pod) && members.broken == nullptr) members.broken = &pod;
  if (pod.phase == kube::PodPhase::kRunning) members.container_restarts += pod.container_restarts;
  bool told_to_go = pod.deleting && pod.phase != kube::PodPhase::kPending;
  bool removed =
      pod.disrupted && pod.phase == kube::PodPhase::kFailed;  // pod GC writes that before it deletes
  if ((told_to_go || removed) && !gang.succeeded.contains(id)) {
    if (pod.disrupted) gang.disrupted_attempt = pod.attempt;
    // A rank that is being deleted is lost whatever its restart policy says, and whatever its process says
    // last: exit 0 on SIGTERM makes the pod Succeeded, but its work is not done.
    ++counts.failed;
    counts.retryable_failure = true;
    return;
  }
  jobs::CountPod(counts, role.restart_policy, pod.phase, /*deleting=*/false, pod.exit_code);
  if (pod.index == 0 && pod.phase == kube::PodPhase::kFailed) counts.first_succeeded = false;
  if (pod.phase == kube::PodPhase::kRunning) ++members.running;
  if (pod.phase == kube::PodPhase::kSucceeded) {
    ++members.succeeded;
    gang.succeeded.insert(std::move(id));
  }
}

// Of a placement whose pods are not created with their nodes: it exists and has none yet, so nothing of it
// runs.
bool AwaitsBinding(const GangState& gang, const PodRecord& pod) {
  return gang.status().way != api::Way::kAssign && pod.node.empty() && pod.phase == kube::PodPhase::kPending;
}

std::string ServiceKey(const GangState& gang, const std::string& name) {
  return "services/" + gang.ns + "/" + name;
}

// False while the service is still to come.
bool EnsureService(Draft& draft, GangState& gang, const jobs::Job& job, size_t role, int32_t index) {
  std::string name = jobs::ServiceName(job, job.roles[role], index);
  auto found = gang.services.find(name);
  if (found != gang.services.end() && found->second == job.meta.uid) return true;
  if (draft.world.InFlight(ServiceKey(gang, name))) return false;
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kServices;
  request.ns = gang.ns;
  request.body = json::Dump(jobs::ServiceFor(job, job.roles[role], index));
  draft.Emit(ActionKind::kCreateService, gang, ServiceKey(gang, name), std::move(request));
  return false;
}

// The upstream name, unless a pod of another owner still has it: then the numbered one, also for attempt 1.
std::string FreeName(const Draft& draft, const GangState& gang, const std::string& upstream,
                     int64_t attempt) {
  std::string name = jobs::PodName(upstream, attempt);
  const cluster::PodPtr* taken = draft.world.pods.Get(gang.ns + "/" + name);
  if (attempt > 1 || taken == nullptr || (*taken)->owner_uid == gang.job->meta.uid) return name;
  return jobs::PodName(upstream + "-r1", 1);
}

bool HasRanksName(const jobs::Job& job, size_t role, const PodRecord& pod) {
  std::string upstream = jobs::ReplicaName(job, job.roles[role], pod.index);
  return pod.name == jobs::PodName(upstream, pod.attempt) ||
         pod.name == jobs::PodName(upstream + "-r1", pod.attempt);
}

}  // namespace

void BindPod(Draft& draft, GangState& gang, const PodRecord& pod, const std::string& node) {
  if (pod.deleting || gang.bound.contains(pod.name)) return;
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kPods;
  request.ns = pod.ns;
  request.name = pod.name;
  request.subresource = "binding";
  request.body =
      json::Dump(json::Doc{{"apiVersion", "v1"},
                           {"kind", "Binding"},
                           {"metadata", {{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}}},
                           {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
  draft.Emit(ActionKind::kBindPod, gang, "bindings/" + pod.ns + "/" + pod.name, std::move(request));
}

void CreatePod(Draft& draft, GangState& gang, const jobs::Job& job, size_t role, int32_t index,
               int64_t attempt, api::Way way, const std::string& node) {
  std::string name = FreeName(draft, gang, jobs::ReplicaName(job, job.roles[role], index), attempt);
  std::string key = "pods/" + gang.ns + "/" + name;
  if (draft.world.InFlight(key)) return;  // before the costly part: this is asked at every step of a start
  json::Doc pod = job.framework->PodFor(job, role, index);
  jobs::StampPod(pod, attempt);
  jobs::SendBy(pod, way, node);
  pod["metadata"]["name"] = name;
  if (way == api::Way::kBind)
    pod["metadata"]["annotations"][std::string(api::kGenerationAnnotation)] =
        std::to_string(job.meta.generation);
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kPods;
  request.ns = gang.ns;
  request.body = json::Dump(pod);
  bool sent = draft.Emit(ActionKind::kCreatePod, gang, key, std::move(request));
  // One that nobody has bound can't start anything, and is bound only if its attempt is the recorded one.
  if (sent && way != api::Way::kBind) gang.doubtful.insert(std::move(key));
}

const jobs::Job& AsPlaced(const GangState& gang, std::optional<jobs::Job>& storage) {
  const jobs::Job& job = *gang.job->job();
  std::map<std::string_view, int32_t> placed;
  for (const api::NodeSeats& seats : gang.status().placement) {
    for (const api::RoleRange& range : seats.pods) placed[range.role] += range.last - range.first + 1;
  }
  auto replicas = [&](const jobs::Role& role) {
    auto found = placed.find(role.type);
    return found == placed.end() ? 0 : found->second;
  };
  bool same =
      std::ranges::all_of(job.roles, [&](const auto& role) { return role.replicas == replicas(role); });
  if (same) return job;
  storage = job;
  for (jobs::Role& role : storage->roles) role.replicas = replicas(role);
  return *storage;
}

Members CountMembers(GangState& gang, const jobs::Job& job) {
  Members members;
  members.pods.resize(job.roles.size());
  members.counts.resize(job.roles.size());
  std::map<std::string, size_t> role_of;
  for (size_t role = 0; role < job.roles.size(); ++role) {
    members.pods[role].resize(static_cast<size_t>(job.roles[role].replicas));
    members.wanted += job.roles[role].replicas;
    role_of[AsciiLower(job.roles[role].type)] = role;
  }
  for (const auto& [name, pod] : gang.pods) {
    auto role = role_of.find(pod->role);
    if (role == role_of.end() || pod->owner_uid != job.meta.uid || pod->attempt != gang.status().attempt)
      continue;
    if (pod->index >= job.roles[role->second].replicas) continue;
    PodPtr& place = members.pods[role->second][static_cast<size_t>(pod->index)];
    // Of two that claim one rank (somebody made a copy) it is the one that has the rank's name.
    if (place == nullptr || HasRanksName(job, role->second, *pod)) place = pod;
  }
  for (size_t role = 0; role < job.roles.size(); ++role) {
    for (const PodPtr& pod : members.pods[role]) {
      if (pod == nullptr) continue;
      if (AwaitsBinding(gang, *pod)) {
        // The other scheduler has the time that a start has; our own bindings belong to the placement.
        if (gang.status().way == api::Way::kSteer) ++members.existing;
        if (gang.status().way == api::Way::kSteer && pod->unschedulable) members.unplaced = pod.get();
        continue;
      }
      Count(gang, job.roles[role], *pod, members.counts[role], members);
    }
  }
  for (size_t role = 0; role < job.roles.size(); ++role) {
    std::string label = AsciiLower(job.roles[role].type);
    members.failed += members.counts[role].failed;
    if (gang.succeeded.contains(label + "/0")) members.counts[role].first_succeeded = true;
    for (size_t i = 0; i < members.pods[role].size(); ++i) {
      if (members.pods[role][i] != nullptr) continue;
      std::string id = label + "/" + std::to_string(i);
      if (gang.succeeded.contains(id)) {
        ++members.counts[role].succeeded;
        ++members.succeeded;
        ++members.existing;
      } else if (gang.created.contains(id)) {
        ++members.vanished;
      }
    }
  }
  return members;
}

bool CreateLookedUpServices(Draft& draft, GangState& gang, const jobs::Job& job) {
  bool all_there = true;
  for (size_t role = 0; role < job.roles.size(); ++role) {
    for (int32_t i = 0; i < job.roles[role].replicas; ++i) {
      if (job.framework->LookedUp(job, role, i)) all_there &= EnsureService(draft, gang, job, role, i);
    }
  }
  return all_there;
}

bool CreateMembers(Draft& draft, GangState& gang, const jobs::Job& job, const Members& members) {
  if (!CreateLookedUpServices(draft, gang, job)) return false;
  bool complete = true;
  const api::GangStatus& status = gang.status();
  for (const api::NodeSeats& seats : status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      for (size_t role = 0; role < job.roles.size(); ++role) {
        if (job.roles[role].type != range.role) continue;
        for (int32_t i = range.first; i <= range.last && i < job.roles[role].replicas; ++i) {
          const PodPtr& pod = members.pods[role][static_cast<size_t>(i)];
          bool unbound = pod != nullptr && AwaitsBinding(gang, *pod);
          if (pod != nullptr && (!unbound || status.way == api::Way::kSteer)) continue;
          if (gang.succeeded.contains(AsciiLower(range.role) + "/" + std::to_string(i))) continue;
          complete = false;
          bool of_older_job =
              unbound && pod->job_generation != job.meta.generation && !gang.bound.contains(pod->name);
          if (of_older_job) {  // made before an edit, while the gang waited
            DeletePod(draft, gang, *pod);
          } else if (unbound) {
            BindPod(draft, gang, *pod, seats.node);
          } else {
            CreatePod(draft, gang, job, role, i, status.attempt, status.way, seats.node);
          }
        }
      }
    }
  }
  return complete;
}

std::string SeatOf(const api::GangStatus& status, const std::string& role, int32_t index) {
  for (const api::NodeSeats& seats : status.placement) {
    for (const api::RoleRange& range : seats.pods) {
      if (AsciiLower(range.role) == role && range.first <= index && index <= range.last) return seats.node;
    }
  }
  return "";
}

void CreateOtherServices(Draft& draft, GangState& gang, const jobs::Job& job) {
  if (gang.services.size() >= static_cast<size_t>(job.pods()))
    return;  // the usual case, without building any
  for (size_t role = 0; role < job.roles.size(); ++role) {
    for (int32_t i = 0; i < job.roles[role].replicas; ++i) EnsureService(draft, gang, job, role, i);
  }
}

}  // namespace lockstep::engine
