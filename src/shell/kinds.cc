#include "shell/kinds.h"

#include <algorithm>

#include "api/labels.h"
#include "cluster/admission.h"
#include "jobs/framework.h"

namespace lockstep::shell {

bool IsAdmission(const kube::Resource& resource) {
  return std::ranges::find(cluster::AdmissionResources(), &resource) != cluster::AdmissionResources().end();
}

std::vector<WatchedKind> WatchedKinds(const std::string& ns) {
  std::vector<WatchedKind> kinds;
  for (const kube::Resource* resource : cluster::AdmissionResources())
    kinds.push_back({resource, {resource->namespaced ? ns : "", "", ""}});
  kinds.push_back({&kube::kNodes, {}});
  kinds.push_back({&kube::kPods, {}});
  // What decides where pods with volumes may run, and which pods are still to come to a node.
  for (const kube::Resource* resource :
       {&kube::kPersistentVolumeClaims, &kube::kPersistentVolumes, &kube::kStorageClasses, &kube::kCSINodes,
        &kube::kVolumeAttachments, &kube::kDaemonSets})
    kinds.push_back({resource, {}});
  kinds.push_back({&kube::kServices, {ns, std::string(api::kOperatorNameLabel), ""}});
  kinds.push_back({&kube::kGangs, {ns, "", ""}});
  kinds.push_back({&kube::kPodGroups, {ns, "", ""}});  // where scheduler-plugins' CRD is
  kinds.push_back({&kube::kResourceQuotas, {ns, "", ""}});
  for (const jobs::Framework* framework : jobs::AllFrameworks())
    kinds.push_back({&framework->resource(), {ns, "", ""}});
  return kinds;
}

}  // namespace lockstep::shell
