#include "engine/answers.h"

#include "api/labels.h"
#include "engine/limits.h"

namespace lockstep::engine {

using cluster::Action;
using cluster::ActionDone;
using cluster::ActionKind;
using cluster::GangState;
using cluster::TemplateCheck;
using cluster::World;

namespace {

// `longest`: how rare the tries may become; minutes for what only a person can change.
void RetryLater(Draft& draft, GangState& gang, const std::string& key, std::optional<Duration> asked = {},
                Duration longest = kLongestRetry) {
  int32_t times = ++gang.failures[key];
  Duration wait = Backoff(kFirstRetry, longest, times, key);
  if (asked) wait = std::min<Duration>(std::max(wait, *asked), kPlaceTimeout);
  gang.retry_at[key] = draft.now.mono + wait;
  draft.world.WakeAt(draft.now.mono + wait, gang.key);
}

void Observe(World& world, const kube::Resource& resource, const json::DocPtr& object, bool gone = false) {
  if (object != nullptr) cluster::TakeIn(world, {&resource, object, gone});
}

bool Final(const kube::Status& status) { return !status.ok() && !status.transient() && !status.unknown(); }

void AfterGangWrite(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  if (done.status.ok()) {
    gang.assumed_queued_at.reset();
    Observe(draft.world, kube::kGangs, done.object);
    gang.assumed.reset();
    gang.failures.erase(action.touches);
    gang.record_error.clear();
    return;
  }
  bool doubtful = done.status.unknown() || done.status.code >= 500;
  if (doubtful || done.status.conflict() || done.status.already_exists()) {
    // In doubt seats and place in the queue stay assumed until a read shows whether the write was applied.
    if (!doubtful) gang.assumed.reset();
    // One conflict is a copy that was behind; one after the other is somebody who writes against us.
    if (!doubtful && ++gang.failures[action.touches] > 2) RetryLater(draft, gang, action.touches);
    gang.unread = !draft.ReadGang(gang);
    return;
  }
  gang.assumed.reset();
  if (done.status.not_found()) gang.gang = nullptr;  // deleted: it is created anew
  bool refused = action.kind == ActionKind::kCreateGang && Final(done.status);
  if (refused) gang.record_error = "the API server refuses its Gang: " + done.status.message;
  RetryLater(draft, gang, action.touches, done.status.retry_after,
             refused ? kLongestAttemptBackoff : kLongestRetry);
}

void AfterGangRead(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  gang.unread = false;
  if (done.status.ok() && done.object != nullptr) {
    Observe(draft.world, kube::kGangs, done.object);
    gang.assumed.reset();
    gang.assumed_queued_at.reset();
    gang.gang_read = true;
    uint64_t version = cluster::ParseVersion(json::GetString(*done.object, "metadata.resourceVersion"));
    if (gang.gang != nullptr && gang.gang_version() >= version) return gang.record_error.clear();
    Result<api::Gang> read = api::ParseGang(*done.object);
    if (read.ok()) return gang.record_error.clear();
    gang.record_error = "its Gang can't be read: " + read.error().message;
    RetryLater(draft, gang, action.touches, {}, kLongestAttemptBackoff);
  } else if (done.status.not_found()) {
    gang.gang = nullptr;
    gang.assumed.reset();
    gang.gang_read = true;
  } else {
    RetryLater(draft, gang, action.touches, done.status.retry_after);
    gang.unread = true;
  }
}

// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/errors NewDryRunUnsupportedErr.
bool RefusesDryRuns(const kube::Status& status) {
  return status.code == 400 && status.message.find("does not support dry run") != std::string::npos;
}

void AfterCheck(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  TemplateCheck& check = draft.world.checks[action.touches];
  check.in_flight = false;
  check.quota_refusal.reset();
  if (done.status.ok() && done.object != nullptr) {
    Result<kube::PodNeed> need = kube::ParsePodNeed(*done.object);
    check.refusal.reset();
    check.failures = 0;
    check.valid_until = draft.now.mono + kCheckValid;
    if (need.ok()) {
      check.need = *need;
      int64_t priority = json::GetInt(*done.object, "spec.priority");
      check.priority = static_cast<int32_t>(std::clamp<int64_t>(priority, INT32_MIN, INT32_MAX));
      check.labels = kube::ParseMeta(*done.object).labels;
      check.charge = draft.world.quotas.Shared(gang.ns, kube::ChargeOf(*done.object, need->requests));
      check.answer_of = check.asked_of;
      check.bind = check.with_node.has_value();
    } else {
      check.refusal = kube::ErrorStatus(422, "Invalid", need.error().message);
    }
  } else if (done.status.exceeds_quota()) {
    // Nothing is wrong with the template; what is known of it stays so.
    check.refusal.reset();
    check.quota_refusal = done.status;
    ++check.failures;
    check.valid_until =
        draft.now.mono + Backoff(kRefusalValid, kLongestAttemptBackoff, check.failures, action.touches);
  } else if (RefusesDryRuns(done.status)) {
    // It will say no more until the webhook is another: what the user wrote is all that can be known.
    check.refusal.reset();
    check.need.reset();
    check.failures = kUnansweredChecks;
    check.valid_until = draft.now.mono + kCheckValid;
  } else if (Final(done.status) && check.names_node) {
    // Is it the node? A policy may forbid to name one; without one the pods can still be bound.
    check.with_node = done.status;
    check.valid_until = draft.now.mono;
  } else if (done.status.transient() || done.status.unknown()) {
    // Webhooks that cannot serve a dry run mean "unknown", not "refused".
    ++check.failures;
    check.valid_until = draft.now.mono + Backoff(kFirstRetry, kLongestRetry, check.failures, action.touches);
  } else {
    ++check.failures;
    check.refusal = check.with_node.value_or(done.status);
    check.with_node.reset();  // next time from the beginning
    check.valid_until =
        draft.now.mono + Backoff(kRefusalValid, kLongestAttemptBackoff, check.failures, action.touches);
  }
  draft.world.WakeAt(check.valid_until, gang.key);
  for (const auto& [key, state] : draft.world.gangs) {
    for (const cluster::RoleState& role : state.roles) {
      if (role.check_key == action.touches) draft.world.Touch(key);
    }
  }
}

// The watch has shown this pod of the current attempt already, and that it is gone.
bool CameAndWent(const World& world, const GangState& gang, const json::Doc& pod) {
  kube::Meta meta = kube::ParseMeta(pod);
  if (world.pods.contains(meta.key())) return false;
  bool current = meta.label(api::kAttemptLabel) == std::to_string(gang.status().attempt);
  std::string rank = meta.label(api::kReplicaTypeLabel) + "/" + meta.label(api::kReplicaIndexLabel);
  return current && gang.created.contains(rank);
}

void AfterPodCreate(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  // A refusal says nothing of an earlier try that had no answer.
  bool first = !gang.failures.contains(action.touches);
  if (done.status.ok() || (first && Final(done.status) && !done.status.already_exists()))
    gang.doubtful.erase(action.touches);
  if (done.status.ok()) {
    bool gone = done.object != nullptr && CameAndWent(draft.world, gang, *done.object);
    if (!gone) Observe(draft.world, kube::kPods, done.object);
    gang.failures.erase(action.touches);
    gang.last_progress = draft.now.mono;
    return;
  }
  if (done.status.already_exists()) return RetryLater(draft, gang, action.touches);
  gang.create_error = done.status.message;
  if (done.status.exceeds_quota()) {
    gang.quota_refused = true;  // the quota may be counted late: EndStart decides
  } else if (Final(done.status)) {
    gang.create_refused = "PodsRefused";
  }
  RetryLater(draft, gang, action.touches, done.status.retry_after,
             Final(done.status) ? kLongestAttemptBackoff : kLongestRetry);
}

void AfterBinding(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  const std::string& name = action.request.name;
  if (done.status.ok()) {
    gang.bound.insert(name);  // the watch shows it
    gang.failures.erase(action.touches);
    gang.last_progress = draft.now.mono;
    return;
  }
  // Gone, or bound already, perhaps by a binding whose answer was lost: the watch shows which.
  bool overtaken = done.status.not_found() || done.status.conflict();
  if (!overtaken) gang.create_error = done.status.message;
  if (!overtaken && Final(done.status)) gang.create_refused = "BindingRefused";
  RetryLater(draft, gang, action.touches, done.status.retry_after);
}

void AfterPodTold(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  bool steers = action.kind == ActionKind::kPatchPod;
  if (done.status.ok()) {
    Observe(draft.world, kube::kPods, done.object);
    gang.failures.erase(action.touches);
    if (steers) gang.last_progress = draft.now.mono;
    return;
  }
  bool overtaken = done.status.not_found() || done.status.conflict();
  if (steers && !overtaken) gang.create_error = done.status.message;
  if (steers && !overtaken && Final(done.status)) gang.create_refused = "PodsRefused";
  RetryLater(draft, gang, action.touches, done.status.retry_after);
}

void AfterPodRead(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  if (!done.status.ok() && !done.status.not_found())
    return RetryLater(draft, gang, action.touches, done.status.retry_after);
  gang.doubtful.erase(action.touches);
  if (done.status.ok()) Observe(draft.world, kube::kPods, done.object);
}

void AfterPodDelete(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  const cluster::PodPtr* known =
      draft.world.pods.Get(action.touches.substr(std::string_view("pods/").size()));
  if (done.status.not_found() && known != nullptr && (*known)->uid == action.request.precondition_uid) {
    const cluster::PodRecord& pod = **known;
    auto gone =
        std::make_shared<json::Doc>(json::Doc{{"metadata",
                                               {{"namespace", pod.ns},
                                                {"name", pod.name},
                                                {"uid", pod.uid},
                                                {"resourceVersion", std::to_string(pod.resource_version)}}}});
    return Observe(draft.world, kube::kPods, gone, /*gone=*/true);
  }
  // The watch was faster: its name is free again.
  bool gone = known == nullptr || (*known)->uid != action.request.precondition_uid;
  if (done.status.ok() && gone) return;
  // On success the watch shows what became of the pod; until then it isn't deleted again.
  RetryLater(draft, gang, action.touches, done.status.retry_after);
  if (done.status.ok()) gang.retry_at[action.touches] = draft.now.mono + kLongestRetry;
}

void AfterServiceCreate(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  if (done.status.ok()) return Observe(draft.world, kube::kServices, done.object);
  gang.create_error = done.status.message;
  // Ours would have been seen by now, through the watch of services with our labels.
  bool foreign = done.status.already_exists() && gang.failures[action.touches] >= kUnansweredChecks;
  if (foreign) {
    std::string name = action.touches.substr(action.touches.rfind('/') + 1);
    gang.create_error = "a Service " + name + " exists and is not this job's";
    gang.create_refused = "NameTaken";
    draft.Record(gang, "Warning", "NameTaken", gang.create_error);
  } else if (done.status.exceeds_quota()) {
    gang.quota_refused = true;
  } else if (Final(done.status) && !done.status.already_exists()) {
    gang.create_refused = "PodsRefused";
  }
  RetryLater(draft, gang, action.touches, done.status.retry_after,
             foreign ? kLongestAttemptBackoff : kLongestRetry);
}

void AfterJobWrite(Draft& draft, GangState& gang, const Action& action, const ActionDone& done) {
  if (done.status.ok()) {
    // The watch may have shown the job's deletion before this answer came: it must not bring the job back.
    if (gang.job != nullptr) Observe(draft.world, gang.framework->resource(), done.object);
    gang.failures.erase(action.touches);
    if (action.kind == ActionKind::kWriteJobStatus) gang.status_written = draft.now.mono;
    return;
  }
  RetryLater(draft, gang, action.touches, done.status.retry_after);
}

}  // namespace

void TakeInAnswer(Draft& draft, const ActionDone& done) {
  World& world = draft.world;
  auto found = world.actions.find(done.id);
  if (found == world.actions.end()) return;  // sent by an earlier leader of this process
  Action action = std::move(found->second);
  world.actions.erase(found);
  world.in_flight.erase(action.touches);
  GangState* acting = world.gangs.Edit(action.gang);
  if (acting == nullptr) return;
  GangState& gang = *acting;
  world.Touch(gang.key);
  switch (action.kind) {
    case ActionKind::kCreateGang:
    case ActionKind::kWriteGang:
      return AfterGangWrite(draft, gang, action, done);
    case ActionKind::kReadGang:
      return AfterGangRead(draft, gang, action, done);
    case ActionKind::kCheckTemplate:
      return AfterCheck(draft, gang, action, done);
    case ActionKind::kCreatePod:
      return AfterPodCreate(draft, gang, action, done);
    case ActionKind::kReadPod:
      return AfterPodRead(draft, gang, action, done);
    case ActionKind::kBindPod:
      return AfterBinding(draft, gang, action, done);
    case ActionKind::kTellPodWaits:
    case ActionKind::kPatchPod:
      return AfterPodTold(draft, gang, action, done);
    case ActionKind::kDeletePod:
      return AfterPodDelete(draft, gang, action, done);
    case ActionKind::kCreateService:
      return AfterServiceCreate(draft, gang, action, done);
    case ActionKind::kWriteJobStatus:
    case ActionKind::kMirrorCounters:
      return AfterJobWrite(draft, gang, action, done);
    case ActionKind::kDeleteService:
    case ActionKind::kDeleteGang:
      if (!done.status.ok() || action.kind == ActionKind::kDeleteGang)
        RetryLater(draft, gang, action.touches);
      return;
    case ActionKind::kRecordEvent:
      return;
  }
}

}  // namespace lockstep::engine
