// The cases of apiserver/conformance.h against the real kube-apiserver of $KUBECONFIG: what the server in
// memory promises must be what Kubernetes does.
#include "apiserver/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "base/real_loop.h"
#include "kube/client/http_api.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Verb;

// As much of the PyTorchJob CRD as the cases need: a status subresource, and any spec.
Doc JobDefinition() {
  Doc open = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  Doc schema = {{"type", "object"}, {"properties", {{"spec", open}, {"status", open}}}};
  Doc version = {{"name", "v1"},
                 {"served", true},
                 {"storage", true},
                 {"subresources", {{"status", Doc::object()}}},
                 {"schema", {{"openAPIV3Schema", schema}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "pytorchjobs.kubeflow.org"}}},
          {"spec",
           {{"group", "kubeflow.org"},
            {"scope", "Namespaced"},
            {"names", {{"kind", "PyTorchJob"}, {"plural", "pytorchjobs"}, {"singular", "pytorchjob"}}},
            {"versions", Doc::array({version})}}}};
}

TEST(KubeConformance, TheRealServerPassesEveryCase) {
  Result<kube::ClientConfig> config = kube::LoadKubeconfig();
  ASSERT_TRUE(config.ok()) << config.error().message;
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  Ground ground{api, "conformance", [&](const std::function<bool()>& done, Duration limit) {
                  return loop.RunUntilTrue(done, limit);
                }};
  Session setup(ground, "setup");
  Doc ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "conformance"}}}};
  ASSERT_EQ(setup.Create(kube::kNamespaces, ns).status.code, 201);
  kube::Status made = setup.Create(kube::kCustomResourceDefinitions, JobDefinition()).status;
  ASSERT_TRUE(made.ok() || made.already_exists()) << made.message;
  MonoTime give_up = loop.now().mono + seconds(30);
  while (!setup.Send(setup.Make(Verb::kList, kube::kPyTorchJobs, "")).status.ok()) {
    ASSERT_LT(loop.now().mono, give_up) << "the CRD is never served";
  }

  std::vector<std::string> differences = RunConformance(ground);

  for (const std::string& difference : differences) std::cout << difference << "\n";
  EXPECT_THAT(differences, ::testing::IsEmpty());
}

}  // namespace
}  // namespace lockstep::apiserver
