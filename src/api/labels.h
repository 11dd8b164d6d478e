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
// Pods that no job of ours made: the gang they start with, how many it has, and the gate that holds them
// until then. A gated pod is steered to a node; which role of its gang it was before is kept with that.
inline constexpr std::string_view kGangLabel = "lockstep.dev/gang";
inline constexpr std::string_view kGangSizeLabel = "lockstep.dev/gang-size";
inline constexpr std::string_view kGangGate = "lockstep.dev/gang";
inline constexpr std::string_view kSeatAnnotation = "lockstep.dev/seat";
inline constexpr std::string_view kRoleAnnotation = "lockstep.dev/seat-role";
// Source: sigs.k8s.io/scheduler-plugins apis/scheduling/v1alpha1.
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
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
