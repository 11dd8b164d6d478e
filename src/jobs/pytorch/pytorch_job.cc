#include "jobs/pytorch/pytorch_job.h"

#include "base/check.h"
#include "jobs/pod.h"
#include "jobs/pytorch/environment.h"
#include "jobs/pytorch/validation.h"
#include "jobs/read_job.h"

namespace lockstep::jobs {

using pytorch::kMaster;
using pytorch::kWorker;

namespace {

bool IsElastic(const Job& job) {
  const json::Doc* policy = json::Key(job.spec.get(), "elasticPolicy");
  return policy != nullptr && policy->is_object();
}

// Upstream: the Master's end alone counts; without one all workers must succeed, or any with an elastic
// policy, whose agents end together.
bool HasSucceeded(const Job& job, std::span<const RoleCounts> counts) {
  if (job.role(kMaster) != nullptr) return AllSucceeded(job, counts, kMaster);
  const RoleCounts* workers = CountsOf(job, counts, kWorker);
  return AllSucceeded(job, counts, kWorker) ||
         (IsElastic(job) && workers != nullptr && workers->succeeded > 0);
}

}  // namespace

const Kind& PyTorchJob::kind() const { return pytorch::kKind; }

std::variant<Job, InvalidJob> PyTorchJob::Read(const json::Doc& object) const {
  return ReadJob(*this, object, pytorch::CheckSpec);
}

json::Doc PyTorchJob::PodFor(const Job& job, size_t role_index, int32_t index) const {
  CHECK(role_index < job.roles.size()) << "no role " << role_index << " in " << job.meta.key();
  const Role& role = job.roles[role_index];
  json::Doc pod = PodOfTemplate(job, role, index, role.type == kMaster);
  json::Doc& spec = pod["spec"];
  const json::Doc environment = pytorch::Environment(job, role, index);
  for (json::Doc& container : spec["containers"]) AppendEnv(container, environment);
  if (role.type != kMaster && job.role(kMaster) != nullptr) {
    json::Doc& init = spec["initContainers"];
    if (!init.is_array()) init = json::Doc::array();
    init.push_back(pytorch::InitContainer(job));
  }
  return pod;
}

bool PyTorchJob::LookedUp(const Job& job, size_t role_index, int32_t index) const {
  if (role_index >= job.roles.size() || index != 0) return false;
  const Role& role = job.roles[role_index];
  return role.type == kMaster || (role.type == kWorker && pytorch::MeetsAtWorkerZero(job));
}

Verdict PyTorchJob::Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const {
  if (counts.size() != job.roles.size()) return Verdict::kGoesOn;
  if (HasSucceeded(job, counts)) return Verdict::kSucceeded;
  return JudgeFailures(job, counts, failed_role);
}

std::string PyTorchJob::RunningMessage(const Job& job) const {
  return "PyTorchJob " + (job.role(kMaster) != nullptr ? job.meta.name : job.meta.key()) + " is running.";
}

std::string PyTorchJob::SucceededMessage(const Job& job) const {
  return job.role(kMaster) != nullptr ? "PyTorchJob " + job.meta.name + " is successfully completed."
                                      : "PyTorchJob " + job.meta.key() + " successfully completed.";
}

std::string PyTorchJob::FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const {
  return "PyTorchJob " + job.meta.name + " is failed because " + std::to_string(counts.failed) + " " +
         job.roles[role].type + " replica(s) failed.";
}

}  // namespace lockstep::jobs
