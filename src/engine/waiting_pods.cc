#include "engine/waiting_pods.h"

#include "base/ascii.h"
#include "engine/group.h"
#include "engine/place_gangs.h"
#include "engine/roles.h"
#include "engine/seats.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::PodRecord;
using cluster::World;

namespace {

bool HasRank(const jobs::Job& job, const PodRecord& pod) {
  return std::ranges::any_of(job.roles, [&](const jobs::Role& role) {
    return AsciiLower(role.type) == pod.role && pod.index < role.replicas;
  });
}

// The condition of a kube-scheduler; its autoscalers look for it. The text names what to read, for it stays
// while the reasons change. Source: k8s.io/kubernetes pkg/scheduler handleSchedulingFailure, updatePod.
void TellPodWaits(Draft& draft, GangState& gang, const PodRecord& pod) {
  if (pod.unschedulable) return;
  std::string message = "waits until all " + std::to_string(gang.job->job()->pods()) +
                        " pods of its gang have seats; see gang " + gang.gang->meta.name;
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kStrategicMerge;
  request.resource = &kube::kPods;
  request.ns = pod.ns;
  request.name = pod.name;
  request.subresource = "status";
  json::Doc condition = {{"type", "PodScheduled"},    {"status", "False"},
                         {"reason", "Unschedulable"}, {"message", std::move(message)},
                         {"lastProbeTime", nullptr},  {"lastTransitionTime", FormatTime(draft.now.wall)}};
  request.body = json::Dump(
      json::Doc{{"metadata", {{"uid", pod.uid}, {"resourceVersion", std::to_string(pod.resource_version)}}},
                {"status", {{"conditions", json::Doc::array({std::move(condition)})}}}});
  draft.Emit(cluster::ActionKind::kTellPodWaits, gang, "pods/" + pod.ns + "/" + pod.name, std::move(request));
}

void ShowPodsOf(Draft& draft, GangState& gang) {
  const World& world = draft.world;
  if (gang.gang == nullptr || gang.assumed || WayOf(world, gang) != api::Way::kBind) return;
  if (HeldBack(world, gang, draft.now)) return;
  if (IsGroup(gang)) {
    for (const auto& [name, pod] : gang.pods) {
      bool waits = pod->group->ours_to_bind && !pod->group->gated && pod->node.empty() && !pod->deleting;
      if (waits) TellPodWaits(draft, gang, *pod);
    }
    return;
  }
  const jobs::Job& job = *gang.job->job();
  int64_t attempt = gang.status().attempt + 1;
  std::set<std::pair<std::string, int32_t>> there;
  for (const auto& [name, pod] : gang.pods) {
    if (IsWaitingPod(world, gang, *pod)) there.emplace(pod->role, pod->index);
  }
  if (there.size() < static_cast<size_t>(job.pods())) {
    for (size_t role = 0; role < job.roles.size(); ++role) {
      std::string label = AsciiLower(job.roles[role].type);
      for (int32_t i = 0; i < job.roles[role].replicas; ++i) {
        if (!there.contains({label, i})) CreatePod(draft, gang, job, role, i, attempt, api::Way::kBind, "");
      }
    }
    return;
  }
  // All at once: an autoscaler that saw a part would make room for a part.
  for (const auto& [name, pod] : gang.pods) {
    if (IsWaitingPod(world, gang, *pod)) TellPodWaits(draft, gang, *pod);
  }
}

}  // namespace

bool IsWaitingPod(const World& world, const GangState& gang, const PodRecord& pod) {
  const jobs::Job* job = gang.job == nullptr ? nullptr : gang.job->job();
  if (job == nullptr || pod.owner_uid != job->meta.uid || pod.deleting || !pod.node.empty()) return false;
  if (pod.phase != kube::PodPhase::kPending || pod.attempt != gang.status().attempt + 1) return false;
  if (!gang.waiting() || gang.status().phase == api::GangPhase::kRestarting || job->run_policy.suspend)
    return false;
  if (pod.job_generation != job->meta.generation || !HasRank(*job, pod)) return false;
  // Until the dry runs are answered nobody knows whether these pods are bound: they stay.
  return WayOf(world, gang) == api::Way::kBind || !RolesChecked(gang);
}

void ShowWaitingPods(Draft& draft) {
  for (const std::string& key : draft.advanced) {
    if (draft.world.waiting.Contains(key)) ShowPodsOf(draft, *draft.world.gangs.Edit(key));
  }
}

}  // namespace lockstep::engine
