#include "jobs/pytorch/pytorch_job.h"

#include "base/check.h"
#include "jobs/pod.h"
#include "jobs/pytorch/environment.h"
#include "jobs/pytorch/validation.h"

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
  for (size_t i = 0; i < job.roles.size(); ++i) {
    if (job.roles[i].type == kMaster) return counts[i].succeeded >= job.roles[i].replicas;
  }
  for (size_t i = 0; i < job.roles.size(); ++i) {
    if (job.roles[i].type != kWorker) continue;
    return counts[i].succeeded >= job.roles[i].replicas || (IsElastic(job) && counts[i].succeeded > 0);
  }
  return false;
}

}  // namespace

const kube::Resource& PyTorchJob::resource() const { return kube::kPyTorchJobs; }

std::variant<Job, InvalidJob> PyTorchJob::Read(const json::Doc& object) const {
  return pytorch::ReadPyTorchJob(*this, object);
}

json::Doc PyTorchJob::PodFor(const Job& job, size_t role_index, int32_t index) const {
  CHECK(role_index < job.roles.size()) << "no role " << role_index << " in " << job.meta.key();
  const Role& role = job.roles[role_index];
  json::Doc pod = PodOfTemplate(job, role, index, role.type == kMaster);
  json::Doc& spec = pod["spec"];
  pytorch::AddDefaultPort(spec);
  const json::Doc environment = pytorch::Environment(job, role, index);
  for (json::Doc& container : spec["containers"]) {
    json::Doc& env = container["env"];
    if (!env.is_array()) env = json::Doc::array();
    env.insert(env.end(), environment.begin(), environment.end());
  }
  if (role.type != kMaster && job.role(kMaster) != nullptr) {
    json::Doc& init = spec["initContainers"];
    if (!init.is_array()) init = json::Doc::array();
    init.push_back(pytorch::InitContainer(job));
  }
  return pod;
}

json::Doc PyTorchJob::ServiceFor(const Job& job, size_t role_index, int32_t index) const {
  CHECK(role_index < job.roles.size()) << "no role " << role_index << " in " << job.meta.key();
  const Role& role = job.roles[role_index];
  const json::Doc* spec = json::Key(role.pod_template.get(), "spec");
  json::Doc pod = {{"spec", spec != nullptr ? *spec : json::Doc::object()}};
  pytorch::AddDefaultPort(pod["spec"]);
  return HeadlessService(job, role, index, pod, container());
}

bool PyTorchJob::LookedUp(const Job& job, size_t role_index, int32_t index) const {
  if (role_index >= job.roles.size() || index != 0) return false;
  const Role& role = job.roles[role_index];
  return role.type == kMaster || (role.type == kWorker && pytorch::MeetsAtWorkerZero(job));
}

Verdict PyTorchJob::Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const {
  if (counts.size() != job.roles.size()) return Verdict::kGoesOn;
  if (HasSucceeded(job, counts)) return Verdict::kSucceeded;
  // Permanent failures first: a job must not restart for one role while another has failed it for good.
  for (Verdict verdict : {Verdict::kFailed, Verdict::kRestart}) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const RoleCounts& count = counts[i];
      if (count.failed == 0 || job.roles[i].replicas <= count.succeeded + count.active) continue;
      if ((verdict == Verdict::kFailed) != count.permanent_failure) continue;
      if (failed_role != nullptr) *failed_role = i;
      return verdict;
    }
  }
  return Verdict::kGoesOn;
}

std::string PyTorchJob::RunningMessage(const Job& job) const {
  return "PyTorchJob " + (job.role(kMaster) != nullptr ? job.meta.name : job.meta.key()) + " is running.";
}

std::string PyTorchJob::SucceededMessage(const Job& job) const {
  return job.role(kMaster) != nullptr ? "PyTorchJob " + job.meta.name + " is successfully completed."
                                      : "PyTorchJob " + job.meta.key() + " successfully completed.";
}

std::string PyTorchJob::FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const {
  const Role& failed = job.roles[role];
  if (failed.restart_policy == "ExitCode") {
    return "job \"" + job.meta.name + "\" is failing because \"" + failed.type + "\" replica(s) failed.";
  }
  return "PyTorchJob " + job.meta.name + " is failed because " + std::to_string(counts.failed) + " " +
         failed.type + " replica(s) failed.";
}

}  // namespace lockstep::jobs
