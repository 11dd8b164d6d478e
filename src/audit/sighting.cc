#include "audit/sighting.h"

namespace lockstep::audit {

namespace {

const kube::Resource kMpiJobs{"kubeflow.org", "v2beta1", "mpijobs", "MPIJob", true};
const kube::Resource kXgboostJobs{"kubeflow.org", "v1", "xgboostjobs", "XGBoostJob", true};
const kube::Resource kPaddleJobs{"kubeflow.org", "v1", "paddlejobs", "PaddleJob", true};
const kube::Resource kJaxJobs{"kubeflow.org", "v1", "jaxjobs", "JAXJob", true};
const kube::Resource kBatchJobs{"batch", "v1", "jobs", "Job", true};
const kube::Resource kVolcanoJobs{"batch.volcano.sh", "v1alpha1", "jobs", "Job", true};
const kube::Resource kVolcanoGroups{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", true};
const kube::Resource kPluginsGroups{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true};
const kube::Resource kNativeGroups{"scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup", true};

const WatchedKind kWatched[] = {
    {&kube::kPods, /*needed=*/true},
    {&kube::kNodes, /*needed=*/true},
    {&kube::kGangs},
    {&kube::kPyTorchJobs},
    {&kube::kTFJobs},
    {&kMpiJobs},
    {&kXgboostJobs},
    {&kPaddleJobs},
    {&kJaxJobs},
    {&kBatchJobs},
    {&kVolcanoJobs},
    {&kVolcanoGroups},
    {&kPluginsGroups},
    {&kNativeGroups},
    {&kube::kServices},
    {&kube::kEvents},
};

}  // namespace

std::span<const WatchedKind> WatchedKinds() { return kWatched; }

}  // namespace lockstep::audit
