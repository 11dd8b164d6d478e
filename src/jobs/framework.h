#pragma once

#include <span>
#include <variant>

#include "jobs/job.h"
#include "kube/model/pod.h"

namespace lockstep::jobs {

// How many pods of one role are where, counted as upstream counts them: Running is active; Running with a
// deletionTimestamp is failed; Pending and Unknown are nowhere.
struct RoleCounts {
  int32_t active = 0, succeeded = 0, failed = 0;
  bool retryable_failure = false;  // some failed pod may be replaced (ExitCode: code >= 128 or none)
  bool permanent_failure = false;  // some failed pod may not (restartPolicy Never; ExitCode 1 to 127)

  friend bool operator==(const RoleCounts&, const RoleCounts&) = default;
};

// Counts one pod. `exit_code` is that of the framework's own container, if it has terminated; without one
// (evicted, node lost) ExitCode counts as retryable. Source: training-operator pkg/core/{pod,status}.go.
void CountPod(RoleCounts& counts, std::string_view restart_policy, kube::PodPhase phase, bool deleting,
              std::optional<int32_t> exit_code);

enum class Verdict { kGoesOn, kSucceeded, kFailed, kRestart };

// One kind of job: its defaults, validation, pods, services, success and failure. Stateless and pure.
class Framework {
 public:
  virtual ~Framework() = default;

  virtual const kube::Resource& resource() const = 0;
  // The container that trains: its ports are the service's, its exit code decides with ExitCode.
  virtual std::string_view container() const = 0;

  virtual std::variant<Job, InvalidJob> Read(const json::Doc& object) const = 0;

  // The pod as upstream makes it, for attempt 1: name, labels, owner, environment, ports, init container.
  // The name may be longer than 63 characters; StampPod shortens it.
  virtual json::Doc PodFor(const Job& job, size_t role, int32_t index) const = 0;
  // The headless service of one replica.
  virtual json::Doc ServiceFor(const Job& job, size_t role, int32_t index) const = 0;
  // Whether some rank looks this service up (MASTER_ADDR, rendezvous): it must exist before the first pod.
  virtual bool LookedUp(const Job& job, size_t role, int32_t index) const = 0;

  // What the pods' ends mean for the job; `counts` has one entry per role. Never both success and failure:
  // a success that was seen is final. `failed_role` is set with kFailed and kRestart.
  virtual Verdict Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const = 0;

  // Upstream's condition messages, which differ by kind.
  virtual std::string RunningMessage(const Job& job) const = 0;
  virtual std::string SucceededMessage(const Job& job) const = 0;
  virtual std::string FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const = 0;
};

// The framework of a kind, or null. `lockstep` has exactly these.
std::span<const Framework* const> AllFrameworks();
const Framework* FrameworkOf(const kube::Resource& resource);

}  // namespace lockstep::jobs
