#include "engine/groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/labels.h"
#include "engine/give_back.h"
#include "engine/group.h"
#include "engine/leftovers.h"
#include "engine/limits.h"
#include "engine/roles.h"
#include "engine/seats.h"
#include "jobs/pod.h"

namespace lockstep::engine {

using api::GangPhase;
using api::GangReason;
using api::GangStatus;
using cluster::ActionKind;
using cluster::GangState;
using cluster::GroupMark;
using cluster::PodPtr;
using cluster::PodRecord;

namespace {

using Pods = std::vector<PodPtr>;

// The job that the rest of the engine sees: a role for each need that `pods` have now, or by the roles of the
// record.
void ActAsJob(Draft& draft, GangState& gang, const Pods& pods, std::string GroupMark::* role_of) {
  std::map<std::string, Pods> by_role;
  for (const PodPtr& pod : pods) by_role[(*pod->group).*role_of].push_back(pod);
  jobs::Job job;
  job.framework = gang.framework;
  job.meta.ns = gang.ns;
  job.meta.name = gang.job_name;
  job.meta.uid = gang.gang != nullptr ? gang.gang->spec.job.uid : UidOf(gang, *pods.front());
  job.meta.created = pods.front()->group->created;
  job.spec = job.status = std::make_shared<const json::Doc>(json::Doc::object());
  gang.roles.clear();
  for (const auto& [name, members] : by_role) {
    jobs::Role role;
    role.type = name;
    role.replicas = static_cast<int32_t>(members.size());
    job.roles.push_back(std::move(role));
    const GroupMark& mark = *members.front()->group;
    gang.roles.push_back(RoleOfPods(draft.world, gang, mark.need, mark.labels, mark.priority));
  }
  auto record = std::make_shared<cluster::JobRecord>();
  record->meta = job.meta;
  record->resource_version = pods.front()->resource_version;
  record->body = std::move(job);
  gang.job = std::move(record);
}

// What its record says of its roles.
std::vector<api::GangRole> RolesOf(const Group& group) {
  std::map<std::string, int32_t> counts;
  for (const PodPtr& pod : group.live()) ++counts[pod->group->role];
  std::vector<api::GangRole> roles;
  for (const auto& [name, count] : counts) roles.push_back({name, count, count});
  return roles;
}

void CreateRecord(Draft& draft, GangState& gang, const Group& group, const PodRecord& first) {
  const jobs::Job& job = *gang.job->job();
  // As for a job, a create that is tried again keeps its place.
  if (!gang.assumed_queued_at)
    gang.assumed_queued_at = job.meta.created + Duration(first.resource_version % 1'000'000);
  api::GangSpec spec;
  spec.job = {gang.framework->resource().ApiVersion(), std::string(gang.framework->resource().kind),
              job.meta.name, job.meta.uid};
  spec.queued_at = *gang.assumed_queued_at;
  spec.roles = RolesOf(group);
  json::Doc doc = api::NewGangDoc(gang.ns, spec);
  // Nothing else has this UID: the garbage collector would take the record away.
  doc["metadata"].erase("ownerReferences");
  const kube::OwnerRef& owner = first.group->owner;
  if (!owner.kind.empty()) {
    json::Doc reference = {
        {"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
    doc["metadata"]["ownerReferences"] = json::Doc::array({std::move(reference)});
  }
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.body = json::Dump(doc);
  draft.Emit(ActionKind::kCreateGang, gang, GangObjectKey(gang), std::move(request));
}

// By whoever made the pods they are made anew; without one they would be lost.
bool CanBeMadeAnew(const PodRecord& pod) { return !pod.group->owner.kind.empty(); }

void PatchPod(Draft& draft, GangState& gang, const PodRecord& pod, json::Doc changes) {
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.patch = kube::PatchType::kMerge;
  request.resource = &kube::kPods;
  request.ns = pod.ns;
  request.name = pod.name;
  changes["metadata"]["uid"] = pod.uid;
  changes["metadata"]["resourceVersion"] = std::to_string(pod.resource_version);
  request.body = json::Dump(changes);
  draft.Emit(ActionKind::kPatchPod, gang, "pods/" + pod.ns + "/" + pod.name, std::move(request));
}

void Steer(Draft& draft, GangState& gang, const PodRecord& pod, const std::string& node) {
  json::Doc steered = {{"spec", json::Doc::object()}};
  if (pod.group->required != nullptr) {
    steered["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        *pod.group->required;
  }
  jobs::SendBy(steered, api::Way::kSteer, node);
  json::Doc& annotations = steered["metadata"]["annotations"];
  annotations[std::string(api::kSeatAnnotation)] = node;
  annotations[std::string(api::kRoleAnnotation)] = pod.group->role;
  PatchPod(draft, gang, pod, std::move(steered));
}

void LiftGate(Draft& draft, GangState& gang, const PodRecord& pod) {
  json::Doc rest = json::Doc::array();
  for (const std::string& gate : pod.group->gates) {
    if (gate != api::kGangGate) rest.push_back({{"name", gate}});
  }
  PatchPod(draft, gang, pod, {{"spec", {{"schedulingGates", std::move(rest)}}}});
}

// By node and role, how many seats of the record no pod has yet; in the order of the record.
class FreeSeats {
 public:
  explicit FreeSeats(const GangStatus& status) {
    for (const api::NodeSeats& seats : status.placement) {
      for (const api::RoleRange& range : seats.pods) {
        free_.push_back({seats.node, range.role, range.last - range.first + 1});
        wanted_ += free_.back().count;
      }
    }
  }
  // One for this role, on this node or on any (""): the node, or "" if there is none.
  std::string Take(const std::string& node, const std::string& role) {
    for (Seat& seat : free_) {
      if (seat.count == 0 || seat.role != role || (!node.empty() && seat.node != node)) continue;
      --seat.count;
      ++taken_;
      return seat.node;
    }
    return "";
  }
  int32_t bound = 0, running = 0;  // of those that pods have
  int32_t wanted() const { return wanted_; }
  bool none() const { return taken_ == wanted_; }

 private:
  struct Seat {
    std::string node, role;
    int32_t count = 0;
  };
  std::vector<Seat> free_;
  int32_t wanted_ = 0, taken_ = 0;
};

// What can't be turned round goes, and whoever owns it makes new ones: a bound pod can't be unbound, nor a
// steered one be steered elsewhere.
void DeleteUnstarted(Draft& draft, GangState& gang, const Group& group) {
  for (const Pods* pods : {&group.seated, &group.steered}) {
    for (const PodPtr& pod : *pods) {
      if (pod->phase == kube::PodPhase::kPending && CanBeMadeAnew(*pod)) DeletePod(draft, gang, *pod);
    }
  }
}

// A start has no end, or comes to a bad one. True if the seats were given back.
bool EndStart(Draft& draft, GangState& gang, const Group& group) {
  for (const PodPtr& pod : group.failed) {
    bool seated = std::ranges::any_of(gang.status().placement,
                                      [&](const api::NodeSeats& seats) { return seats.node == pod->node; });
    if (!RefusedByKubelet(*pod) || !seated) continue;
    BarAndUndo(draft, gang, pod->node, pod->reason,
               {"RefusedByNode", "node " + pod->node + " refused pod " + pod->name + ": " + pod->reason});
    return true;
  }
  if (!gang.create_refused.empty()) {
    DeleteUnstarted(draft, gang, group);
    Undo(draft, gang, {gang.create_refused, "the API server refuses to place a pod: " + gang.create_error});
    return true;
  }
  MonoTime progress = gang.last_progress.value_or(draft.now.mono);
  gang.last_progress = progress;
  for (const PodPtr& pod : group.steered) {
    if (!pod->unschedulable || pod->group->gated) continue;
    if (draft.now.mono < progress + kSteerPatience) {
      draft.world.WakeAt(progress + kSteerPatience, gang.key);
      continue;
    }
    if (CanBeMadeAnew(*pod)) DeletePod(draft, gang, *pod);
    BarAndUndo(draft, gang, pod->group->seat, "Unschedulable",
               {"RefusedByScheduler", "pod " + pod->name + " has its seat on " + pod->group->seat +
                                          ", but its scheduler says: " + *pod->unschedulable});
    return true;
  }
  if (draft.now.mono < progress + kStartTimeout) {
    draft.world.WakeAt(progress + kStartTimeout, gang.key);
    return false;
  }
  std::string why = gang.create_error.empty() ? "" : ": " + gang.create_error;
  DeleteUnstarted(draft, gang, group);
  Undo(draft, gang, {"StartTimeout", "no progress for " + FormatDuration(kStartTimeout) + why});
  return true;
}

void PlaceAnew(Draft& draft, GangState& gang, GangReason reason) {
  GangStatus next = gang.status();
  if (next.phase == GangPhase::kRunning) next.waiting_since = draft.now.wall;
  PlaceAgain(draft, gang, std::move(next), std::move(reason));
}

// Gives each pod that has none its seat of the record. False if the record is none for these pods and nodes.
bool FillSeats(Draft& draft, GangState& gang, const Group& group, FreeSeats& seats) {
  const cluster::Nodes& nodes = draft.world.nodes;
  auto role = [](const PodPtr& pod) { return pod->group->role; };
  for (const PodPtr& pod : group.seated) {
    if (seats.Take(pod->node, role(pod)).empty()) continue;
    ++seats.bound;
    seats.running += pod->phase == kube::PodPhase::kRunning ? 1 : 0;
  }
  for (const PodPtr& pod : group.leaving) seats.Take(pod->node, role(pod));
  for (const PodPtr& pod : group.steered) {
    if (!nodes.Find(pod->group->seat)) return false;
    if (seats.Take(pod->group->seat, role(pod)).empty() && !seats.none()) return false;
  }
  bool all_steered = true;
  for (const PodPtr& pod : group.pending) {
    if (LooseEnd(*pod)) continue;
    std::string node = seats.Take("", role(pod));
    if (node.empty() && seats.none()) break;  // one more than the gang has
    if (node.empty() || !nodes.Find(node)) return false;
    bool ours = pod->group->ours_to_bind;
    all_steered &= ours;
    if (ours && pod->group->gated) {
      LiftGate(draft, gang, *pod);
    } else if (ours) {
      BindPod(draft, gang, *pod, node);
    } else {
      Steer(draft, gang, *pod, node);
    }
  }
  // What is left may be of those that have ended well meanwhile. Those of earlier placements take nobody's
  // seat.
  for (const PodPtr& pod : group.done) {
    if (seats.Take(pod->node, role(pod)).empty()) continue;
    ++seats.bound, ++seats.running;
  }
  if (!seats.none()) return true;  // its owner will make the pods that are missing
  for (const PodPtr& pod : group.steered) {
    if (all_steered && pod->group->gated) LiftGate(draft, gang, *pod);
  }
  return true;
}

// Placing until all pods have their nodes, Starting until all run.
void AdvanceStart(Draft& draft, GangState& gang, const Group& group) {
  if (EndStart(draft, gang, group)) return;
  FreeSeats seats(gang.status());
  if (!FillSeats(draft, gang, group, seats))
    return PlaceAnew(draft, gang, {"SeatsLost", "its pods or nodes are others than those it was placed for"});
  if (!seats.none()) return;
  GangStatus next = gang.status();
  if (seats.running == seats.wanted()) {
    next.phase = GangPhase::kRunning;
    next.start_failures = 0;
    next.not_before.reset();
    next.barred.clear();
    next.reason = {"Running", "all " + std::to_string(seats.wanted()) + " pods run"};
    draft.WriteGang(gang, std::move(next));
  } else if (seats.bound == seats.wanted() && next.phase == GangPhase::kPlacing) {
    WallTime due = next.phase_since.value_or(draft.now.wall) + kQuickStart;
    if (draft.now.wall < due) return draft.WakeAt(due, gang);
    next.phase = GangPhase::kStarting;
    next.reason = {"Starting", "all " + std::to_string(seats.wanted()) + " pods have their nodes, " +
                                   std::to_string(seats.running) + " run"};
    draft.WriteGang(gang, std::move(next));
  }
}

// Tells why no pod gets a seat; the gang is not in the queue meanwhile. Numbers alone are told now and then.
void Tell(Draft& draft, GangState& gang, GangReason reason) {
  GangStatus next = gang.status();
  if (next.reason == reason) return;
  bool same_code = next.reason.code == reason.code;
  if (same_code && gang.reason_written && draft.now.mono < *gang.reason_written + kReasonInterval)
    return draft.world.WakeAt(*gang.reason_written + kReasonInterval, gang.key);
  bool only_waits = reason.code == "PodsMissing" || reason.code == "OtherGate";
  draft.Record(gang, only_waits ? "Normal" : "Warning", reason.code, reason.message);
  next.reason = std::move(reason);
  if (draft.WriteGang(gang, std::move(next))) gang.reason_written = draft.now.mono;
}

// The seats of pods that a running gang has lost are kept for a while for those that will replace them: a
// part of a gang is of no use to anybody.
void KeepSeats(Draft& draft, GangState& gang, const Group& group) {
  FreeSeats seats(gang.status());
  for (const Pods* pods : {&group.seated, &group.leaving, &group.done}) {
    for (const PodPtr& pod : *pods) seats.Take(pod->node, pod->group->role);
  }
  bool whole = seats.none() || group.seated.empty();
  if (whole) {
    gang.last_progress.reset();
    gang.keeps_seats = false;
    return;
  }
  MonoTime since = gang.last_progress.value_or(draft.now.mono);
  gang.last_progress = since;
  gang.keeps_seats = draft.now.mono < since + kSeatsKept;
  if (gang.keeps_seats) draft.world.WakeAt(since + kSeatsKept, gang.key);
}

// No pod waits. Its end is its owner's to tell; the record shows how its pods have ended.
void Settle(Draft& draft, GangState& gang, const Group& group) {
  GangStatus next = gang.status();
  if (!group.seated.empty() && next.phase == GangPhase::kRunning) {
    if (next.reason.code != "Running") next.reason = {"Running", "no other pod waits for a seat"};
  } else if (!group.seated.empty()) {  // its record was lost, or those that were to replace others are gone
    next.phase = GangPhase::kRunning;
    next.attempt = std::max<int64_t>(next.attempt, 1);
    next.placement = OfWholeGroup(gang, {});
    next.reason = {"Running", std::to_string(group.seated.size()) + " pods have their nodes"};
  } else if (group.leaving.empty()) {
    bool failed = group.done.empty() || !group.failed.empty();
    next.phase = failed ? GangPhase::kFailed : GangPhase::kSucceeded;
    next.placement.clear();
    next.reason = failed ? GangReason{"Failed", "its pods have ended, and not all of them well"}
                         : GangReason{"Succeeded", "all its pods have succeeded"};
  }
  draft.WriteGang(gang, std::move(next));
}

// A pod that is steered to a node that is no more can't be placed any longer.
void DeleteStranded(Draft& draft, GangState& gang, const Group& group) {
  for (const PodPtr& pod : group.steered) {
    if (!draft.world.nodes.Find(pod->group->seat) && CanBeMadeAnew(*pod)) DeletePod(draft, gang, *pod);
  }
}

// Without seats, or with some for a part of its pods: those of a new gang, or those that replace what ended.
void AdvanceWaiting(Draft& draft, GangState& gang, const Group& group) {
  gang.job = nullptr;  // not in the queue
  gang.keeps_seats = false;
  if (gang.status().phase == GangPhase::kRunning && !group.seated.empty()) {
    ActAsJob(draft, gang, group.live(), &GroupMark::role);
    KeepSeats(draft, gang, group);
  }
  if (group.unbound().empty()) return Settle(draft, gang, group);
  std::variant<Pods, GangReason> chosen = PodsToSeat(draft.world, gang, group);
  if (auto* reason = std::get_if<GangReason>(&chosen)) return Tell(draft, gang, std::move(*reason));
  const Pods& pods = std::get<Pods>(chosen);
  ActAsJob(draft, gang, pods, &GroupMark::role_now);
  if (gang.status().phase != GangPhase::kQueued) {
    return PlaceAnew(draft, gang,
                     {"PodsReplaced",
                      std::to_string(pods.size()) + (pods.size() == 1 ? " new pod waits for its seat"
                                                                      : " new pods wait for their seats")});
  }
  DeleteStranded(draft, gang, group);
  Wait(draft, gang);
  WriteRoles(draft, gang, RolesOf(group));
}

}  // namespace

void AdvanceGroup(Draft& draft, GangState& gang) {
  if (gang.unread) {
    draft.ReadGang(gang);
    return;
  }
  Group group = LookAt(gang);
  Pods live = group.live();
  if (gang.pods.empty()) {
    gang.job = nullptr;
    if (gang.gang != nullptr) DeleteGang(draft, gang);
    return;
  }
  if (gang.gang == nullptr) {
    gang.job = nullptr;
    if (live.empty()) return;
    ActAsJob(draft, gang, live, &GroupMark::role);
    if (!gang.record_error.empty()) draft.Record(gang, "Warning", "RecordRefused", gang.record_error);
    return CreateRecord(draft, gang, group, *live.front());
  }
  const std::string& uid = gang.gang->spec.job.uid;
  bool of_others = std::ranges::none_of(live, [&](const PodPtr& pod) { return UidOf(gang, *pod) == uid; });
  if (of_others && !live.empty() && group.seated.empty()) return DeleteGang(draft, gang);  // a namesake's
  if (gang.assumed) return;
  GangPhase phase = gang.status().phase;
  bool starts = phase == GangPhase::kPlacing || phase == GangPhase::kStarting;
  if (!starts || gang.status().placement.empty()) return AdvanceWaiting(draft, gang, group);
  if (live.empty()) return Settle(draft, gang, group);
  ActAsJob(draft, gang, live, &GroupMark::role);
  AdvanceStart(draft, gang, group);
}

std::vector<api::NodeSeats> OfWholeGroup(const GangState& gang, std::vector<api::NodeSeats> placement) {
  Group group = LookAt(gang);
  std::map<std::string, std::string> role_of;  // of the record, by that of the need as it is now
  for (const PodPtr& pod : group.unbound()) role_of[pod->group->role_now] = pod->group->role;
  std::map<std::string, int32_t> next;  // index, by role
  for (api::NodeSeats& seats : placement) {
    for (api::RoleRange& range : seats.pods) {
      int32_t count = range.last - range.first + 1;
      range.role = role_of[range.role];
      range.first = std::exchange(next[range.role], next[range.role] + count);
      range.last = range.first + count - 1;
    }
  }
  for (const PodPtr& pod : group.seated) {
    int32_t index = next[pod->group->role]++;
    auto node = std::ranges::find(placement, pod->node, &api::NodeSeats::node);
    if (node == placement.end()) node = placement.insert(node, {pod->node, {}});
    node->pods.push_back({pod->group->role, index, index});
  }
  return placement;
}

}  // namespace lockstep::engine
