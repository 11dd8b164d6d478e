#pragma once

#include "jobs/framework.h"

namespace lockstep::jobs {

// kubeflow.org/v1 TFJob: parameter servers, workers, a chief and evaluators, each type with its own needs,
// that find each other by TF_CONFIG. Source: training-operator v1.9.4, pkg/controller.v1/tensorflow and
// pkg/webhooks/tensorflow.
//
//   what ends the job          successPolicy ""          AllWorkers
//   a Chief (or Master)        the chief succeeds        the same
//   none                       worker 0 succeeds,        all workers succeed
//                              or all workers do
//   neither chief nor worker   all pods succeed; upstream's job never ends
//
// A failed pod of any type fails the job, or restarts it where it may be replaced. A success that was seen
// stands, whatever fails beside it; upstream writes both conditions then. With enableDynamicWorker the job
// goes on without a worker that may not be replaced, as long as it can still succeed; upstream's goes on for
// ever.
class TFJob : public Framework {
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
