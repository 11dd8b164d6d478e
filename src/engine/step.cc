#include "engine/step.h"

#include "cluster/sweep.h"
#include "engine/advance.h"
#include "engine/answers.h"
#include "engine/explain_waiting.h"
#include "engine/limits.h"
#include "engine/place_gangs.h"
#include "engine/waiting_pods.h"

namespace lockstep::engine {

using cluster::ActionDone;
using cluster::Event;
using cluster::GangState;
using cluster::Observed;
using cluster::World;

namespace {

// 1. What watches said and what became of our actions.
void TakeInEvents(Draft& draft, std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* observed = std::get_if<Observed>(&event)) {
      cluster::TakeIn(draft.world, *observed);
    } else {
      TakeInAnswer(draft, std::get<ActionDone>(event));
    }
  }
  auto& wakes = draft.world.wakes;
  while (!wakes.empty() && wakes.begin()->first <= draft.now.mono) {
    std::pair<MonoTime, std::string> wake = *wakes.begin();
    draft.world.Touch(wake.second);
    wakes.erase(wake);
  }
}

bool Forgettable(const World& world, const GangState& gang) {
  if (gang.job != nullptr || gang.gang != nullptr || !gang.pods.empty() || !gang.services.empty())
    return false;
  return std::none_of(world.actions.begin(), world.actions.end(),
                      [&](const auto& entry) { return entry.second.gang == gang.key; });
}

// 3. Every job that changed, in the order of their keys; new ones in the order in which they were created.
void AdvanceJobs(Draft& draft) {
  World& world = draft.world;
  std::set<std::string> dirty;
  dirty.swap(world.dirty);
  std::vector<GangState*> order;
  for (const std::string& key : dirty) {
    if (GangState* gang = world.gangs.Edit(key)) order.push_back(gang);
  }
  std::stable_sort(order.begin(), order.end(), [](const GangState* a, const GangState* b) {
    auto age = [](const GangState* g) {
      return g->job == nullptr ? std::pair<WallTime, uint64_t>{}
                               : std::pair(g->job->meta.created, g->job->resource_version);
    };
    return age(a) < age(b);
  });
  for (GangState* gang : order) {
    AdvanceGang(draft, *gang);
    cluster::RefreshHeld(world, *gang);
    cluster::RefreshQueue(world, *gang);
    draft.advanced.push_back(gang->key);
    if (Forgettable(world, *gang)) world.gangs.erase(std::string(gang->key));
  }
}

// 8. Everything the steps before asked for, and when to look again.
StepResult EmitActions(Draft& draft) {
  StepResult result;
  result.actions = draft.Take();
  if (!draft.world.dirty.empty()) {
    result.next_wake = draft.now.mono;
  } else if (!draft.world.wakes.empty()) {
    result.next_wake = draft.world.wakes.begin()->first;
  }
  if (MoreToExplain(draft.world)) {
    MonoTime soon = draft.now.mono + kExplainAgain;
    result.next_wake = std::min(result.next_wake.value_or(soon), soon);
  }
  return result;
}

}  // namespace

StepResult Step(World& world, std::span<const Event> events, Now now) {
  Draft draft(world, now);
  TakeInEvents(draft, events);  // 1
  //                               2: faults and incidents come with recovery/
  AdvanceJobs(draft);  // 3
  //                               4: the queue is kept in order (cluster::RefreshQueue)
  PlaceGangs(draft);  // 5
  //                               6: reservations and backfill come with queue/
  ExplainWaiting(draft);  // 7
  ShowWaitingPods(draft);
  cluster::Sweep(world);
  return EmitActions(draft);  // 8
}

std::vector<cluster::Action> Consider(World& world, std::span<const Event> events, Now now) {
  Draft draft(world, now);
  TakeInEvents(draft, events);
  AdvanceJobs(draft);
  return draft.Take();
}

void Follow(World& world, std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* observed = std::get_if<Observed>(&event)) cluster::TakeIn(world, *observed);
  }
  cluster::Sweep(world);
}

}  // namespace lockstep::engine
