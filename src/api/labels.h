#pragma once

#include <string_view>

// Labels, annotations and environment names that Lockstep writes or reads.
namespace lockstep::api {

inline constexpr std::string_view kAttemptLabel = "lockstep.dev/attempt";
inline constexpr std::string_view kAttemptEnv = "LOCKSTEP_ATTEMPT";
// On the job: "attempt/policy/fault", a copy of the Gang's counters that survives the Gang's deletion.
inline constexpr std::string_view kCountersAnnotation = "lockstep.dev/counters";

// Upstream's labels. Source: training-operator pkg/apis/kubeflow.org/v1/common_types.go.
inline constexpr std::string_view kOperatorNameLabel = "training.kubeflow.org/operator-name";
inline constexpr std::string_view kJobNameLabel = "training.kubeflow.org/job-name";
inline constexpr std::string_view kJobRoleLabel = "training.kubeflow.org/job-role";
inline constexpr std::string_view kReplicaTypeLabel = "training.kubeflow.org/replica-type";
inline constexpr std::string_view kReplicaIndexLabel = "training.kubeflow.org/replica-index";

}  // namespace lockstep::api
