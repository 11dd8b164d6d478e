#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "json/doc.h"
#include "kube/api/resource.h"

namespace lockstep::jobs {

// What is fixed for one kind of job. Source: training-operator pkg/apis/kubeflow.org/v1/<framework>_types.go
// and <framework>_defaults.go.
struct Kind {
  const kube::Resource& resource;
  std::string_view role_specs;  // the field of spec that holds the roles: "pytorchReplicaSpecs"
  std::span<const std::string_view>
      types;                        // of replicas, in upstream's spelling and in the order of Job::roles
  bool any_case;                    // a manifest may write the types in any case
  int64_t fewest_replicas;          // of one type; a type with none is no role
  std::string_view container;       // trains: its ports are the service's, its exit code decides
  std::string_view port_name;       // the port by which replicas reach each other, added to that
  int32_t port;                     // container where none has the name
  std::string_view restart_policy;  // where the manifest says none
  bool scales;                      // has a scale subresource, whose selector stands in the status
};

// The type that `key` of the role specs means, in upstream's spelling; "" if none.
std::string_view TypeOf(const Kind& kind, std::string_view key);

// The role specs of a job object, as written; null where they are missing or no object.
const json::Doc* RoleSpecs(const Kind& kind, const json::Doc& object);

}  // namespace lockstep::jobs
