#include "cluster/admission.h"

#include "cluster/world.h"

namespace lockstep::cluster {

std::span<const kube::Resource* const> AdmissionResources() {
  static constexpr const kube::Resource* kAll[] = {
      &kube::kNamespaces,         &kube::kLimitRanges,
      &kube::kPriorityClasses,    &kube::kRuntimeClasses,
      &kube::kMutatingWebhooks,   &kube::kValidatingWebhooks,
      &kube::kMutatingPolicies,   &kube::kMutatingPolicyBindings,
      &kube::kValidatingPolicies, &kube::kValidatingPolicyBindings};
  return kAll;
}

bool TakeInAdmission(World& world, const Observed& observed) {
  for (const kube::Resource* resource : AdmissionResources()) {
    if (resource != observed.resource) continue;
    bool of_one = resource == &kube::kNamespaces || resource == &kube::kLimitRanges;
    std::string ns = of_one ? json::GetString(*observed.object,
                                              resource->namespaced ? "metadata.namespace" : "metadata.name")
                            : "";
    if (of_one) {
      world.admission.Changed(ns);
    } else {
      world.admission.Changed();
    }
    world.TouchAll(ns);
    return true;
  }
  return false;
}

}  // namespace lockstep::cluster
