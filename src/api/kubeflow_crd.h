#pragma once

#include <string>

#include "json/doc.h"
#include "kube/api/resource.h"

// What the kinds of kubeflow.org/v1 have in common. Source: training-operator manifests/base/crds and
// pkg/apis/kubeflow.org/v1/common_types.go.
namespace lockstep::api {

// One replica type; `restart_default` is the restartPolicy of a manifest that names none.
json::Doc ReplicaSpecSchema(const std::string& restart_default);
// spec.runPolicy
json::Doc RunPolicySchema();
// metav1.LabelSelector
json::Doc LabelSelectorSchema(std::string description);

// The whole definition: names, upstream's columns, the common status.
json::Doc KubeflowCrd(const kube::Resource& resource, std::string description, json::Doc spec);

}  // namespace lockstep::api
