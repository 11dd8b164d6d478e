#include <algorithm>

#include "cluster/world.h"
#include "jobs/status.h"

namespace lockstep::cluster {

namespace {

const json::Doc kNoStatus = json::Doc::object();
const api::GangStatus kNewGang;

}  // namespace

const json::Doc& JobRecord::status() const {
  const json::DocPtr& status =
      std::visit([](const auto& b) -> const json::DocPtr& { return b.status; }, body);
  return status == nullptr ? kNoStatus : *status;
}

const api::GangStatus& GangState::status() const {
  if (assumed) return *assumed;
  return gang == nullptr ? kNewGang : gang->status;
}

uint64_t GangState::gang_version() const {
  return gang == nullptr ? 0 : ParseVersion(gang->meta.resource_version);
}

std::optional<WallTime> GangState::queued_at() const {
  if (gang != nullptr) return gang->spec.queued_at;
  return assumed_queued_at;
}

int32_t GangState::priority() const {
  int32_t highest = INT32_MIN;
  for (const RoleState& role : roles) highest = std::max(highest, role.priority);
  return roles.empty() ? 0 : highest;
}

std::optional<WallTime> GangState::waiting_since() const {
  return status().waiting_since ? status().waiting_since : queued_at();
}

bool GangState::waiting() const {
  if (job == nullptr || job->job() == nullptr || !job->job()->ours() || job->meta.deleted_at || !queued_at())
    return false;
  if (jobs::Finished(job->status())) return false;
  if (gang != nullptr && gang->spec.job.uid != job->meta.uid) return false;
  api::GangPhase phase = status().phase;
  return phase == api::GangPhase::kQueued || phase == api::GangPhase::kChecking ||
         phase == api::GangPhase::kRestarting;
}

bool GangState::has_seats() const {
  if (gang == nullptr || job == nullptr || gang->spec.job.uid != job->meta.uid) return false;
  if (job->job() == nullptr || !job->job()->ours()) return false;
  api::GangPhase phase = status().phase;
  return phase == api::GangPhase::kPlacing || phase == api::GangPhase::kStarting ||
         phase == api::GangPhase::kRunning;
}

}  // namespace lockstep::cluster
