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

void TakeInQuota(World& world, const Observed& observed) {
  std::string ns = json::GetString(*observed.object, "metadata.namespace");
  bool limited = world.quotas.any(ns);
  world.quotas.TakeIn(*observed.object, observed.gone);
  if (world.quotas.any(ns) != limited) world.TouchAll(ns);  // which gangs are alike has changed
  // Templates that a full quota kept from being checked.
  std::string prefix = "checks/" + ns + "/";
  for (auto check = world.checks.lower_bound(prefix);
       check != world.checks.end() && check->first.starts_with(prefix); ++check) {
    if (!check->second.quota_refusal) continue;
    if (!world.gangs.contains(check->second.asker)) return world.TouchAll(ns);
    world.Touch(check->second.asker);
  }
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
