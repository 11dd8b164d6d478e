#pragma once

#include <span>
#include <variant>

#include "jobs/job.h"
#include "jobs/kind.h"
#include "kube/model/pod.h"

namespace lockstep::jobs {

// How many pods of one role are where, counted as upstream counts them: Running is active; Running with a
// deletionTimestamp is failed; Pending and Unknown are nowhere.
struct RoleCounts {
  int32_t active = 0, succeeded = 0, failed = 0;
  bool retryable_failure = false;       // some failed pod may be replaced (ExitCode: code >= 128 or none)
  bool permanent_failure = false;       // some failed pod may not (restartPolicy Never; ExitCode 1 to 127)
  std::optional<bool> first_succeeded;  // how the pod of index 0 ended; none while it has not

  friend bool operator==(const RoleCounts&, const RoleCounts&) = default;
};

// Counts one pod. `exit_code` is that of the framework's own container, if it has terminated; without one
// (evicted, node lost) ExitCode counts as retryable. Source: training-operator pkg/core/{pod,status}.go.
void CountPod(RoleCounts& counts, std::string_view restart_policy, kube::PodPhase phase, bool deleting,
              std::optional<int32_t> exit_code);

enum class Verdict { kGoesOn, kSucceeded, kFailed, kRestart };

// The verdict on failed pods, the same for every kind: one that may not be replaced fails the job, else one
// that may restarts it, all of its pods together. `failed_role` is set with both; of several the first.
Verdict JudgeFailures(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role);

// The counts of one role, or null if the job has no pod of this type.
const RoleCounts* CountsOf(const Job& job, std::span<const RoleCounts> counts, std::string_view type);
// Whether every pod of that role has succeeded. False without such a role.
bool AllSucceeded(const Job& job, std::span<const RoleCounts> counts, std::string_view type);

// One kind of job: its defaults, validation, pods, services, success and failure. Stateless and pure.
class Framework {
 public:
  virtual ~Framework() = default;

  virtual const Kind& kind() const = 0;
  const kube::Resource& resource() const { return kind().resource; }

  virtual std::variant<Job, InvalidJob> Read(const json::Doc& object) const = 0;

  // The pod as upstream makes it, for attempt 1: name, labels, owner, environment, ports, init container.
  // The name may be longer than 63 characters; StampPod shortens it.
  virtual json::Doc PodFor(const Job& job, size_t role, int32_t index) const = 0;
  // Whether some rank looks the service of this replica up (MASTER_ADDR, rendezvous, TF_CONFIG): it must
  // exist before the first pod.
  virtual bool LookedUp(const Job& job, size_t role, int32_t index) const = 0;

  // What the pods' ends mean for the job; `counts` has one entry per role. Never both success and failure:
  // a success that was seen is final. `failed_role` is set with kFailed and kRestart.
  virtual Verdict Judge(const Job& job, std::span<const RoleCounts> counts, size_t* failed_role) const = 0;

  // Upstream's condition messages, which differ by kind. `FailedMessage` is not asked where an exit code was
  // final: that is told the same way for all.
  virtual std::string RunningMessage(const Job& job) const = 0;
  virtual std::string SucceededMessage(const Job& job) const = 0;
  virtual std::string FailedMessage(const Job& job, size_t role, const RoleCounts& counts) const = 0;
};

// `lockstep` has exactly these.
std::span<const Framework* const> AllFrameworks();
// The framework of a kind, or null.
const Framework* FrameworkOf(const kube::Resource& resource);
// By the word with which people name a kind: "pytorchjob", singular or plural, in any case. Null if none.
const Framework* FrameworkNamed(std::string_view word);
// "pytorchjob or tfjob", for messages.
std::string FrameworkNames();

}  // namespace lockstep::jobs
