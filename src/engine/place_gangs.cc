#include "engine/place_gangs.h"

#include "engine/claims.h"
#include "engine/group.h"
#include "engine/groups.h"
#include "engine/limits.h"
#include "engine/roles.h"
#include "engine/waiting_pods.h"
#include "explain/reason.h"
#include "gang/place.h"
#include "gang/related.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::World;

namespace {

// Or may be left: not all creates have been answered.
bool OldPodsLeft(const World& world, const GangState& gang) {
  if (IsGroup(gang)) return false;
  if (!gang.doubtful.empty()) return true;
  return std::any_of(gang.pods.begin(), gang.pods.end(), [&](const auto& entry) {
    const cluster::PodRecord& pod = *entry.second;
    return pod.owner_uid == gang.job->meta.uid && !IsWaitingPod(world, gang, pod);
  });
}

// The placement as it is recorded: grouped by node, the pods of a role as index ranges.
std::vector<api::NodeSeats> Record(const World& world, const GangState& gang,
                                   const gang::Placement& placement) {
  const jobs::Job& job = *gang.job->job();
  std::vector<api::NodeSeats> record;
  for (const gang::Seats& seats : placement.seats) {
    const std::string& node = world.nodes.name(seats.node);
    if (record.empty() || record.back().node != node) record.push_back({node, {}});
    record.back().pods.push_back(
        {job.roles[static_cast<size_t>(seats.role)].type, seats.first, seats.first + seats.count - 1});
  }
  return record;
}

int64_t SeatsIn(const std::vector<api::NodeSeats>& placement) {
  int64_t seats = 0;
  for (const api::NodeSeats& on_node : placement) {
    for (const api::RoleRange& range : on_node.pods) seats += range.last - range.first + 1;
  }
  return seats;
}

void WritePlacement(Draft& draft, GangState& gang, const gang::Placement& placement) {
  api::GangStatus next = gang.status();
  next.phase = api::GangPhase::kPlacing;
  ++next.attempt;
  next.placement = Record(draft.world, gang, placement);
  if (IsGroup(gang)) next.placement = OfWholeGroup(gang, std::move(next.placement));
  next.way = WayOf(draft.world, gang);
  next.needs = TotalNeed(gang);
  next.priority = gang.priority();
  next.phase_since = draft.now.wall;
  next.reason = {"Placing", "all " + std::to_string(SeatsIn(next.placement)) + " pods have seats on " +
                                std::to_string(next.placement.size()) +
                                (next.placement.size() == 1 ? " node" : " nodes")};
  std::string message = next.reason.message + ", attempt " + std::to_string(next.attempt);
  gang.created.clear();
  gang.succeeded.clear();
  gang.bound.clear();
  gang.create_error.clear();
  gang.create_refused.clear();
  gang.quota_refused = false;
  gang.last_progress.reset();
  gang.gang_read = false;
  if (draft.WriteGang(gang, std::move(next))) draft.Record(gang, "Normal", "Placed", message);
}

}  // namespace

bool IsRestarting(const GangState& gang) {
  return gang.status().phase == api::GangPhase::kRestarting || gang.status().reason.code == "Restarting";
}

std::optional<WallTime> BacksOffUntil(const GangState& gang, Now now) {
  const std::optional<WallTime>& until = gang.status().not_before;
  bool holds = until && *until > now.wall && *until <= now.wall + kLongestAttemptBackoff;
  return holds ? until : std::nullopt;
}

Turn TurnOf(const World& world, const GangState& gang, Now now) {
  if (world.missing_kinds.contains(gang.framework)) return Turn::kPasses;
  if (gang.gang == nullptr) {  // its create is in flight, or will be tried again
    auto failures = gang.failures.find(GangObjectKey(gang));
    return failures == gang.failures.end() || failures->second < kUnansweredChecks ? Turn::kComes
                                                                                   : Turn::kPasses;
  }
  const api::GangStatus& status = gang.status();
  if (gang.job->job()->run_policy.suspend || RefusedTemplate(world, gang) != nullptr ||
      UnmetRule(gang) != nullptr || HeldByClaim(world, gang))
    return Turn::kPasses;
  if (BacksOffUntil(gang, now)) return Turn::kPasses;
  if (status.phase == api::GangPhase::kRestarting) return Turn::kComes;
  if (OldPodsLeft(world, gang)) return IsRestarting(gang) ? Turn::kComes : Turn::kPasses;
  if (!RolesChecked(gang)) return CheckFailure(world, gang) ? Turn::kPasses : Turn::kComes;
  return Turn::kNow;
}

std::optional<api::GangReason> HeldBack(const World& world, const GangState& gang, Now now) {
  const jobs::Job& job = *gang.job->job();
  const api::GangStatus& status = gang.status();
  if (job.run_policy.suspend) return api::GangReason{"Suspended", "the job is suspended"};
  if (const kube::Status* refusal = RefusedTemplate(world, gang)) {
    return api::GangReason{"AdmissionRefused", "the API server refuses its pods: " + refusal->message};
  }
  if (const std::string* rule = UnmetRule(gang)) {
    return api::GangReason{"Unsupported", "its pods ask for " + *rule + ", which Lockstep can't honour yet"};
  }
  if (std::optional<api::GangReason> held = HeldByClaim(world, gang)) return held;
  if (BacksOffUntil(gang, now) || OldPodsLeft(world, gang) || status.phase == api::GangPhase::kRestarting) {
    // What it comes back from, told when that happened.
    if (!status.reason.code.empty()) return status.reason;
    return api::GangReason{"OldPodsLeft", "pods of an older attempt are still ending"};
  }
  if (!RolesChecked(gang)) {
    if (CheckFailure(world, gang)) {
      return api::GangReason{"CheckUnanswered",
                             "the API server gives no answer about its pods; asked again soon"};
    }
    return api::GangReason{"Checking", "its pods are being checked by a dry run"};
  }
  if (std::optional<cluster::QuotaLack> lack = QuotaLackOf(world, gang, now))
    return explain::ExplainQuota(*lack);
  if (const kube::Status* refusal = QuotaRefusal(world, gang))
    return api::GangReason{"QuotaExceeded", "the API server refuses its pods: " + refusal->message};
  return {};
}

std::vector<cluster::NodeId> BarredNow(const World& world, const GangState& gang, Now now) {
  std::vector<cluster::NodeId> barred;
  for (const api::BarredNode& node : gang.status().barred) {
    std::optional<cluster::NodeId> id = world.nodes.Find(node.node);
    if (id && node.until > now.wall) barred.push_back(*id);
  }
  return barred;
}

namespace {

// What one look at a gang means for those behind it.
enum class Outcome {
  kNext,     // it has seats now, or passes its turn: the next of its kind may try
  kNoSeats,  // none of its kind finds seats in this step
  kFirst,    // it goes first: nobody behind it may take a seat
};

// A restart keeps its turn while its old pods end, but not for ever behind one that never does.
bool RestartKeepsItsTurn(const GangState& gang, Now now) {
  return IsRestarting(gang) && now.wall < gang.status().phase_since.value_or(now.wall) + kTurnKept;
}

bool KeepsItsTurn(const GangState& gang, Now now) { return gang.aged || RestartKeepsItsTurn(gang, now); }

// Whoever its own quota holds is in nobody's way, however long it has waited. A restart keeps its turn while
// its old pods, or the quota controller's count of them, still fill the quota.
std::optional<Outcome> HeldByQuota(Draft& draft, const GangState& gang) {
  World& world = draft.world;
  std::optional<cluster::QuotaLack> lack = QuotaLackOf(world, gang, draft.now);
  if (!lack && QuotaRefusal(world, gang) == nullptr) return {};
  if (std::optional<WallTime> release = world.quotas.NextRelease(gang.ns, draft.now.wall))
    draft.WakeAt(*release + milliseconds(1), gang);
  if (lack && lack->never) return Outcome::kNoSeats;
  return RestartKeepsItsTurn(gang, draft.now) ? Outcome::kFirst : Outcome::kNoSeats;
}

Outcome TryToPlace(Draft& draft, GangState& gang) {
  World& world = draft.world;
  Turn turn = TurnOf(world, gang, draft.now);
  if (turn == Turn::kPasses) return Outcome::kNext;
  if (std::optional<Outcome> held = HeldByQuota(draft, gang)) return *held;
  gang::Need need = NeedOf(gang);
  std::vector<cluster::NodeId> barred = BarredNow(world, gang, draft.now);
  std::optional<gang::Need> plain = NeedWithoutClaims(gang);
  bool plain_fits = !plain || gang::Fits(world.nodes, *plain, barred);
  if (!plain_fits || !gang::Fits(world.nodes, need, barred)) {
    // What holds for this one alone: nodes barred for it, pods that its labels keep it away from, its claims.
    bool alone = !barred.empty() || (plain && plain_fits) || gang::IsKeptAway(world.nodes, need);
    Outcome others = alone ? Outcome::kNext : Outcome::kNoSeats;
    if (!KeepsItsTurn(gang, draft.now) || !gang::IsPossible(world.nodes, need)) return others;
    return Outcome::kFirst;
  }
  // Its turn comes with an answer that is on its way; nobody overtakes it meanwhile.
  if (turn == Turn::kComes || world.InFlight(GangObjectKey(gang))) return Outcome::kFirst;
  std::variant<gang::Placement, gang::NoFit> placed = gang::Place(world.nodes, need, barred);
  if (const auto* placement = std::get_if<gang::Placement>(&placed)) WritePlacement(draft, gang, *placement);
  return Outcome::kNext;
}

void WalkQueue(Draft& draft) {
  World& world = draft.world;
  world.goes_first.clear();
  // The first of each kind, in the order of the queue. A gang that is placed leaves the queue: what comes
  // next of its kind is looked up by key.
  std::map<cluster::QueueKey, cluster::Waiting::Kind> heads;
  for (const auto& [kind, gangs] : world.waiting.by_kind()) heads.emplace(*gangs.begin(), kind);
  while (!heads.empty()) {
    auto head = heads.extract(heads.begin());
    Outcome outcome = TryToPlace(draft, *world.gangs.Edit(head.key().gang));
    if (outcome == Outcome::kFirst) {
      world.goes_first = head.key().gang;
      return;
    }
    if (outcome == Outcome::kNoSeats) continue;
    const cluster::SharedSet<cluster::QueueKey>* alike = world.waiting.by_kind().Get(head.mapped());
    if (alike == nullptr) continue;
    auto next = alike->upper_bound(head.key());
    if (next != alike->end()) heads.emplace(*next, head.mapped());
  }
}

}  // namespace

void PlaceGangs(Draft& draft) {
  std::string first = draft.world.goes_first;
  WalkQueue(draft);
  // Whoever would fit waits for somebody else now: the whole queue is explained anew.
  if (draft.world.goes_first != first)
    draft.world.explained_generation = draft.world.explaining_generation = 0;
}

}  // namespace lockstep::engine
