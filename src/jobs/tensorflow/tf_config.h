#pragma once

#include <string>

#include "jobs/job.h"
#include "jobs/kind.h"

namespace lockstep::jobs::tensorflow {

inline constexpr std::string_view kChief = "Chief", kEvaluator = "Evaluator", kMaster = "Master", kPS = "PS",
                                  kWorker = "Worker";
// The order of upstream's judgement, and that of the letters, in which TF_CONFIG lists the types.
inline constexpr std::string_view kTypes[] = {kChief, kEvaluator, kMaster, kPS, kWorker};

inline constexpr Kind kKind{.resource = kube::kTFJobs,
                            .role_specs = "tfReplicaSpecs",
                            .types = kTypes,
                            .any_case = true,
                            .fewest_replicas = 0,
                            .container = "tensorflow",
                            .port_name = "tfjob-port",
                            .port = 2222,
                            .restart_policy = "Never",
                            .scales = false};

// Where there is one it is the chief worker, else worker 0. "Master" is the older name of "Chief".
bool HasChief(const Job& job);

// A job of one replica trains alone: it gets no TF_CONFIG.
bool IsDistributed(const Job& job);

// spec.enableDynamicWorker: workers may come and go, so each rank is told only what it must know.
bool HasDynamicWorkers(const Job& job);

// The value of TF_CONFIG for one replica, to the byte as upstream's Go program prints it:
//   {"cluster":{"ps":["j-ps-0.ns.svc:2222"],"worker":["j-worker-0.ns.svc:2222"]},
//    "task":{"type":"worker","index":0},"environment":"cloud"}
// With dynamic workers a worker sees all parameter servers and of the workers itself, a parameter server
// itself, the others nobody, and "environment" is left out. One difference: where there are no parameter
// servers, such a worker is told of an empty list; upstream's `null` is refused by TensorFlow. Source:
// pkg/controller.v1/tensorflow/tensorflow.go; its $CUSTOM_CLUSTER_DOMAIN is not supported.
std::string TfConfig(const Job& job, const Role& role, int32_t index);

}  // namespace lockstep::jobs::tensorflow
