#include "jobs/framework.h"

#include "base/ascii.h"
#include "jobs/pod.h"
#include "jobs/pytorch/pytorch_job.h"
#include "jobs/tensorflow/tf_job.h"

namespace lockstep::jobs {

namespace {

// Source: training-operator pkg/util/train/train_util.go IsRetryableExitCode.
bool IsPermanent(std::string_view restart_policy, std::optional<int32_t> exit_code) {
  if (restart_policy == "Never") return true;
  return restart_policy == "ExitCode" && exit_code.has_value() && *exit_code < 128;
}

}  // namespace

void CountPod(RoleCounts& counts, std::string_view restart_policy, kube::PodPhase phase, bool deleting,
              std::optional<int32_t> exit_code) {
  switch (phase) {
    case kube::PodPhase::kSucceeded:
      ++counts.succeeded;
      return;
    case kube::PodPhase::kRunning:
      if (!deleting) {
        ++counts.active;
        return;
      }
      exit_code.reset();  // it has not ended: nothing it said yet is the pod's own verdict
      [[fallthrough]];
    case kube::PodPhase::kFailed:
      ++counts.failed;
      (IsPermanent(restart_policy, exit_code) ? counts.permanent_failure : counts.retryable_failure) = true;
      return;
    case kube::PodPhase::kPending:
    case kube::PodPhase::kUnknown:
      return;
  }
}

Verdict JudgeFailures(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) {
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

const RoleCounts* CountsOf(const Job& job, std::span<const RoleCounts> counts, std::string_view type) {
  const Role* role = job.role(type);
  return role == nullptr ? nullptr : &counts[static_cast<size_t>(role - job.roles.data())];
}

bool AllSucceeded(const Job& job, std::span<const RoleCounts> counts, std::string_view type) {
  const RoleCounts* count = CountsOf(job, counts, type);
  return count != nullptr && count->succeeded >= job.role(type)->replicas;
}

std::span<const Framework* const> AllFrameworks() {
  static const PyTorchJob pytorch;
  static const TFJob tensorflow;
  static const Framework* const all[] = {&pytorch, &tensorflow};
  return all;
}

const Framework* FrameworkOf(const kube::Resource& resource) {
  for (const Framework* framework : AllFrameworks()) {
    if (&framework->resource() == &resource) return framework;
  }
  return nullptr;
}

const Framework* FrameworkNamed(std::string_view word) {
  for (const Framework* framework : AllFrameworks()) {
    std::string singular = AsciiLower(framework->resource().kind), asked = AsciiLower(word);
    if (asked == singular || asked == framework->resource().plural) return framework;
  }
  return nullptr;
}

std::string FrameworkNames() {
  std::string names;
  for (const Framework* framework : AllFrameworks()) {
    names.append(names.empty() ? "" : " or ").append(AsciiLower(framework->resource().kind));
  }
  return names;
}

}  // namespace lockstep::jobs
