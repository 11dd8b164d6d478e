#pragma once

#include "jobs/testing.h"

// Builders for tests of TFJob.
namespace lockstep::jobs {

inline const Framework& TensorFlow() { return *FrameworkOf(kube::kTFJobs); }

// ml/bert with so many replicas of each type: TFJobDoc({{"PS", 2}, {"Worker", 4}}).
inline json::Doc TFJobDoc(const std::map<std::string, int32_t>& replicas,
                          const std::string& restart_policy = "") {
  json::Doc specs = json::Doc::object();
  for (const auto& [type, count] : replicas) specs[type] = RoleDoc("tensorflow", count, restart_policy);
  return {{"apiVersion", "kubeflow.org/v1"},
          {"kind", "TFJob"},
          {"metadata", {{"name", "bert"}, {"namespace", "ml"}, {"uid", "uid-1"}}},
          {"spec", {{"tfReplicaSpecs", std::move(specs)}}}};
}

// The index of a type among the roles of a job.
inline size_t At(const Job& job, std::string_view type) {
  const Role* role = job.role(type);
  EXPECT_NE(role, nullptr) << type;
  return role == nullptr ? 0 : static_cast<size_t>(role - job.roles.data());
}

// The value of TF_CONFIG of one replica; "" if it has none.
inline std::string ConfigOf(const Job& job, std::string_view type, int32_t index) {
  for (const std::string& variable : EnvOf(TensorFlow().PodFor(job, At(job, type), index))) {
    if (variable.starts_with("TF_CONFIG=")) return variable.substr(10);
  }
  return "";
}

}  // namespace lockstep::jobs
