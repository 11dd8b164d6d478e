#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/doc.h"
#include "kube/api/resource.h"
#include "kube/model/meta.h"

namespace lockstep::jobs {

// A gang of more pods is refused: its placement would not fit an object.
inline constexpr int64_t kMaxGangPods = 20000;

enum class CleanPodPolicy { kNone, kRunning, kAll };

// spec.runPolicy, as far as this version acts on it.
struct RunPolicy {
  CleanPodPolicy clean_pods = CleanPodPolicy::kNone;
  std::optional<int32_t> backoff_limit;
  bool suspend = false;
  std::string managed_by;
};

// One replica type of a job.
struct Role {
  std::string type;  // "Master", in upstream's spelling
  int32_t replicas = 1;
  std::string restart_policy;  // Always, OnFailure, Never, ExitCode
  json::DocPtr pod_template;   // as the user wrote it
};

class Framework;

// A valid job, defaults applied. `framework` knows the rest. Cheap to copy: documents are shared.
struct Job {
  const Framework* framework = nullptr;
  kube::Meta meta;
  std::vector<Role> roles;  // in the framework's own order; only types with at least one replica
  RunPolicy run_policy;
  json::DocPtr spec;    // the whole spec as the user wrote it
  json::DocPtr status;  // as last observed; an object, maybe empty

  int32_t pods() const;
  // Null if the job has no pod of this type: a role that an edit added to a running job has none until its
  // next start.
  const Role* role(std::string_view type) const;
  // Only jobs that nobody else manages are ours (spec.runPolicy.managedBy). Of the others nothing but `meta`,
  // `spec`, `status` and `run_policy.managed_by` is read: they may even break our validation.
  bool ours() const {
    return run_policy.managed_by.empty() || run_policy.managed_by == "kubeflow.org/training-operator";
  }
};

// A job that breaks validation: every broken field with what would be right.
struct InvalidJob {
  kube::Meta meta;
  json::DocPtr status;
  std::vector<std::string> errors;  // "spec.pytorchReplicaSpecs.Master.replicas: must be 1, is 2"
};

}  // namespace lockstep::jobs
