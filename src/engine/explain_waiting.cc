#include "engine/explain_waiting.h"

#include "engine/group.h"
#include "engine/holders.h"
#include "engine/job_status.h"
#include "engine/limits.h"
#include "engine/place_gangs.h"
#include "engine/roles.h"
#include "explain/reason.h"
#include "gang/place.h"
#include "gang/related.h"

namespace lockstep::engine {

using cluster::GangState;
using cluster::World;

namespace {

// Who keeps a gang that would fit from its seats.
std::string FirstText(const World& world) {
  const GangState* first = world.gangs.Get(world.goes_first);
  if (first == nullptr) return "jobs that came earlier are placed first";
  const std::string& name = first->job_name;
  if (first->aged) return name + " has waited longest and is placed first";
  return name +
         (IsRestarting(*first) ? " restarts and is placed first" : " came earlier and is placed first");
}

// One answer per distinct need in a step: a hundred alike jobs wait for the same reason.
class Reasons {
 public:
  explicit Reasons(Draft& draft) : draft_(draft) {}

  api::GangReason For(const GangState& gang) {
    if (std::optional<api::GangReason> held = HeldBack(draft_.world, gang, draft_.now)) return *held;
    gang::Need need = NeedOf(gang);
    std::vector<cluster::NodeId> barred = BarredNow(draft_.world, gang, draft_.now);
    // Where claims are not what is short, gangs that differ in nothing else wait for one reason.
    std::optional<gang::Need> plain = NeedWithoutClaims(gang);
    if (plain && !gang::Fits(draft_.world.nodes, *plain, barred)) need = *std::move(plain);
    bool related = gang::IsRelated(draft_.world.nodes, cluster::View::kNow, need);
    std::vector<int64_t> key;
    for (const gang::RoleNeed& role : need.roles) {
      key.push_back(role.pod_class);
      key.push_back(role.count);
      // Gangs that are alike but for their labels may wait for different reasons then.
      if (related && role.who) key.push_back(static_cast<int64_t>(role.who->hash));
    }
    key.insert(key.end(), barred.begin(), barred.end());
    auto [found, fresh] = known_.try_emplace(std::move(key));
    if (fresh) found->second = Explain(need, barred);
    return found->second;
  }

 private:
  api::GangReason Explain(const gang::Need& need, const std::vector<cluster::NodeId>& barred) {
    World& world = draft_.world;
    if (!gang::IsPossible(world.nodes, need)) {
      auto empty = gang::PlaceOnEmpty(world.nodes, need);
      if (const auto* no_fit = std::get_if<gang::NoFit>(&empty)) {
        gang::NoFit never = *no_fit;
        never.never = true;
        return explain::ExplainNoFit(never, {});
      }
    }
    auto placed = gang::Place(world.nodes, need, barred);
    const auto* no_fit = std::get_if<gang::NoFit>(&placed);
    if (no_fit == nullptr) return {"WaitingItsTurn", "would fit now; " + FirstText(draft_.world)};
    std::vector<explain::Holder> holders;
    if (no_fit->shortest) holders = Holders(world, no_fit->shortest->resource);
    return explain::ExplainNoFit(*no_fit, holders);
  }

  Draft& draft_;
  std::map<std::vector<int64_t>, api::GangReason> known_;
};

// It waits for a person, not for others to end.
bool IsForGood(const api::GangReason& reason) {
  return reason.code == "Impossible" || reason.code == "QuotaTooSmall";
}

void Explain(Draft& draft, GangState& gang, const api::GangReason& reason) {
  const api::GangReason& written = gang.status().reason;
  bool new_code = reason.code != written.code;
  bool due = !gang.reason_written || draft.now.mono >= *gang.reason_written + kReasonInterval;
  if (reason != written && (new_code || due)) {
    api::GangStatus next = gang.status();
    next.reason = reason;
    next.needs = TotalNeed(gang);
    next.priority = gang.priority();
    if (!draft.WriteGang(gang, std::move(next))) return;
    gang.reason_written = draft.now.mono;
    if (new_code) draft.Record(gang, IsForGood(reason) ? "Warning" : "Normal", reason.code, reason.message);
  } else if (reason != written) {
    draft.world.WakeAt(*gang.reason_written + kReasonInterval, gang.key);
  }
  // The job hears of it when the Gang has it on record.
  if (gang.assumed || gang.status().reason.code.empty() || IsGroup(gang)) return;
  std::pair versions(gang.job->resource_version, gang.gang_version());
  if (gang.told == versions) return;  // the job's status is costly to work out, and nothing has changed
  jobs::JobFacts facts{&gang.status(), {}, jobs::Verdict::kGoesOn, 0, ""};
  if (WriteJobStatus(draft, gang, facts)) gang.told = versions;
}

}  // namespace

api::GangReason WaitsFor(Draft& draft, const GangState& gang) { return Reasons(draft).For(gang); }

bool MoreToExplain(const World& world) {
  return !world.waiting.empty() && world.explained_generation != world.Generation();
}

void ExplainWaiting(Draft& draft) {
  World& world = draft.world;
  if (world.waiting.empty()) return;
  Reasons reasons(draft);
  auto explain = [&](GangState& gang) {
    if (gang.gang == nullptr || gang.status().phase == api::GangPhase::kRestarting) return;
    api::GangReason reason = reasons.For(gang);
    if (reason.code != "Checking") Explain(draft, gang, reason);  // a check lasts milliseconds
  };
  for (const std::string& key : draft.advanced) {
    if (world.waiting.Contains(key)) explain(*world.gangs.Edit(key));
  }
  if (!MoreToExplain(world)) return;  // nothing has changed that the reasons of the others hang on
  auto next = world.waiting.all().upper_bound(world.explained_up_to);
  size_t looks = std::min(kReasonsPerStep, world.waiting.size());
  for (size_t i = 0; i < looks; ++i, ++next) {
    if (next == world.waiting.all().end()) {
      next = world.waiting.all().begin();
      world.explained_generation = world.explaining_generation;  // one whole pass is done
      world.explaining_generation = world.Generation();
    }
    world.explained_up_to = *next;
    explain(*world.gangs.Edit(next->gang));
  }
}

}  // namespace lockstep::engine
