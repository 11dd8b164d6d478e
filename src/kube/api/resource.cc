#include "kube/api/resource.h"

#include <algorithm>
#include <iterator>

namespace lockstep::kube {

const Resource kPods{"", "v1", "pods", "Pod", true};
const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kServices{"", "v1", "services", "Service", true};
const Resource kEvents{"", "v1", "events", "Event", true};
const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
const Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
const Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
const Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false};
const Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota", true};
const Resource kLimitRanges{"", "v1", "limitranges", "LimitRange", true};
const Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};
const Resource kMutatingWebhooks{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                 "MutatingWebhookConfiguration", false};
const Resource kValidatingWebhooks{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                   "ValidatingWebhookConfiguration", false};
const Resource kMutatingPolicies{"admissionregistration.k8s.io", "v1beta1", "mutatingadmissionpolicies",
                                 "MutatingAdmissionPolicy", false};
const Resource kMutatingPolicyBindings{"admissionregistration.k8s.io", "v1beta1",
                                       "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding",
                                       false};
const Resource kValidatingPolicies{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
                                   "ValidatingAdmissionPolicy", false};
const Resource kValidatingPolicyBindings{"admissionregistration.k8s.io", "v1",
                                         "validatingadmissionpolicybindings",
                                         "ValidatingAdmissionPolicyBinding", false};
const Resource kPersistentVolumes{"", "v1", "persistentvolumes", "PersistentVolume", false};
const Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
const Resource kStorageClasses{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false};
const Resource kCSINodes{"storage.k8s.io", "v1", "csinodes", "CSINode", false};
const Resource kVolumeAttachments{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false};
const Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet", true};
const Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};
const Resource kPyTorchJobs{"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", true};
const Resource kTFJobs{"kubeflow.org", "v1", "tfjobs", "TFJob", true};
const Resource kPodGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true};
const Resource kGangs{"lockstep.dev", "v1alpha1", "gangs", "Gang", true};

namespace {

constexpr const Resource* kAll[] = {
    &kPods,
    &kNodes,
    &kServices,
    &kEvents,
    &kNamespaces,
    &kConfigMaps,
    &kServiceAccounts,
    &kLeases,
    &kPriorityClasses,
    &kResourceQuotas,
    &kLimitRanges,
    &kRuntimeClasses,
    &kMutatingWebhooks,
    &kValidatingWebhooks,
    &kMutatingPolicies,
    &kMutatingPolicyBindings,
    &kValidatingPolicies,
    &kValidatingPolicyBindings,
    &kPersistentVolumes,
    &kPersistentVolumeClaims,
    &kStorageClasses,
    &kCSINodes,
    &kVolumeAttachments,
    &kDaemonSets,
    &kCustomResourceDefinitions,
    &kPyTorchJobs,
    &kTFJobs,
    &kPodGroups,
    &kGangs,
};

// Compares "group/version" or "version" with the parts, without building a string.
bool Serves(const Resource& resource, std::string_view api_version) {
  size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return resource.group.empty() && api_version == resource.version;
  return resource.group == api_version.substr(0, slash) && !resource.group.empty() &&
         resource.version == api_version.substr(slash + 1);
}

template <class Match>
const Resource* FindWhere(Match match) {
  auto found = std::find_if(std::begin(kAll), std::end(kAll), match);
  return found == std::end(kAll) ? nullptr : *found;
}

}  // namespace

std::string Resource::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::PathPrefix() const { return (group.empty() ? "/api/" : "/apis/") + ApiVersion(); }

std::span<const Resource* const> AllResources() { return kAll; }

const Resource* FindResource(std::string_view api_version, std::string_view kind) {
  return FindWhere([&](const Resource* r) { return r->kind == kind && Serves(*r, api_version); });
}

const Resource* FindResourceByPlural(std::string_view api_version, std::string_view plural) {
  return FindWhere([&](const Resource* r) { return r->plural == plural && Serves(*r, api_version); });
}

}  // namespace lockstep::kube
