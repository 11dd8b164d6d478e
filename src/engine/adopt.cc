#include "engine/adopt.h"

#include "base/ascii.h"
#include "engine/counters.h"
#include "engine/roles.h"

namespace lockstep::engine {

using api::GangPhase;
using api::GangStatus;
using cluster::GangState;

bool AdoptPods(Draft& draft, GangState& gang) {
  GangStatus next = gang.status();
  next.placement.clear();
  TakeOver(gang, next);
  if (next.attempt == 0) return false;
  const jobs::Job& job = *gang.job->job();
  for (const auto& [name, pod] : gang.pods) {
    if (pod->owner_uid != job.meta.uid || pod->attempt != next.attempt) continue;
    auto role = std::find_if(job.roles.begin(), job.roles.end(),
                             [&](const jobs::Role& r) { return AsciiLower(r.type) == pod->role; });
    if (role != job.roles.end() && !pod->node.empty())
      next.placement.push_back({pod->node, {{role->type, pod->index, pod->index}}});
  }
  bool whole =
      next.attempt > OverSoFar(gang).attempt && next.placement.size() == static_cast<size_t>(job.pods());
  next.phase = whole ? GangPhase::kPlacing : GangPhase::kQueued;
  if (!whole) next.placement.clear();
  next.needs = TotalNeed(gang);
  next.priority = gang.priority();
  next.reason = {"Adopted", "its record was lost and is made anew from the pods of attempt " +
                                std::to_string(next.attempt)};
  if (!gang.gang->unreadable.empty())
    draft.Record(gang, "Warning", "RecordUnreadable",
                 "the Gang's status is written anew: " + gang.gang->unreadable);
  draft.WriteGang(gang, std::move(next));
  return true;
}

}  // namespace lockstep::engine
