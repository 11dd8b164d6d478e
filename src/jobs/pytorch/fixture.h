#pragma once

#include "jobs/testing.h"

// Builders for tests of PyTorchJob.
namespace lockstep::jobs {

inline const Framework& PyTorch() { return *FrameworkOf(kube::kPyTorchJobs); }

inline json::Doc ReplicaSpec(int32_t replicas, const std::string& restart_policy) {
  return RoleDoc("pytorch", replicas, restart_policy);
}

// ml/bert with a Master and `workers` workers; no Master where `master` is false.
inline json::Doc JobDoc(int32_t workers, const std::string& restart_policy = "", bool master = true) {
  json::Doc specs = json::Doc::object();
  if (master) specs["Master"] = ReplicaSpec(1, restart_policy);
  if (workers > 0) specs["Worker"] = ReplicaSpec(workers, restart_policy);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "PyTorchJob"},
          {"metadata", {{"name", "bert"}, {"namespace", "ml"}, {"uid", "uid-1"}}},
          {"spec", {{"pytorchReplicaSpecs", std::move(specs)}}}};
}

}  // namespace lockstep::jobs
