#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Response;
using ::testing::HasSubstr;

Doc Made(const Response& response) { return *json::Parse(response.body); }

TEST(Update, AnOldVersionIsAConflict) {
  TestServer api;
  Doc first = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  Doc second = first;
  second["spec"]["x"] = 1;
  EXPECT_TRUE(api.Update(kube::kPyTorchJobs, second).status.ok());

  Response late = api.Update(kube::kPyTorchJobs, second);

  EXPECT_TRUE(late.status.conflict());
  EXPECT_EQ(
      late.status.message,
      "Operation cannot be fulfilled on pytorchjobs.kubeflow.org \"a\": the object has been modified; please "
      "apply your changes to the latest version and try again");
  EXPECT_FALSE(late.status.transient());
}

TEST(Update, OnlySomeKindsMayBeReplacedBlindly) {
  TestServer api;
  api.Create(kube::kPyTorchJobs, JobDoc("a"));
  Response refused = api.Update(kube::kPyTorchJobs, JobDoc("a"));
  EXPECT_EQ(refused.status.code, 422);
  EXPECT_EQ(refused.status.causes.at(0).field, "metadata.resourceVersion");

  api.Create(kube::kConfigMaps, ConfigDoc("c"));
  Doc config = ConfigDoc("c");
  config["data"] = {{"k", "v"}};
  EXPECT_TRUE(api.Update(kube::kConfigMaps, config).status.ok());
  EXPECT_EQ(api.Stored(kube::kConfigMaps, "c")["data"]["k"], "v");
}

TEST(Update, AnotherUidIsAConflictAndAMissingObjectIsNotFound) {
  TestServer api;
  Doc config = Made(api.Create(kube::kConfigMaps, ConfigDoc("c")));
  config["metadata"]["uid"] = "another";
  EXPECT_TRUE(api.Update(kube::kConfigMaps, config).status.conflict());
  EXPECT_TRUE(api.Update(kube::kConfigMaps, ConfigDoc("d")).status.not_found());
  Doc lease = {{"metadata", {{"name", "l"}}}, {"spec", {{"holderIdentity", "x"}}}};
  EXPECT_EQ(api.Update(kube::kLeases, lease).status.code, 201) << "a lease is made by a PUT";
}

TEST(Update, GenerationCountsSpecChangesOfCustomResources) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  job["metadata"]["labels"] = {{"a", "b"}};
  job["status"] = {{"phase", "ignored"}};
  job = Made(api.Update(kube::kPyTorchJobs, job));
  EXPECT_EQ(job["metadata"]["generation"], 1);
  EXPECT_FALSE(job.contains("status"));
  job["spec"]["x"] = 1;
  job = Made(api.Update(kube::kPyTorchJobs, job));
  EXPECT_EQ(job["metadata"]["generation"], 2);
}

TEST(Update, AWriteThatChangesNothingIsNoWrite) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  uint64_t before = api.server.revision();

  EXPECT_EQ(Made(api.Update(kube::kPyTorchJobs, job)), job);
  EXPECT_EQ(Made(api.Patch(kube::kPyTorchJobs, "a", {{"metadata", {{"labels", {{"x", nullptr}}}}}})), job);
  EXPECT_EQ(Made(api.Patch(kube::kPyTorchJobs, "a", Doc::object(), "status")), job);

  EXPECT_EQ(api.server.revision(), before);
}

TEST(Update, DryRunsLeaveTheObjectAlone) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  kube::Request request = api.Make(kube::Verb::kPatch, kube::kPyTorchJobs, "a");
  request.body = R"({"spec":{"x":1}})";
  request.dry_run = true;
  Doc answer = Made(api.Send(request));
  EXPECT_EQ(answer["spec"]["x"], 1);
  EXPECT_EQ(answer["metadata"]["resourceVersion"], job["metadata"]["resourceVersion"]);
  EXPECT_EQ(api.Stored(kube::kPyTorchJobs, "a"), job);
}

TEST(Status, EachSideWritesOnlyItsOwnHalf) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  job["status"] = {{"phase", "Running"}};
  job["spec"]["x"] = "ignored";
  job["metadata"]["labels"] = {{"ignored", "too"}};

  Doc after = Made(api.Update(kube::kPyTorchJobs, job, "status"));

  EXPECT_EQ(after["status"]["phase"], "Running");
  EXPECT_FALSE(after["spec"].contains("x"));
  EXPECT_FALSE(after["metadata"].contains("labels"));
  EXPECT_EQ(after["metadata"]["generation"], 1);
  after = Made(
      api.Patch(kube::kPyTorchJobs, "a", {{"spec", {{"y", 1}}}, {"status", {{"phase", "Ended"}}}}, "status"));
  EXPECT_EQ(after["status"]["phase"], "Ended");
  EXPECT_EQ(after["spec"], JobDoc("a")["spec"]);
  after = Made(api.Patch(kube::kPyTorchJobs, "a", {{"spec", {{"y", 1}}}, {"status", {{"phase", "no"}}}}));
  EXPECT_EQ(after["status"]["phase"], "Ended");
  EXPECT_EQ(after["spec"]["y"], 1);
}

TEST(Status, APodsStatusPatchKeepsTheSpecByteForByteAndSelectable) {
  TestServer api;
  Doc pod = Made(api.Create(kube::kPods, PodDoc("a", "node-1")));
  for (const char* phase : {"Running", "Succeeded"}) {
    Response patched = api.Patch(kube::kPods, "a", {{"status", {{"phase", phase}}}}, "status");
    EXPECT_EQ(Made(patched)["spec"], pod["spec"]);
    EXPECT_EQ(Made(patched), api.Stored(kube::kPods, "a"));
    EXPECT_EQ(
        NamesOf(api.List(kube::kPods, "", std::string("spec.nodeName=node-1,status.phase=") + phase)).size(),
        1u);
  }
}

TEST(Status, PodsTakeLabelsThroughTheirStatusAndKindsWithoutOneHaveNoSuchPath) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a"));
  api.Patch(kube::kPods, "a", {{"metadata", {{"labels", {{"seen", "yes"}}}}}}, "status");
  EXPECT_EQ(NamesOf(api.List(kube::kPods, "seen=yes")).size(), 1u);
  api.Create(kube::kConfigMaps, ConfigDoc("c"));
  Response refused = api.Patch(kube::kConfigMaps, "c", Doc::object(), "status");
  EXPECT_EQ(refused.status.message, "the server could not find the requested resource");
}

TEST(Status, ANodeRegistersWithItsStatus) {
  TestServer api;
  Doc node = {{"metadata", {{"name", "n"}}}, {"status", {{"capacity", {{"cpu", "4"}}}}}};
  api.Create(kube::kNodes, node);
  EXPECT_EQ(api.Stored(kube::kNodes, "n")["status"]["capacity"]["cpu"], "4");
  api.Patch(kube::kNodes, "n",
            {{"status", {{"capacity", {{"cpu", "8"}}}}}, {"spec", {{"unschedulable", true}}}});
  EXPECT_EQ(api.Stored(kube::kNodes, "n")["status"]["capacity"]["cpu"], "4");
  EXPECT_EQ(NamesOf(api.List(kube::kNodes, "", "spec.unschedulable=true")).size(), 1u);
}

TEST(PodUpdate, AlmostNothingOfASpecMayChange) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a"));
  EXPECT_TRUE(api.Patch(kube::kPods, "a", {{"metadata", {{"annotations", {{"k", "v"}}}}}}).status.ok());
  EXPECT_TRUE(api.Patch(kube::kPods, "a", {{"spec", {{"activeDeadlineSeconds", 60}}}}).status.ok());

  Response node = api.Patch(kube::kPods, "a", {{"spec", {{"nodeName", "n"}}}});
  EXPECT_EQ(node.status.code, 422);
  EXPECT_THAT(node.status.message,
              HasSubstr("spec: Forbidden: pod updates may not change fields other than"));
  Doc pod = api.Stored(kube::kPods, "a");
  pod["spec"]["containers"][0]["image"] = "other:1";
  EXPECT_TRUE(api.Update(kube::kPods, pod).status.ok());
  pod = api.Stored(kube::kPods, "a");
  EXPECT_EQ(pod["metadata"]["generation"], 3);
  pod["spec"]["tolerations"].erase(0);
  EXPECT_EQ(api.Update(kube::kPods, pod).status.causes.at(0).field, "spec.tolerations");
}

TEST(Binding, AssignsOnce) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a"));
  kube::Request bind = api.Make(kube::Verb::kCreate, kube::kPods, "a");
  bind.subresource = "binding";
  bind.body =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}})";

  EXPECT_EQ(api.Send(bind).status.code, 201);

  Doc pod = api.Stored(kube::kPods, "a");
  EXPECT_EQ(pod["spec"]["nodeName"], "n");
  EXPECT_EQ(pod["status"]["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(NamesOf(api.List(kube::kPods, "", "spec.nodeName=n")).size(), 1u);
  Response again = api.Send(bind);
  EXPECT_TRUE(again.status.conflict());
  EXPECT_EQ(again.status.message,
            "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node \"n\"");
  bind.name = "b";
  EXPECT_TRUE(api.Send(bind).status.not_found());
}

TEST(Patch, EachKindOfPatch) {
  TestServer api;
  api.Create(kube::kPyTorchJobs, JobDoc("a"));
  Doc add = Doc::array({{{"op", "add"}, {"path", "/spec/x"}, {"value", {1, 2}}}});
  EXPECT_EQ(Made(api.Patch(kube::kPyTorchJobs, "a", add, "", kube::PatchType::kJson))["spec"]["x"],
            Doc({1, 2}));
  Doc test = Doc::array({{{"op", "test"}, {"path", "/spec/x"}, {"value", 7}}});
  Response failed = api.Patch(kube::kPyTorchJobs, "a", test, "", kube::PatchType::kJson);
  EXPECT_EQ(failed.status.code, 422);
  EXPECT_EQ(failed.status.message, "the server rejected our request due to an error in our request");
  EXPECT_EQ(api.Patch(kube::kPyTorchJobs, "a", Doc::object(), "", kube::PatchType::kJson).status.code, 400);
  EXPECT_EQ(
      api.Patch(kube::kPyTorchJobs, "a", Doc::object(), "", kube::PatchType::kStrategicMerge).status.code,
      415);

  api.Create(kube::kPods, PodDoc("p"));
  Doc image = {{"spec", {{"containers", {{{"name", "c"}, {"image", "new:2"}}}}}}};
  Doc pod = Made(api.Patch(kube::kPods, "p", image, "", kube::PatchType::kStrategicMerge));
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "new:2");
  EXPECT_EQ(pod["spec"]["containers"][0]["terminationMessagePolicy"], "File");
}

TEST(Patch, AResourceVersionInAPatchIsAPrecondition) {
  TestServer api;
  Doc job = Made(api.Create(kube::kPyTorchJobs, JobDoc("a")));
  Doc patch = {{"metadata", {{"resourceVersion", job["metadata"]["resourceVersion"]}}}, {"spec", {{"x", 1}}}};
  EXPECT_TRUE(api.Patch(kube::kPyTorchJobs, "a", patch).status.ok());
  patch["spec"]["x"] = 2;
  EXPECT_TRUE(api.Patch(kube::kPyTorchJobs, "a", patch).status.conflict());
  patch = {{"metadata", {{"uid", "other"}}}};
  EXPECT_TRUE(api.Patch(kube::kPyTorchJobs, "a", patch).status.conflict());
  EXPECT_TRUE(api.Patch(kube::kPyTorchJobs, "b", patch).status.not_found());
  EXPECT_EQ(api.Patch(kube::kPyTorchJobs, "a", {{"metadata", {{"name", "b"}}}}).status.code, 400);
}

}  // namespace
}  // namespace lockstep::apiserver
