#include "jobs/tensorflow/tf_job.h"

#include "base/check.h"
#include "jobs/pod.h"
#include "jobs/read_job.h"
#include "jobs/tensorflow/tf_config.h"
#include "jobs/tensorflow/validation.h"

namespace lockstep::jobs {

using tensorflow::HasChief;
using tensorflow::kChief;
using tensorflow::kMaster;
using tensorflow::kWorker;

namespace {

bool WantsAllWorkers(const Job& job) { return json::GetString(*job.spec, "successPolicy") == "AllWorkers"; }

// The replica with the label job-role=master.
bool IsMaster(const Job& job, const Role& role, int32_t index) {
  if (HasChief(job)) return role.type == kChief || role.type == kMaster;
  return role.type == kWorker && index == 0;
}

bool HasSucceeded(const Job& job, std::span<const RoleCounts> counts) {
  if (HasChief(job)) return AllSucceeded(job, counts, kChief) || AllSucceeded(job, counts, kMaster);
  if (const RoleCounts* workers = CountsOf(job, counts, kWorker)) {
    bool first = workers->first_succeeded.value_or(false);
    return AllSucceeded(job, counts, kWorker) || (first && !WantsAllWorkers(job));
  }
  return std::ranges::all_of(job.roles, [&](const Role& role) {
    return role.replicas == 0 || AllSucceeded(job, counts, role.type);
  });
}

// Whether the job can end well without the dynamic workers that failed for good.
bool GoesOnWithout(const Job& job, const RoleCounts& workers) {
  return HasChief(job) || (!WantsAllWorkers(job) && workers.first_succeeded.value_or(true));
}

}  // namespace

const Kind& TFJob::kind() const { return tensorflow::kKind; }

std::variant<Job, InvalidJob> TFJob::Read(const json::Doc& object) const {
  return ReadJob(*this, object, tensorflow::CheckSpec);
}

json::Doc TFJob::PodFor(const Job& job, size_t role_index, int32_t index) const {
  CHECK(role_index < job.roles.size()) << "no role " << role_index << " in " << job.meta.key();
  const Role& role = job.roles[role_index];
  json::Doc pod = PodOfTemplate(job, role, index, IsMaster(job, role, index));
  if (!tensorflow::IsDistributed(job)) return pod;
  const json::Doc config = {{"name", "TF_CONFIG"}, {"value", tensorflow::TfConfig(job, role, index)}};
  for (json::Doc& one : pod["spec"]["containers"]) {
    if (json::GetString(one, "name") != kind().container) continue;
    AppendEnv(one, json::Doc::array({config}));
    break;
  }
  return pod;
}

// TF_CONFIG names every replica, and a rank that finds no address for a name may give up.
bool TFJob::LookedUp(const Job& job, size_t role_index, int32_t index) const {
  return tensorflow::IsDistributed(job) && role_index < job.roles.size() && index >= 0 &&
         index < job.roles[role_index].replicas;
}

Verdict TFJob::Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const {
  if (counts.size() != job.roles.size()) return Verdict::kGoesOn;
  if (HasSucceeded(job, counts)) return Verdict::kSucceeded;
  const RoleCounts* workers = CountsOf(job, counts, kWorker);
  if (workers == nullptr || !tensorflow::HasDynamicWorkers(job) || !GoesOnWithout(job, *workers)) {
    return JudgeFailures(job, counts, failed_role);
  }
  std::vector<RoleCounts> missed(counts.begin(), counts.end());
  RoleCounts& of_workers = missed[static_cast<size_t>(workers - counts.data())];
  of_workers.permanent_failure = false;
  if (!of_workers.retryable_failure) of_workers.failed = 0;
  return JudgeFailures(job, missed, failed_role);
}

std::string TFJob::RunningMessage(const Job& job) const { return "TFJob " + job.meta.key() + " is running."; }

std::string TFJob::SucceededMessage(const Job& job) const {
  return "TFJob " + job.meta.key() + " successfully completed.";
}

std::string TFJob::FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const {
  return "TFJob " + job.meta.key() + " has failed because " + std::to_string(counts.failed) + " " +
         job.roles[role].type + " replica(s) failed.";
}

}  // namespace lockstep::jobs
