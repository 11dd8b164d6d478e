#include "cli/operator_metrics.h"

#include "base/real_loop.h"

namespace lockstep::cli {

namespace {

// Counting all gangs costs a walk over them: not at every step.
constexpr Duration kCountInterval = seconds(1);

std::string_view ResultText(const kube::Status& status) {
  if (status.ok()) return "ok";
  return status.unknown() ? "unknown" : "error";
}

}  // namespace

void OperatorMetrics::OnAnswer(const cluster::Action& action, const kube::Status& status, Duration took) {
  metrics_.ActionDone(cluster::KindText(action.kind), ResultText(status));
  metrics_.RequestDone(kube::VerbText(action.request.verb), action.request.resource->plural, status.code,
                       took);
  if (action.kind == cluster::ActionKind::kWriteGang && status.ok()) written_.insert(action.gang);
}

void OperatorMetrics::OnStep(const cluster::World& world, Duration took, size_t, size_t) {
  metrics_.StepDone(took);
  metrics_.SetActionsInFlight(static_cast<int64_t>(world.actions.size()));
  metrics_.SetQueueLength("default", static_cast<int64_t>(world.waiting.size()));
  for (const std::string& key : written_) {
    const cluster::GangState* state = world.gangs.Get(key);
    if (state == nullptr || state->gang == nullptr) continue;
    const api::Gang& gang = *state->gang;
    WallTime since = gang.status.phase_since.value_or(gang.spec.queued_at);
    if (gang.status.phase == api::GangPhase::kPlacing) placed_at_[key] = since;
    if (gang.status.phase != api::GangPhase::kRunning) continue;
    if (auto placed = placed_at_.extract(key)) {
      metrics_.GangStarted(since - gang.spec.queued_at);
      metrics_.GangCommitted(since - placed.mapped());
    }
  }
  written_.clear();
  CountGangs(world);
}

void OperatorMetrics::CountGangs(const cluster::World& world) {
  MonoTime now = ReadClocks().mono;
  if (counted_ && now < *counted_ + kCountInterval) return;
  counted_ = now;
  std::map<std::string_view, int64_t> phases;
  for (int phase = 0; phase <= static_cast<int>(api::GangPhase::kFailed); ++phase) {
    phases[api::PhaseText(static_cast<api::GangPhase>(phase))] = 0;
  }
  for (const auto& [key, gang] : world.gangs) {
    if (gang.gang != nullptr) ++phases[api::PhaseText(gang.status().phase)];
  }
  for (const auto& [phase, count] : phases) metrics_.SetGangs(phase, count);
}

}  // namespace lockstep::cli
