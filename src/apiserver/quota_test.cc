#include "apiserver/quota.h"

#include <gmock/gmock.h>

#include "apiserver/test_server.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Response;
using ::testing::HasSubstr;

Doc UsedOf(TestServer& api, const std::string& quota) {
  return api.Stored(kube::kResourceQuotas, quota)["status"]["used"];
}

void MakeQuota(TestServer& api, const std::string& name, const Doc& spec) {
  api.Create(kube::kResourceQuotas, {{"metadata", {{"name", name}}}, {"spec", spec}});
  api.Settle();
}

TEST(Quota, APodTooManyIsForbiddenAndUsageIsShown) {
  TestServer api;
  api.Create(kube::kResourceQuotas,
             {{"metadata", {{"name", "q"}}},
              {"spec", {{"hard", {{"pods", "2"}, {"requests.nvidia.com/gpu", "4"}}}}}});
  Doc pod = PodDoc("a");
  EXPECT_TRUE(api.Create(kube::kPods, PodDoc("early")).status.ok()) << "not in force before it is counted";
  api.Delete(kube::kPods, "early", 0);
  api.Settle();
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpu", "3"}};
  EXPECT_TRUE(api.Create(kube::kPods, pod).status.ok());

  pod["metadata"]["name"] = "b";
  Response refused = api.Create(kube::kPods, pod);
  EXPECT_EQ(refused.status.code, 403);
  EXPECT_EQ(refused.status.message,
            "pods \"b\" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=3, used: "
            "requests.nvidia.com/gpu=3, limited: requests.nvidia.com/gpu=4");
  EXPECT_EQ(api.Create(kube::kPods, pod, true).status.code, 403) << "dry runs are checked";
  api.Settle();
  EXPECT_EQ(api.Stored(kube::kResourceQuotas, "q")["status"]["used"],
            Doc({{"pods", "1"}, {"requests.nvidia.com/gpu", "3"}}));

  api.Patch(kube::kPods, "a", {{"status", {{"phase", "Succeeded"}}}}, "status");
  EXPECT_EQ(api.Create(kube::kPods, pod).status.code, 403) << "the controller has not counted yet";
  api.Settle();
  EXPECT_TRUE(api.Create(kube::kPods, pod).status.ok()) << "a terminal pod counts no more";
}

TEST(Quota, WhatIsLimitedMustBeAskedFor) {
  TestServer api;
  api.Create(kube::kResourceQuotas, {{"metadata", {{"name", "q"}}}, {"spec", {{"hard", {{"cpu", "2"}}}}}});
  api.Settle();
  EXPECT_THAT(api.Create(kube::kPods, PodDoc("a")).status.message,
              HasSubstr("failed quota: q: must specify cpu"));
  api.ns = "elsewhere";
  EXPECT_TRUE(api.Create(kube::kPods, PodDoc("a")).status.ok());
}

TEST(Quota, WhatIsLetInIsUsedAtOnceWhatGoesIsCountedLater) {
  TestServer api;
  MakeQuota(api, "q", {{"hard", {{"pods", "2"}, {"count/pods", "9"}}}});
  api.Create(kube::kPods, PodDoc("a"));
  EXPECT_EQ(UsedOf(api, "q"), Doc({{"pods", "1"}, {"count/pods", "1"}}));
  api.Create(kube::kPods, PodDoc("b"), /*dry_run=*/true);
  EXPECT_EQ(UsedOf(api, "q")["pods"], "1");
  api.Patch(kube::kPods, "a", {{"status", {{"phase", "Failed"}}}}, "status");
  EXPECT_EQ(UsedOf(api, "q")["pods"], "1");
  api.Settle();
  EXPECT_EQ(UsedOf(api, "q"), Doc({{"pods", "0"}, {"count/pods", "1"}}))
      << "an object is one while it is there";
}

TEST(Quota, ScopesSelect) {
  TestServer api;
  MakeQuota(api, "idle", {{"hard", {{"pods", "0"}}}, {"scopes", Doc::array({"BestEffort"})}});
  EXPECT_THAT(api.Create(kube::kPods, PodDoc("a")).status.message, HasSubstr("exceeded quota: idle"));
  Doc pod = PodDoc("b");
  pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "1"}};
  EXPECT_TRUE(api.Create(kube::kPods, pod).status.ok());
}

TEST(Quota, ServicesAreObjectsToo) {
  TestServer api;
  MakeQuota(api, "q", {{"hard", {{"count/services", "1"}}}});
  Doc service = {{"metadata", {{"name", "s"}}},
                 {"spec", {{"clusterIP", "None"}, {"ports", Doc::array({{{"port", 80}}})}}}};
  EXPECT_TRUE(api.Create(kube::kServices, service).status.ok());
  service["metadata"]["name"] = "t";
  EXPECT_THAT(api.Create(kube::kServices, service).status.message,
              HasSubstr("exceeded quota: q, requested: count/services=1, used: count/services=1"));
  EXPECT_TRUE(api.Create(kube::kPods, PodDoc("a")).status.ok());
}

}  // namespace
}  // namespace lockstep::apiserver
