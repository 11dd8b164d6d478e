#include "jobs/framework.h"

#include "jobs/pytorch/pytorch_job.h"

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

std::span<const Framework* const> AllFrameworks() {
  static const PyTorchJob pytorch;
  static const Framework* const all[] = {&pytorch};
  return all;
}

const Framework* FrameworkOf(const kube::Resource& resource) {
  for (const Framework* framework : AllFrameworks()) {
    if (&framework->resource() == &resource) return framework;
  }
  return nullptr;
}

}  // namespace lockstep::jobs
