#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::kube {

// One kind of object as the API server names it.
struct Resource {
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;

  std::string ApiVersion() const;  // "v1", "kubeflow.org/v1"
  // "/api/v1" or "/apis/<group>/<version>"
  std::string PathPrefix() const;
};

// Resources are compared by address: use these constants.
extern const Resource kPods, kNodes, kServices, kEvents, kNamespaces, kConfigMaps, kServiceAccounts, kLeases,
    kPriorityClasses, kResourceQuotas, kLimitRanges, kRuntimeClasses, kMutatingWebhooks, kValidatingWebhooks,
    kMutatingPolicies, kMutatingPolicyBindings, kValidatingPolicies, kValidatingPolicyBindings,
    kPersistentVolumes, kPersistentVolumeClaims, kStorageClasses, kCSINodes, kVolumeAttachments, kDaemonSets,
    kCustomResourceDefinitions, kPodGroups, kPyTorchJobs, kTFJobs, kGangs;

std::span<const Resource* const> AllResources();
// By kind and apiVersion of a manifest; null if unknown here.
const Resource* FindResource(std::string_view api_version, std::string_view kind);
// By the parts of a request's path; null if unknown here.
const Resource* FindResourceByPlural(std::string_view api_version, std::string_view plural);

}  // namespace lockstep::kube
