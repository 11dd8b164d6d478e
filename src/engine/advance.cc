#include "engine/advance.h"

#include "base/ascii.h"
#include "engine/adopt.h"
#include "engine/counters.h"
#include "engine/give_back.h"
#include "engine/group.h"
#include "engine/groups.h"
#include "engine/job_status.h"
#include "engine/leftovers.h"
#include "engine/limits.h"
#include "engine/place_gangs.h"
#include "engine/roles.h"
#include "engine/seats.h"
#include "explain/reason.h"

namespace lockstep::engine {

using api::GangPhase;
using api::GangStatus;
using cluster::GangState;

namespace {

bool IsTrue(const json::Doc& status, std::string_view type) {
  const json::Doc* conditions = json::Find(status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::any_of(conditions->begin(), conditions->end(), [&](const json::Doc& condition) {
    return json::GetString(condition, "type") == type && json::GetString(condition, "status") == "True";
  });
}

// When the job arrived, by the server alone, so that every leader says the same: its creation time has whole
// seconds, and within one the resourceVersion tells the order. (Two jobs of one second change places if the
// version passes a multiple of a million between them.)
WallTime QueueTime(const cluster::JobRecord& job) {
  return job.meta.created + Duration(job.resource_version % 1'000'000);
}

std::vector<api::GangRole> RolesOf(const jobs::Job& job) {
  std::vector<api::GangRole> roles;
  roles.reserve(job.roles.size());
  for (const jobs::Role& role : job.roles) roles.push_back({role.type, role.replicas, role.replicas});
  return roles;
}

std::string PastBackoffLimitText(const jobs::Job& job) {
  return "Job `" + job.meta.name + "` has failed because it has reached the specified backoff limit";
}

void CreateGang(Draft& draft, GangState& gang) {
  const jobs::Job& job = *gang.job->job();
  api::GangSpec spec;
  spec.job = {gang.framework->resource().ApiVersion(), std::string(gang.framework->resource().kind),
              job.meta.name, job.meta.uid};
  // A create that is tried again keeps its place, also after a crash before the answer.
  if (!gang.assumed_queued_at) gang.assumed_queued_at = QueueTime(*gang.job);
  spec.queued_at = *gang.assumed_queued_at;
  spec.roles = RolesOf(job);
  kube::Request request;
  request.verb = kube::Verb::kCreate;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.body = json::Dump(api::NewGangDoc(gang.ns, spec));
  draft.Emit(cluster::ActionKind::kCreateGang, gang, GangObjectKey(gang), std::move(request));
}

// Without a Gang only the job itself can say why nothing happens.
void TellRecordError(Draft& draft, GangState& gang) {
  if (gang.record_error.empty()) return;
  GangStatus none;
  none.reason = {"RecordRefused", gang.record_error};
  draft.Record(gang, "Warning", none.reason.code, none.reason.message);
  WriteJobStatus(draft, gang, jobs::JobFacts{&none, {}, jobs::Verdict::kGoesOn, 0, ""});
}

// `why` names the role.
void Restart(Draft& draft, GangState& gang, const Members& members, size_t failed_role, const char* why) {
  const jobs::Job& job = *gang.job->job();
  const std::string& role = job.roles[failed_role].type;
  GangStatus next = gang.status();
  // Planned maintenance and preemption are not the job's failures, nor is what the other ranks did then.
  bool counted = gang.disrupted_attempt != next.attempt;
  if (counted && job.run_policy.backoff_limit && next.policy_restarts >= *job.run_policy.backoff_limit) {
    jobs::JobFacts facts{&gang.status(), members.counts, jobs::Verdict::kFailed, failed_role,
                         PastBackoffLimitText(job)};
    WriteJobStatus(draft, gang, facts);
    return;
  }
  next.phase = GangPhase::kRestarting;
  next.waiting_since = draft.now.wall;
  if (counted) ++next.policy_restarts;
  next.placement.clear();
  next.reason = {
      "Restarting",
      role + " " + (counted ? why : "replica(s) were evicted, preempted or removed with their node.")};
  draft.Record(
      gang, "Warning", next.reason.code,
      next.reason.message + " All pods of attempt " + std::to_string(next.attempt) + " are restarted.");
  draft.WriteGang(gang, std::move(next));
}

// Old pods that stay longer than pods usually take to end are named, once.
void TellWhatIsLeft(Draft& draft, GangState& gang) {
  WallTime due = gang.status().phase_since.value_or(draft.now.wall) + kUsualEnd;
  if (draft.now.wall < due) return draft.WakeAt(due, gang);
  GangStatus next = gang.status();
  if (next.reason.code == "OldPodsLeft") return;
  next.reason = {"OldPodsLeft", next.reason.message + " Waits for old pods to end: "};
  size_t named = 0;
  for (const auto& [name, pod] : gang.pods) {
    if (pod->owner_uid != gang.job->meta.uid) continue;
    if (++named > 3) break;
    next.reason.message += (named == 1 ? "" : ", ") + name;
  }
  next.reason.message += named > 3 ? " and others." : ".";
  draft.WriteGang(gang, std::move(next));
}

// Restarting: the old pods go, then the gang queues again with its old place in the order.
void AdvanceRestart(Draft& draft, GangState& gang) {
  jobs::JobFacts facts{&gang.status(), {}, jobs::Verdict::kGoesOn, 0, ""};
  WriteJobStatus(draft, gang, facts);
  if (!RemoveStalePods(draft, gang)) return TellWhatIsLeft(draft, gang);
  GangStatus next = gang.status();
  next.phase = GangPhase::kQueued;
  // The first restart waits for nothing; a job that fails again and again backs off and lets others pass.
  if (next.policy_restarts > 1) {
    next.not_before = draft.now.wall + Backoff(kFirstAttemptBackoff, kLongestAttemptBackoff,
                                               next.policy_restarts - 1, gang.job->meta.uid);
  }
  draft.WriteGang(gang, std::move(next));
}

// A seat that a late write took although somebody else has it now: no pod may be created on it.
bool Overcommitted(const Draft& draft, const GangState& gang) {
  const cluster::Nodes& nodes = draft.world.nodes;
  for (const api::NodeSeats& seats : gang.status().placement) {
    std::optional<cluster::NodeId> node = nodes.Find(seats.node);
    if (!node) continue;  // GoneNode
    for (const cluster::RoleState& role : gang.roles) {
      for (const auto& [resource, amount] : role.need.requests) {
        if (nodes.Used(*node, resource) > nodes.Allocatable(*node, resource)) return true;
      }
    }
  }
  return false;
}

// Somebody else took what the quota had. Nothing while the refusal may come of the API server's own count,
// which is late: then the create is tried again.
std::optional<cluster::QuotaLack> QuotaTaken(Draft& draft, const GangState& gang) {
  if (!gang.quota_refused || !draft.world.quotas.any(gang.ns)) return {};
  // Pods that this step has seen are no longer promised.
  std::vector<std::string> neighbours;
  for (const auto& [key, other] : draft.world.gangs) {
    if (other.ns == gang.ns) neighbours.push_back(key);
  }
  for (const std::string& key : neighbours) cluster::RefreshHeld(draft.world, *draft.world.gangs.Edit(key));
  return draft.world.quotas.Overdrawn(gang.ns, AsksOf(gang), draft.now.wall);
}

// Placing and Starting end: with Running, or by giving the seats back. True if an end came.
bool EndStart(Draft& draft, GangState& gang, const Members& members) {
  WallTime since = gang.status().phase_since.value_or(draft.now.wall);
  if (!gang.create_refused.empty()) {
    bool taken = gang.create_refused == "NameTaken";
    Undo(draft, gang,
         {gang.create_refused, (taken ? "" : "the API server refused a pod: ") + gang.create_error});
    return true;
  }
  if (std::optional<cluster::QuotaLack> lack = QuotaTaken(draft, gang)) {
    Undo(draft, gang, {"QuotaExceeded", explain::ExplainQuota(*lack).message + "; " + gang.create_error});
    return true;
  }
  bool all_exist = members.existing == members.wanted;
  if (!all_exist && draft.now.wall >= since + kPlaceTimeout) {
    std::string why = gang.create_error.empty() ? "no answer from the API server" : gang.create_error;
    Undo(draft, gang, {"PlaceTimeout", "not all pods could be created and assigned within 30s: " + why});
    return true;
  }
  if (!all_exist) {
    draft.WakeAt(since + kPlaceTimeout, gang);
    return false;
  }
  MonoTime progress = gang.last_progress.value_or(draft.now.mono);
  gang.last_progress = progress;
  bool others_wait = !draft.world.waiting.empty();
  Duration limit = members.broken != nullptr && others_wait ? kStartErrorTimeout : kStartTimeout;
  if (draft.now.mono >= progress + limit) {
    std::string why =
        members.broken == nullptr
            ? std::to_string(members.running) + " of " + std::to_string(members.wanted) + " pods run"
            : "pod " + members.broken->name + ": " + members.broken->waiting;
    Undo(draft, gang, {"StartTimeout", "no progress for " + FormatDuration(limit) + ": " + why});
    return true;
  }
  draft.world.WakeAt(progress + limit, gang.key);
  return false;
}

// A steered pod whose scheduler keeps saying that its seat will not do: as if the kubelet had refused. It
// gets a while, for it says the same of claims that are being made. True if that was the end of the start.
bool GiveUpSteering(Draft& draft, GangState& gang, const cluster::PodRecord& pod) {
  MonoTime due = gang.last_progress.value_or(draft.now.mono) + kSteerPatience;
  if (draft.now.mono < due) {
    draft.world.WakeAt(due, gang.key);
    return false;
  }
  std::string node = SeatOf(gang.status(), pod.role, pod.index);
  BarAndUndo(draft, gang, node, "Unschedulable",
             {"RefusedByScheduler", "pod " + pod.name + " has its seat on " + node +
                                        ", but its scheduler says: " + pod.unschedulable.value_or("")});
  return true;
}

void AdvanceStart(Draft& draft, GangState& gang, const jobs::Job& job, const Members& members) {
  GangStatus next = gang.status();
  // A failed rank that the job can do without will not run any more.
  if (members.running + members.succeeded + members.failed == members.wanted) {
    next.phase = GangPhase::kRunning;
    next.start_failures = 0;
    next.not_before.reset();
    next.barred.clear();
    next.reason = {"Running", "all " + std::to_string(members.wanted) + " pods run"};
    draft.WriteGang(gang, std::move(next));
    return;
  }
  if (EndStart(draft, gang, members)) return;
  if (const std::string* node = GoneNode(draft, gang)) {
    return PlaceAgain(draft, gang, std::move(next),
                      {"NodeGone", "node " + *node + " went while the gang was starting"});
  }
  if (members.unplaced != nullptr && GiveUpSteering(draft, gang, *members.unplaced)) return;
  if (members.existing == 0 && Overcommitted(draft, gang)) {
    return Undo(draft, gang, {"SeatsTaken", "a seat of the placement was taken before its pod was created"});
  }
  bool complete = CreateMembers(draft, gang, job, members);
  if (!complete || next.phase != GangPhase::kPlacing) return;
  WallTime due = next.phase_since.value_or(draft.now.wall) + kQuickStart;
  if (draft.now.wall < due) return draft.WakeAt(due, gang);
  next.phase = GangPhase::kStarting;
  next.reason = {"Starting", "all " + std::to_string(members.wanted) + " pods exist, " +
                                 std::to_string(members.running) + " run"};
  draft.WriteGang(gang, std::move(next));
}

// A rank that existed in this attempt and is gone has failed; so has one that never came while all should
// run. That all exist is on record from Starting on, also for a leader that has not seen them itself.
std::optional<size_t> VanishedRole(const GangState& gang, const Members& members) {
  bool all_existed =
      gang.status().phase == GangPhase::kStarting || gang.status().phase == GangPhase::kRunning;
  if (members.vanished == 0 && !all_existed) return {};
  const jobs::Job& job = *gang.job->job();
  for (size_t role = 0; role < job.roles.size(); ++role) {
    std::string label = AsciiLower(job.roles[role].type);
    for (size_t i = 0; i < members.pods[role].size(); ++i) {
      std::string id = label + "/" + std::to_string(i);
      if (members.pods[role][i] != nullptr || gang.succeeded.contains(id)) continue;
      if (gang.created.contains(id) || all_existed) return role;
    }
  }
  return {};
}

bool PastBackoffLimit(const jobs::Job& job, const Members& members) {
  if (!job.run_policy.backoff_limit || members.container_restarts == 0) return false;
  return members.container_restarts >= *job.run_policy.backoff_limit;
}

// The seats are given back and the pods go; when it is resumed the gang is placed again. Counted nowhere.
void Suspend(Draft& draft, GangState& gang) {
  GangStatus next = gang.status();
  next.phase = GangPhase::kQueued;
  next.placement.clear();
  next.reason = {"Suspended", "the job is suspended"};
  draft.Record(gang, "Normal", next.reason.code, next.reason.message);
  draft.WriteGang(gang, std::move(next));
}

void AdvanceSeated(Draft& draft, GangState& gang) {
  std::optional<jobs::Job> edited;
  const jobs::Job& job = AsPlaced(gang, edited);
  RemoveStalePods(draft, gang);
  Members members = CountMembers(gang, job);
  size_t failed_role = 0;
  jobs::Verdict verdict = job.framework->Judge(job, members.counts, &failed_role);
  std::string failure;
  if (verdict == jobs::Verdict::kGoesOn && PastBackoffLimit(job, members)) {
    verdict = jobs::Verdict::kFailed;
    failure = PastBackoffLimitText(job);
  }
  bool over = verdict == jobs::Verdict::kSucceeded || verdict == jobs::Verdict::kFailed;
  if (!over && !job.run_policy.suspend && members.refused != nullptr)
    return BarAndUndo(draft, gang, members.refused->node, members.refused->reason,
                      {"RefusedByNode", "node " + members.refused->node + " refused pod " +
                                            members.refused->name + ": " + members.refused->reason});
  if (!over && !job.run_policy.suspend) {
    if (std::optional<size_t> vanished = VanishedRole(gang, members)) {
      return Restart(draft, gang, members, *vanished, "replica(s) are gone.");
    }
    if (verdict == jobs::Verdict::kRestart)
      return Restart(draft, gang, members, failed_role, "replica(s) failed.");
  }
  if (over || gang.status().phase == GangPhase::kRunning) {
    jobs::JobFacts facts{&gang.status(), members.counts, verdict, failed_role, failure};
    WriteJobStatus(draft, gang, facts);
  }
  if (over) return;
  if (job.run_policy.suspend) return Suspend(draft, gang);
  if (gang.status().phase == GangPhase::kRunning) return CreateOtherServices(draft, gang, job);
  AdvanceStart(draft, gang, job, members);
}

bool Resume(Draft& draft, GangState& gang) {
  if (gang.status().reason.code != "Suspended" || gang.job->job()->run_policy.suspend) return false;
  GangStatus next = gang.status();
  next.waiting_since = draft.now.wall;
  next.reason = {"Resumed", "the job is resumed"};
  return draft.WriteGang(gang, std::move(next));
}

void AdvanceWaiting(Draft& draft, GangState& gang) {
  const jobs::Job& job = *gang.job->job();
  if (gang.assumed || Resume(draft, gang)) return;
  if (gang.status().attempt == 0 && AdoptPods(draft, gang)) return;
  Wait(draft, gang);
  RemoveStalePods(draft, gang);
  ReadDoubtfulPods(draft, gang);
  WriteRoles(draft, gang, RolesOf(job));
}

// The Gang of a finished job follows it.
void CloseGang(Draft& draft, GangState& gang) {
  if (gang.gang == nullptr) return;
  bool succeeded = IsTrue(gang.job->status(), "Succeeded");
  GangStatus next = gang.status();
  next.phase = succeeded ? GangPhase::kSucceeded : GangPhase::kFailed;
  next.reason = succeeded ? api::GangReason{"Succeeded", "the job succeeded"}
                          : api::GangReason{"Failed", "the job failed"};
  if (next.phase == gang.status().phase) return;
  if (next.attempt == 0) TakeOver(gang, next);
  draft.WriteGang(gang, std::move(next));
}

// The job was edited into one that breaks validation and has failed of it: nothing of it holds seats any
// longer.
void EndGang(Draft& draft, GangState& gang) {
  if (!jobs::Finished(gang.job->status())) return;  // the job's own end comes first
  for (const auto& [name, pod] : gang.pods) {
    bool over = pod->phase == kube::PodPhase::kSucceeded || pod->phase == kube::PodPhase::kFailed;
    if (pod->owner_uid == gang.job->meta.uid && !over) DeletePod(draft, gang, *pod);
  }
  CloseGang(draft, gang);
}

// Its Gang says that it is over, and the job does not; or it has seats of no attempt, or no seats: somebody
// else wrote that. What the pods show decides.
void Reopen(Draft& draft, GangState& gang) {
  GangStatus next = gang.status();
  if (next.attempt == 0) next.placement.clear();
  next.phase = next.placement.empty() ? GangPhase::kQueued : GangPhase::kPlacing;
  next.reason = {"Reopened", "somebody wrote into the Gang what is not so"};
  draft.Record(gang, "Warning", next.reason.code, next.reason.message);
  draft.WriteGang(gang, std::move(next));
}

// A valid job of ours.
void AdvanceJob(Draft& draft, GangState& gang, const jobs::Job& job) {
  if (jobs::Finished(gang.job->status())) {  // and stays so
    CleanUp(draft, gang);
    return CloseGang(draft, gang);
  }
  if (gang.gang == nullptr) {
    CreateGang(draft, gang);
    return TellRecordError(draft, gang);
  }
  if (gang.gang->spec.job.uid != job.meta.uid) return;  // the old job's Gang is being deleted
  switch (gang.status().phase) {
    case GangPhase::kQueued:
    case GangPhase::kChecking:
      return AdvanceWaiting(draft, gang);
    case GangPhase::kPlacing:
    case GangPhase::kStarting:
    case GangPhase::kRunning:
      // No pod is created and nothing is judged before the record is written; services hold nothing.
      if (gang.assumed) {
        std::optional<jobs::Job> edited;
        return void(CreateLookedUpServices(draft, gang, AsPlaced(gang, edited)));
      }
      if (gang.status().attempt > 0 && !gang.status().placement.empty()) return AdvanceSeated(draft, gang);
      return AdoptPods(draft, gang) ? void() : Reopen(draft, gang);
    case GangPhase::kRestarting:
      return gang.assumed ? void() : AdvanceRestart(draft, gang);
    case GangPhase::kSucceeded:
    case GangPhase::kFailed:
      return Reopen(draft, gang);
  }
}

}  // namespace

void AdvanceGang(Draft& draft, GangState& gang) {
  if (IsGroup(gang)) return AdvanceGroup(draft, gang);
  if (draft.world.missing_kinds.contains(gang.framework)) return;
  if (gang.unread) {
    draft.ReadGang(gang);
    return;
  }
  RemoveOrphans(draft, gang);
  if (gang.job == nullptr || gang.job->meta.deleted_at) return;
  const jobs::Job* job = gang.job->job();
  if (job == nullptr) {
    RejectJob(draft, gang);
    return EndGang(draft, gang);
  }
  if (!job->ours()) return LetGo(draft, gang);
  DeriveRoles(draft, gang);
  AdvanceJob(draft, gang, *job);
  MirrorCounters(draft, gang);
}

}  // namespace lockstep::engine
