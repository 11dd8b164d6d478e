#include "engine/place_gangs.h"

#include "engine/limits.h"
#include "engine/roles.h"
#include "gang/place.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::World;

namespace {

bool OldPodsLeft(const GangState& gang) {
  return std::any_of(gang.pods.begin(), gang.pods.end(),
                     [&](const auto& entry) { return entry.second->owner_uid == gang.job->meta.uid; });
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

void WritePlacement(Draft& draft, GangState& gang, const gang::Placement& placement) {
  api::GangStatus next = gang.status();
  next.phase = api::GangPhase::kPlacing;
  ++next.attempt;
  next.placement = Record(draft.world, gang, placement);
  next.needs = TotalNeed(gang);
  next.phase_since = draft.now.wall;
  next.reason = {"Placing", "all " + std::to_string(gang.job->job()->pods()) + " pods have seats on " +
                                std::to_string(next.placement.size()) +
                                (next.placement.size() == 1 ? " node" : " nodes")};
  std::string message = next.reason.message + ", attempt " + std::to_string(next.attempt);
  gang.created.clear();
  gang.succeeded.clear();
  gang.create_error.clear();
  gang.create_refused.clear();
  gang.last_progress.reset();
  gang.gang_read = false;
  if (draft.WriteGang(gang, std::move(next))) draft.Record(gang, "Normal", "Placed", message);
}

}  // namespace

bool IsRestarting(const GangState& gang) {
  return gang.status().phase == api::GangPhase::kRestarting || gang.status().reason.code == "Restarting";
}

Turn TurnOf(const World& world, const GangState& gang, Now now) {
  if (gang.gang == nullptr) {  // its create is in flight, or will be tried again
    auto failures = gang.failures.find(GangObjectKey(gang));
    return failures == gang.failures.end() || failures->second < kUnansweredChecks ? Turn::kComes
                                                                                   : Turn::kPasses;
  }
  const api::GangStatus& status = gang.status();
  if (gang.job->job()->run_policy.suspend || RefusedTemplate(world, gang) != nullptr ||
      UnmetRule(gang) != nullptr)
    return Turn::kPasses;
  if (status.not_before && *status.not_before > now.wall) return Turn::kPasses;
  if (status.phase == api::GangPhase::kRestarting) return Turn::kComes;
  if (OldPodsLeft(gang)) return IsRestarting(gang) ? Turn::kComes : Turn::kPasses;
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
  bool backs_off = status.not_before && *status.not_before > now.wall;
  if (backs_off || OldPodsLeft(gang) || status.phase == api::GangPhase::kRestarting) {
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

void PlaceGangs(Draft& draft) {
  World& world = draft.world;
  for (auto next = world.waiting.begin(); next != world.waiting.end();) {
    GangState& gang = world.gangs.at(next->gang);
    ++next;  // a placed gang leaves the queue
    Turn turn = TurnOf(world, gang, draft.now);
    if (turn == Turn::kPasses) continue;
    gang::Need need = NeedOf(gang);
    std::vector<cluster::NodeId> barred = BarredNow(world, gang, draft.now);
    if (!gang::Fits(world.nodes, need, barred)) {
      if (!gang::IsPossible(world.nodes, need)) continue;
      return;
    }
    // Its turn comes with an answer that is on its way; nobody overtakes it meanwhile.
    if (turn == Turn::kComes || world.InFlight(GangObjectKey(gang))) return;
    std::variant<gang::Placement, gang::NoFit> placed = gang::Place(world.nodes, need, barred);
    if (const auto* placement = std::get_if<gang::Placement>(&placed))
      WritePlacement(draft, gang, *placement);
  }
}

}  // namespace lockstep::engine
