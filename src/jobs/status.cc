#include "jobs/status.h"

#include "jobs/conditions.h"
#include "jobs/pod.h"

namespace lockstep::jobs {

namespace {

using api::GangPhase;

// Conditions hold no megabytes, whatever a manifest breaks.
constexpr size_t kMaxMessage = 8192;

std::string KindName(const Framework& framework) { return std::string(framework.resource().kind); }

Condition Created(const Framework& framework, const std::string& name) {
  return {"Created", true, KindName(framework) + "Created",
          KindName(framework) + " " + name + " is created."};
}

json::Doc ObjectOrEmpty(const json::DocPtr& doc) {
  return doc != nullptr && doc->is_object() ? *doc : json::Doc::object();
}

bool IsPlaced(GangPhase phase) {
  return phase != GangPhase::kQueued && phase != GangPhase::kChecking && phase != GangPhase::kRestarting;
}

Condition Placed(const Job& job, const api::GangStatus& gang) {
  if (!IsPlaced(gang.phase)) {
    std::string reason = gang.reason.code.empty() ? "Waiting" : gang.reason.code;
    return {"Placed", false, reason, gang.reason.message.empty() ? "waits for seats" : gang.reason.message};
  }
  auto count = [](size_t n, const char* one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); };
  std::string seats = count(static_cast<size_t>(job.pods()), "pod");
  if (!gang.placement.empty()) seats += " on " + count(gang.placement.size(), "node");
  return {"Placed", true, "Placed", seats + ", attempt " + std::to_string(gang.attempt)};
}

// Running pods of a job that is over count as succeeded where the job succeeded, as upstream folds them.
void FoldActive(json::Doc& status) {
  auto replicas = status.find("replicaStatuses");
  if (replicas == status.end() || !replicas->is_object()) return;
  for (json::Doc& role : *replicas) {
    if (!role.is_object()) continue;
    int64_t active = json::GetInt(role, "active");
    role.erase("active");
    if (active > 0) role["succeeded"] = json::GetInt(role, "succeeded") + active;
  }
}

// Rebuilt from what is, as upstream does: `failed` is not cumulative. Zeros are left out.
void SetReplicaStatuses(json::Doc& status, const Job& job, std::span<const RoleCounts> counts) {
  json::Doc replicas = json::Doc::object();
  for (size_t i = 0; i < job.roles.size(); ++i) {
    json::Doc& role = replicas[job.roles[i].type] = json::Doc::object();
    if (job.framework->kind().scales) role["selector"] = RoleSelector(job, job.roles[i]);
    if (i >= counts.size()) continue;
    if (counts[i].active > 0) role["active"] = counts[i].active;
    if (counts[i].succeeded > 0) role["succeeded"] = counts[i].succeeded;
    if (counts[i].failed > 0) role["failed"] = counts[i].failed;
  }
  status["replicaStatuses"] = std::move(replicas);
}

// Suspended [Created, Running=False, Suspended=True]; resumed [Created, Suspended=False, ...].
void SetSuspension(json::Doc& status, const Job& job, WallTime now) {
  json::Doc& conditions = ConditionsOf(status);
  std::string kind = KindName(*job.framework), name = kind + " " + job.meta.name;
  if (job.run_policy.suspend) {
    if (FindCondition(conditions, "Running") != nullptr) {
      SetCondition(conditions, {"Running", false, kind + "Suspended", name + " is suspended."}, now);
    }
    SetCondition(conditions, {"Suspended", true, kind + "Suspended", name + " is suspended."}, now);
  } else if (IsTrue(conditions, "Suspended")) {
    RemoveCondition(conditions, "Running");
    SetCondition(conditions, {"Suspended", false, kind + "Resumed", name + " is resumed."}, now);
    status["startTime"] = FormatTime(now);
  }
}

void SetRestarting(json::Doc& conditions, const Job& job, const std::string& why, WallTime now) {
  SetCondition(conditions,
               {"Restarting", true, KindName(*job.framework) + "Restarting",
                "job " + job.meta.name + " is restarting because " + why},
               now);
}

// A final exit code fails every kind in the same words. Source: pkg/controller.v1/common/pod.go.
std::string FailedMessage(const Job& job, const JobFacts& facts) {
  if (facts.failed_role >= job.roles.size()) return "";
  const Role& role = job.roles[facts.failed_role];
  if (role.restart_policy == "ExitCode") {
    return "job \"" + job.meta.name + "\" is failing because \"" + role.type + "\" replica(s) failed.";
  }
  bool counted = facts.failed_role < facts.counts.size();
  return job.framework->FailedMessage(job, facts.failed_role,
                                      counted ? facts.counts[facts.failed_role] : RoleCounts{});
}

// The job is over: the last condition, and when that was.
void Finish(json::Doc& status, const Job& job, const JobFacts& facts, WallTime now) {
  json::Doc& conditions = ConditionsOf(status);
  std::string kind = KindName(*job.framework);
  if (facts.verdict == Verdict::kSucceeded) {
    // A restart that worked is no longer one; upstream passes through Running, which removes it.
    RemoveCondition(conditions, "Restarting");
    SetCondition(conditions, {"Succeeded", true, kind + "Succeeded", job.framework->SucceededMessage(job)},
                 now);
    FoldActive(status);
  } else {
    std::string message = facts.failure.empty() ? FailedMessage(job, facts) : facts.failure;
    SetCondition(conditions, {"Failed", true, kind + "Failed", message}, now);
  }
  if (!status.contains("completionTime")) status["completionTime"] = FormatTime(now);
}

void SetProgress(json::Doc& status, const Job& job, const JobFacts& facts, WallTime now) {
  json::Doc& conditions = ConditionsOf(status);
  GangPhase phase = facts.gang != nullptr ? facts.gang->phase : GangPhase::kQueued;
  if (facts.verdict == Verdict::kRestart && facts.failed_role < job.roles.size()) {
    SetRestarting(conditions, job, job.roles[facts.failed_role].type + " replica(s) failed.", now);
  } else if (phase == GangPhase::kRestarting) {
    // The failed pod may be gone already when this is written; the Gang remembers why.
    std::string why = facts.gang->reason.message;
    SetRestarting(conditions, job, why.empty() ? "replica(s) failed." : why, now);
  } else if (phase == GangPhase::kRunning) {
    SetCondition(conditions,
                 {"Running", true, KindName(*job.framework) + "Running", job.framework->RunningMessage(job)},
                 now);
  } else if (phase < GangPhase::kRunning && IsTrue(conditions, "Running")) {
    RemoveCondition(conditions, "Running");  // the last condition is the STATE that people see
  }
}

}  // namespace

json::Doc NextStatus(const Job& job, const JobFacts& facts, WallTime now) {
  json::Doc status = ObjectOrEmpty(job.status);
  if (Finished(status)) {
    if (IsTrue(ConditionsOf(status), "Succeeded")) FoldActive(status);
    return status;
  }
  SetCondition(ConditionsOf(status), Created(*job.framework, job.meta.name), now);
  if (facts.gang != nullptr) SetFirstCondition(ConditionsOf(status), Placed(job, *facts.gang), now);
  SetSuspension(status, job, now);
  bool over = facts.verdict == Verdict::kSucceeded || facts.verdict == Verdict::kFailed;
  bool placed = facts.gang != nullptr && IsPlaced(facts.gang->phase);
  // Upstream starts the clock when it creates pods; so a deadline does not run while the gang waits.
  if ((placed || over) && !job.run_policy.suspend && !status.contains("startTime")) {
    status["startTime"] = FormatTime(now);
  }
  if (status.contains("startTime")) SetReplicaStatuses(status, job, facts.counts);
  if (over) {
    Finish(status, job, facts, now);
  } else if (!job.run_policy.suspend) {
    SetProgress(status, job, facts, now);
  }
  return status;
}

json::Doc InvalidStatus(const Framework& framework, const InvalidJob& job, WallTime now) {
  json::Doc status = ObjectOrEmpty(job.status);
  if (Finished(status)) return status;
  std::string message = KindName(framework) + " " + job.meta.name + " failed validation because ";
  for (size_t i = 0; i < job.errors.size(); ++i) {
    if (message.size() + job.errors[i].size() > kMaxMessage) {
      message += "; and " + std::to_string(job.errors.size() - i) + " more";
      break;
    }
    message += (i == 0 ? "" : "; ") + job.errors[i];
  }
  json::Doc& conditions = ConditionsOf(status);
  SetCondition(conditions, Created(framework, job.meta.name), now);
  SetCondition(conditions, {"Failed", true, KindName(framework) + "FailedValidation", message}, now);
  if (!status.contains("completionTime")) status["completionTime"] = FormatTime(now);
  return status;
}

bool Finished(const json::Doc& status) {
  const json::Doc* conditions = json::Key(&status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return false;
  return IsTrue(*conditions, "Succeeded") || IsTrue(*conditions, "Failed");
}

}  // namespace lockstep::jobs
