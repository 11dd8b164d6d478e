#pragma once

#include "jobs/framework.h"

namespace lockstep::jobs {

// kubeflow.org/v1 PyTorchJob: a Master (rank 0) and Workers, or Workers alone that meet at a rendezvous.
// Source: training-operator v1.9.4, pkg/controller.v1/pytorch and pkg/webhooks/pytorch.
class PyTorchJob : public Framework {
 public:
  const Kind& kind() const override;
  std::variant<Job, InvalidJob> Read(const json::Doc& object) const override;
  json::Doc PodFor(const Job& job, size_t role, int32_t index) const override;
  bool LookedUp(const Job& job, size_t role, int32_t index) const override;
  Verdict Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const override;
  std::string RunningMessage(const Job& job) const override;
  std::string SucceededMessage(const Job& job) const override;
  std::string FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const override;
};

}  // namespace lockstep::jobs
