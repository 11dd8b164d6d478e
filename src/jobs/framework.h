#pragma once

#include <span>
#include <variant>

#include "jobs/job.h"

namespace lockstep::jobs {

// How many pods of one role are where, counted as upstream counts them: Running is active; Running with a
// deletionTimestamp is failed; Pending and Unknown are nowhere.
struct RoleCounts {
  int32_t active = 0, succeeded = 0, failed = 0;
  bool retryable_failure = false;  // some failed pod may be replaced (ExitCode: code >= 128 or none)
  bool permanent_failure = false;  // some failed pod may not (restartPolicy Never; ExitCode 1 to 127)

  friend bool operator==(const RoleCounts&, const RoleCounts&) = default;
};

enum class Verdict { kGoesOn, kSucceeded, kFailed, kRestart };

// One kind of job: its defaults, validation, pods, services, success and failure. Stateless and pure.
class Framework {
 public:
  virtual ~Framework() = default;

  virtual const kube::Resource& resource() const = 0;

  virtual std::variant<Job, InvalidJob> Read(const json::Doc& object) const = 0;

  // The pod as upstream makes it, for attempt 1: name, labels, owner, environment, ports, init container.
  virtual json::Doc PodFor(const Job& job, size_t role, int32_t index) const = 0;
  // The headless service of one replica.
  virtual json::Doc ServiceFor(const Job& job, size_t role, int32_t index) const = 0;
  // Whether some rank looks this service up (MASTER_ADDR, rendezvous): it must exist before the first pod.
  virtual bool LookedUp(const Job& job, size_t role, int32_t index) const = 0;

  // What the pods' ends mean for the job; `counts` has one entry per role. Never both success and failure:
  // a success that was seen is final. `failed_role` is set with kFailed and kRestart.
  virtual Verdict Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const = 0;
};

// The framework of a kind, or null. `lockstep` has exactly these.
std::span<const Framework* const> AllFrameworks();
const Framework* FrameworkOf(const kube::Resource& resource);

}  // namespace lockstep::jobs
