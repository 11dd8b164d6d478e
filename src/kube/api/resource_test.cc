#include "kube/api/resource.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::kube {
namespace {

TEST(Resource, CoreGroupHasNoNameInPathOrVersion) {
  EXPECT_EQ(kPods.ApiVersion(), "v1");
  EXPECT_EQ(kPods.PathPrefix(), "/api/v1");
  EXPECT_EQ(kLeases.ApiVersion(), "coordination.k8s.io/v1");
  EXPECT_EQ(kLeases.PathPrefix(), "/apis/coordination.k8s.io/v1");
  EXPECT_EQ(kGangs.PathPrefix(), "/apis/lockstep.dev/v1alpha1");
}

TEST(Resource, EveryKindIsFoundByItsManifestAndByItsPath) {
  std::set<std::string> paths;
  for (const Resource* resource : AllResources()) {
    EXPECT_EQ(FindResource(resource->ApiVersion(), resource->kind), resource) << resource->kind;
    EXPECT_EQ(FindResourceByPlural(resource->ApiVersion(), resource->plural), resource) << resource->plural;
    EXPECT_TRUE(paths.insert(resource->PathPrefix() + "/" + std::string(resource->plural)).second);
  }
  EXPECT_EQ(paths.size(), 29u);
}

TEST(Resource, TheVersionAndGroupMustFit) {
  EXPECT_EQ(FindResource("kubeflow.org/v1", "PyTorchJob"), &kPyTorchJobs);
  EXPECT_EQ(FindResource("kubeflow.org/v1", "TFJob"), &kTFJobs);
  EXPECT_EQ(FindResource("kubeflow.org/v2", "PyTorchJob"), nullptr);
  EXPECT_EQ(FindResource("v1", "PyTorchJob"), nullptr);
  EXPECT_EQ(FindResource("/v1", "Pod"), nullptr);
  EXPECT_EQ(FindResource("apps/v1", "Pod"), nullptr);
  EXPECT_EQ(FindResource("", "Pod"), nullptr);
  EXPECT_EQ(FindResource("v1", "pods"), nullptr);
}

TEST(Resource, ScopeFollowsKubernetes) {
  for (const Resource* cluster :
       {&kNodes, &kNamespaces, &kPriorityClasses, &kPersistentVolumes, &kCustomResourceDefinitions}) {
    EXPECT_FALSE(cluster->namespaced) << cluster->kind;
  }
  for (const Resource* spaced : {&kPods, &kServices, &kEvents, &kLeases, &kResourceQuotas, &kGangs}) {
    EXPECT_TRUE(spaced->namespaced) << spaced->kind;
  }
}

}  // namespace
}  // namespace lockstep::kube
