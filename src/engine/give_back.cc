#include "engine/give_back.h"

#include "engine/limits.h"
#include "engine/place_gangs.h"

namespace lockstep::engine {

using api::GangPhase;
using api::GangStatus;
using cluster::GangState;

void Undo(Draft& draft, GangState& gang, api::GangReason reason) {
  GangStatus next = gang.status();
  next.phase = GangPhase::kQueued;
  next.placement.clear();
  ++next.start_failures;
  next.not_before = draft.now.wall + Backoff(kFirstAttemptBackoff, kLongestAttemptBackoff,
                                             next.start_failures, gang.job->meta.uid);
  next.reason = std::move(reason);
  draft.Record(gang, "Warning", next.reason.code, next.reason.message);
  draft.WriteGang(gang, std::move(next));
}

void PlaceAgain(Draft& draft, GangState& gang, GangStatus next, api::GangReason reason) {
  next.phase = GangPhase::kQueued;
  next.placement.clear();
  next.reason = std::move(reason);
  draft.Record(gang, "Warning", next.reason.code, next.reason.message);
  draft.WriteGang(gang, std::move(next));
}

void BarAndUndo(Draft& draft, GangState& gang, const std::string& node, const std::string& why,
                api::GangReason reason) {
  GangStatus next = gang.status();
  api::BarredNode* barred = nullptr;
  for (api::BarredNode& b : next.barred) {
    if (b.node == node) barred = &b;
  }
  if (barred == nullptr) barred = &next.barred.emplace_back(api::BarredNode{node, {}, 0, ""});
  ++barred->times;
  barred->until = draft.now.wall + Backoff(kFirstBar, kLongestBar, barred->times, gang.job->meta.uid);
  barred->reason = why;
  PlaceAgain(draft, gang, std::move(next), std::move(reason));
}

const std::string* GoneNode(const Draft& draft, const GangState& gang) {
  for (const api::NodeSeats& seats : gang.status().placement) {
    if (!draft.world.nodes.Find(seats.node)) return &seats.node;
  }
  return nullptr;
}

namespace {

// A suspended gang does not grow older, and a resumed one begins to wait.
void Age(Draft& draft, GangState& gang) {
  bool suspended = gang.job->job()->run_policy.suspend;
  WallTime due = *gang.waiting_since() + draft.world.settings.age_limit;
  gang.aged = !suspended && draft.now.wall >= due;
  if (!suspended && !gang.aged) draft.WakeAt(due, gang);
}

}  // namespace

void Wait(Draft& draft, GangState& gang) {
  Age(draft, gang);
  if (std::optional<WallTime> until = BacksOffUntil(gang, draft.now)) draft.WakeAt(*until, gang);
  for (const api::BarredNode& barred : gang.status().barred) {
    if (barred.until > draft.now.wall) draft.WakeAt(barred.until, gang);
  }
}

void WriteRoles(Draft& draft, GangState& gang, const std::vector<api::GangRole>& wanted) {
  if (wanted == gang.gang->spec.roles) return;
  kube::Request request;
  request.verb = kube::Verb::kPatch;
  request.resource = &kube::kGangs;
  request.ns = gang.ns;
  request.name = gang.gang->meta.name;
  api::GangSpec spec = gang.gang->spec;
  spec.roles = wanted;
  request.body =
      json::Dump(json::Doc{{"metadata", {{"resourceVersion", gang.gang->meta.resource_version}}},
                           {"spec", {{"roles", api::NewGangDoc(gang.ns, spec)["spec"]["roles"]}}}});
  draft.Emit(cluster::ActionKind::kWriteGang, gang, GangObjectKey(gang), std::move(request));
}

}  // namespace lockstep::engine
