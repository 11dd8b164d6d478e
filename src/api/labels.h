#pragma once

#include <string_view>

// Labels, annotations and environment names that Lockstep writes or reads.
namespace lockstep::api {

inline constexpr std::string_view kAttemptLabel = "lockstep.dev/attempt";
inline constexpr std::string_view kAttemptEnv = "LOCKSTEP_ATTEMPT";
// On a pod that waits for its binding: the generation of the job it was made of.
inline constexpr std::string_view kGenerationAnnotation = "lockstep.dev/job-generation";
// spec.schedulerName of the pods that we bind.
inline constexpr std::string_view kSchedulerName = "lockstep";
// With these a pod asks the cluster-autoscaler and Karpenter to leave its node alone.
inline constexpr std::string_view kSafeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr std::string_view kDoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt";
// On the job: "attempt/policy/fault", a copy of the Gang's counters that survives the Gang's deletion.
inline constexpr std::string_view kCountersAnnotation = "lockstep.dev/counters";

// Upstream's labels. Source: training-operator pkg/apis/kubeflow.org/v1/common_types.go.
inline constexpr std::string_view kOperatorNameLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";
inline constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";

}  // namespace lockstep::api
