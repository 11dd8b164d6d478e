#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Response;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Doc Made(const Response& response) { return *json::Parse(response.body); }

// Every event of pods from the start, as "ADDED grace" where a grace period is set.
class PodEvents {
 public:
  explicit PodEvents(Server& server) {
    kube::WatchRequest watch;
    watch.resource = &kube::kPods;
    watch.resource_version = "1";
    (void)server.StartWatch(watch, [this](WatchNotice notice) {
      static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
      Doc pod = *notice.Tree();
      const Doc* grace = json::Find(pod, "metadata.deletionGracePeriodSeconds");
      seen.push_back(std::string(kNames[static_cast<int>(notice.type)]) +
                     (grace ? " " + json::Dump(*grace) : ""));
    });
  }
  std::vector<std::string> seen;
};

TEST(DeletePod, AnAssignedPodWaitsForItsKubelet) {
  TestServer api;
  PodEvents events(api.server);
  api.Create(kube::kPods, PodDoc("a", "node-1"));

  Response answer = api.Delete(kube::kPods, "a");

  EXPECT_EQ(answer.status.code, 200);
  Doc pod = Made(answer);
  EXPECT_EQ(pod["metadata"]["deletionGracePeriodSeconds"], 30);
  EXPECT_EQ(pod["metadata"]["deletionTimestamp"], FormatTime(api.now.wall + seconds(30)));
  EXPECT_EQ(pod["metadata"]["generation"], 2);
  api.Pass(minutes(5));
  EXPECT_TRUE(api.Has(kube::kPods, "a")) << "the API server itself never ends the wait";
  api.Delete(kube::kPods, "a", 0);  // what the kubelet does at the end
  EXPECT_FALSE(api.Has(kube::kPods, "a"));
  EXPECT_THAT(events.seen, ElementsAre("ADDED", "MODIFIED 30", "MODIFIED 0", "DELETED 0"));
}

TEST(DeletePod, WithoutNodeOrInATerminalPhaseItGoesAtOnce) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("unassigned"));
  EXPECT_TRUE(api.Delete(kube::kPods, "unassigned").status.ok());
  EXPECT_FALSE(api.Has(kube::kPods, "unassigned"));
  for (const char* phase : {"Succeeded", "Failed"}) {
    api.Create(kube::kPods, PodDoc("a", "node-1"));
    api.Patch(kube::kPods, "a", {{"status", {{"phase", phase}}}}, "status");
    Response answer = api.Delete(kube::kPods, "a");
    EXPECT_EQ(Made(answer)["kind"], "Pod");
    EXPECT_FALSE(api.Has(kube::kPods, "a")) << phase;
  }
}

TEST(DeletePod, AGraceMayOnlyBeShortened) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a", "node-1"));
  api.Delete(kube::kPods, "a", 20);
  std::string deadline = FormatTime(api.now.wall + seconds(20));
  uint64_t before = api.server.revision();
  api.Pass(seconds(4));

  api.Delete(kube::kPods, "a", 25);
  api.Delete(kube::kPods, "a");
  EXPECT_EQ(api.server.revision(), before) << "longer, or unsaid: nothing happens";
  EXPECT_EQ(api.Stored(kube::kPods, "a")["metadata"]["deletionTimestamp"], deadline);

  api.Delete(kube::kPods, "a", 5);
  Doc pod = api.Stored(kube::kPods, "a");
  EXPECT_EQ(pod["metadata"]["deletionGracePeriodSeconds"], 5);
  EXPECT_EQ(pod["metadata"]["deletionTimestamp"], FormatTime(api.now.wall - seconds(4) + seconds(5)))
      << "counted from the first delete";
}

TEST(DeletePod, NegativeGraceIsOneSecond) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a", "node-1"));
  api.Delete(kube::kPods, "a", -5);
  EXPECT_EQ(api.Stored(kube::kPods, "a")["metadata"]["deletionGracePeriodSeconds"], 1);
}

TEST(DeletePod, ForceMeetsAFinalizer) {
  TestServer api;
  Doc pod = PodDoc("a", "node-1");
  pod["metadata"]["finalizers"] = {"x.io/hold"};
  api.Create(kube::kPods, pod);

  api.Delete(kube::kPods, "a", 0);

  EXPECT_EQ(api.Stored(kube::kPods, "a")["metadata"]["deletionGracePeriodSeconds"], 0);
  api.Patch(kube::kPods, "a", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_FALSE(api.Has(kube::kPods, "a"));
}

TEST(DeletePod, AFinalizerThatGoesFirstLeavesTheGracePeriod) {
  TestServer api;
  Doc pod = PodDoc("a", "node-1");
  pod["metadata"]["finalizers"] = {"x.io/hold"};
  api.Create(kube::kPods, pod);
  api.Delete(kube::kPods, "a");
  api.Patch(kube::kPods, "a", {{"metadata", {{"finalizers", Doc::array()}}}});
  EXPECT_TRUE(api.Has(kube::kPods, "a"));
  api.Delete(kube::kPods, "a", 0);
  EXPECT_FALSE(api.Has(kube::kPods, "a"));
}

TEST(Delete, AnswersWithAStatusThatNamesTheObject) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  Doc answer = Made(api.Delete(kube::kPyTorchJobs, "a"));
  EXPECT_EQ(answer["kind"], "Status");
  EXPECT_EQ(answer["status"], "Success");
  EXPECT_EQ(answer["details"]["uid"], job["metadata"]["uid"]);
  EXPECT_TRUE(api.Delete(kube::kPyTorchJobs, "a").status.not_found());
}

TEST(Delete, PreconditionsProtectTheSuccessor) {
  TestServer api;
  Doc first = Made(api.Create(kube::kConfigMaps, ConfigDoc("c")));
  api.Delete(kube::kConfigMaps, "c");
  Doc second = Made(api.Create(kube::kConfigMaps, ConfigDoc("c")));
  kube::Request request = api.Make(kube::Verb::kDelete, kube::kConfigMaps, "c");
  request.precondition_uid = json::GetString(first, "metadata.uid");
  Response refused = api.Send(request);
  EXPECT_TRUE(refused.status.conflict());
  EXPECT_THAT(refused.status.message, HasSubstr("The object might have been deleted and then recreated"));

  request.precondition_uid = json::GetString(second, "metadata.uid");
  request.precondition_resource_version = "1";
  EXPECT_TRUE(api.Send(request).status.conflict());
  request.precondition_resource_version = json::GetString(second, "metadata.resourceVersion");
  EXPECT_TRUE(api.Send(request).status.ok());
}

TEST(Delete, ADryRunDeletesNothing) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a", "node-1"));
  api.Create(kube::kConfigMaps, ConfigDoc("c"));
  uint64_t before = api.server.revision();
  for (auto [resource, name] : {std::pair{&kube::kPods, "a"}, {&kube::kConfigMaps, "c"}}) {
    kube::Request request = api.Make(kube::Verb::kDelete, *resource, name);
    request.dry_run = true;
    EXPECT_TRUE(api.Send(request).status.ok());
    request.grace_seconds = 0;
    EXPECT_TRUE(api.Send(request).status.ok());
  }
  EXPECT_EQ(api.server.revision(), before);
}

TEST(Delete, TheLastFinalizerHoldsTheObject) {
  TestServer api;
  Doc job = JobDoc("a");
  job["metadata"]["finalizers"] = {"x.io/a", "x.io/b"};
  api.Create(kube::kPyTorchJobs, job);

  Doc answer = Made(api.Delete(kube::kPyTorchJobs, "a"));

  EXPECT_EQ(answer["metadata"]["deletionTimestamp"], FormatTime(api.now.wall));
  EXPECT_EQ(answer["metadata"]["generation"], 2);
  uint64_t before = api.server.revision();
  EXPECT_TRUE(api.Delete(kube::kPyTorchJobs, "a").status.ok());
  EXPECT_EQ(api.server.revision(), before);
  Response more = api.Patch(kube::kPyTorchJobs, "a", {{"metadata", {{"finalizers", {"x.io/a", "x.io/c"}}}}});
  EXPECT_EQ(more.status.causes.at(0).field, "metadata.finalizers") << "none may be added now";
  api.Patch(kube::kPyTorchJobs, "a", {{"metadata", {{"finalizers", {"x.io/b"}}}}});
  EXPECT_TRUE(api.Has(kube::kPyTorchJobs, "a"));
  api.Patch(kube::kPyTorchJobs, "a", {{"metadata", {{"finalizers", Doc::array()}}}});
  EXPECT_FALSE(api.Has(kube::kPyTorchJobs, "a"));
}

// A job with a pod "p" of its own and, if asked, a pod "q" of two owners.
class Owners : public ::testing::Test {
 protected:
  void Make(TestServer& api) {
    Doc a = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
    Doc b = Made(api.Create(kube::kPyTorchJobs, JobDoc("b")));
    Doc pod = PodDoc("p");
    pod["metadata"]["ownerReferences"] = Doc::array({OwnerDoc(a)});
    api.Create(kube::kPods, pod);
    pod["metadata"]["name"] = "q";
    pod["metadata"]["ownerReferences"] = Doc::array({OwnerDoc(a), OwnerDoc(b)});
    api.Create(kube::kPods, pod);
  }
};

TEST_F(Owners, DependentsFollowTheirLastOwner) {
  TestServer api;
  Make(api);

  api.Delete(kube::kPyTorchJobs, "a");
  EXPECT_TRUE(api.Has(kube::kPods, "p")) << "in the background, not at once";
  api.Settle();

  EXPECT_FALSE(api.Has(kube::kPods, "p"));
  ASSERT_TRUE(api.Has(kube::kPods, "q")) << "another owner lives";
  EXPECT_EQ(api.Stored(kube::kPods, "q")["metadata"]["ownerReferences"].size(), 1u);
  api.Delete(kube::kPyTorchJobs, "b");
  api.Settle();
  EXPECT_FALSE(api.Has(kube::kPods, "q"));
}

TEST_F(Owners, ALateChildOfADeadOwnerIsCollected) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  api.Delete(kube::kPyTorchJobs, "a");
  api.Create(kube::kPyTorchJobs, JobDoc("a"));  // the same name is not the same owner
  Doc pod = PodDoc("p");
  pod["metadata"]["ownerReferences"] = Doc::array({OwnerDoc(job)});
  api.Create(kube::kPods, pod);
  pod["metadata"]["name"] = "foreign";
  pod["metadata"]["ownerReferences"][0]["kind"] = "Deployment";
  pod["metadata"]["ownerReferences"][0]["apiVersion"] = "apps/v1";
  api.Create(kube::kPods, pod);

  api.Settle();

  EXPECT_FALSE(api.Has(kube::kPods, "p"));
  EXPECT_TRUE(api.Has(kube::kPods, "foreign")) << "owners of unserved kinds are taken to live";
}

TEST_F(Owners, WithoutControllersNothingIsCollected) {
  TestServer api({.controllers = false});
  Make(api);
  api.Delete(kube::kPyTorchJobs, "a");
  EXPECT_FALSE(api.server.ClaimControllerWork());
  EXPECT_TRUE(api.Has(kube::kPods, "p"));
}

TEST_F(Owners, ForegroundWaitsForTheChildren) {
  TestServer api;
  Make(api);
  api.Patch(kube::kPods, "p", {{"metadata", {{"finalizers", {"x.io/hold"}}}}});

  api.Delete(kube::kPyTorchJobs, "a", std::nullopt, "Foreground");
  api.Settle();

  EXPECT_TRUE(api.Has(kube::kPyTorchJobs, "a"));
  api.Patch(kube::kPods, "p", {{"metadata", {{"finalizers", nullptr}}}});
  api.Settle();
  EXPECT_FALSE(api.Has(kube::kPyTorchJobs, "a"));
  EXPECT_FALSE(api.Has(kube::kPods, "p"));
}

TEST_F(Owners, OrphansLoseTheReferenceAndLive) {
  TestServer api;
  Make(api);
  api.Delete(kube::kPyTorchJobs, "a", std::nullopt, "Orphan");
  api.Settle();
  EXPECT_FALSE(api.Has(kube::kPyTorchJobs, "a"));
  ASSERT_TRUE(api.Has(kube::kPods, "p"));
  EXPECT_FALSE(api.Stored(kube::kPods, "p")["metadata"].contains("ownerReferences"));
}

TEST(DeleteNamespace, ContentsGoFirstAndNothingNewComes) {
  TestServer api;
  api.Create(kube::kNamespaces, {{"metadata", {{"name", "ns"}}}});
  api.Create(kube::kPods, PodDoc("a", "node-1"));
  api.Create(kube::kConfigMaps, ConfigDoc("c"));

  api.Delete(kube::kNamespaces, "ns");

  EXPECT_EQ(api.Stored(kube::kNamespaces, "ns")["status"]["phase"], "Terminating");
  Response refused = api.Create(kube::kPods, PodDoc("b"));
  EXPECT_EQ(refused.status.code, 403);
  EXPECT_EQ(refused.status.causes.at(0).reason, "NamespaceTerminating");
  api.Settle();
  EXPECT_FALSE(api.Has(kube::kConfigMaps, "c"));
  EXPECT_TRUE(api.Has(kube::kNamespaces, "ns")) << "the pod's kubelet is not done";
  api.Delete(kube::kPods, "a", 0);
  api.Settle();
  EXPECT_FALSE(api.Has(kube::kNamespaces, "ns"));
}

}  // namespace
}  // namespace lockstep::apiserver
