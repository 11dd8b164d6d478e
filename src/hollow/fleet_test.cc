#include "hollow/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hollow/test_cluster.h"

namespace lockstep::hollow {
namespace {

using json::Doc;
using ::testing::ElementsAre;

// ---- nodes ----

TEST(FleetNodes, RegisterAsAKubeletDoes) {
  Cluster cluster;
  NodeSpec spec = cluster.Gpus(2, 8);
  spec.labels = {{"pool", "train"}};
  spec.taints = {{"dedicated", "gpu", "NoSchedule"}};
  cluster.fleet->AddNodes(spec);
  ASSERT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->ready(); }, seconds(10)));

  kube::Node node = *kube::ParseNode(cluster.Get(kube::kNodes, "node-1"));
  EXPECT_TRUE(node.ready());
  EXPECT_EQ(node.meta.labels["kubernetes.io/hostname"], "node-1");
  EXPECT_EQ(node.meta.labels["pool"], "train");
  EXPECT_EQ(node.allocatable["nvidia.com/gpu"], 8000);
  EXPECT_EQ(node.allocatable["cpu"], 64'000);
  EXPECT_EQ(node.allocatable["memory"], *kube::ParseQuantity("256Gi"));
  EXPECT_EQ(node.allocatable["pods"], 110'000);
  EXPECT_THAT(node.taints, ElementsAre(kube::Taint{"dedicated", "gpu", "NoSchedule"}));
  EXPECT_EQ(node.boot_id.size(), 36u);
  EXPECT_NE(node.boot_id, kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id);
  Doc object = cluster.Get(kube::kNodes, "node-1");
  EXPECT_EQ(json::GetString(object, "status.addresses.0.address"), "10.0.0.2");
  EXPECT_EQ(json::GetString(object, "status.nodeInfo.kubeletVersion"), "v1.34.4");
}

TEST(FleetNodes, TakeOverTheirObjectsAfterARestart) {
  Cluster cluster;
  cluster.AddGpuNodes(2, 4);
  cluster.PatchNode("node-0", {{"metadata", {{"labels", {{"by", "user"}}}}}});
  cluster.RestartFleet();
  cluster.fleet->AddNodes(cluster.Gpus(2, 8));  // the machine has got more GPUs
  cluster.fleet->Start();
  ASSERT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->ready(); }, seconds(10)));

  kube::Node node = *kube::ParseNode(cluster.Get(kube::kNodes, "node-0"));
  EXPECT_EQ(node.allocatable["nvidia.com/gpu"], 8000);
  EXPECT_EQ(node.meta.labels["by"], "user") << "what others wrote stays";
}

TEST(FleetNodes, LoseTheNotReadyTaintThatNobodyElseRemoves) {
  Cluster cluster;
  cluster.server.SetMutator(kube::kNodes, [](Doc& object, const kube::Request& request) {
    if (request.verb == kube::Verb::kCreate) {
      object["spec"]["taints"].push_back({{"key", "node.kubernetes.io/not-ready"}, {"effect", "NoSchedule"}});
    }
    return std::optional<kube::Status>();
  });
  NodeSpec spec = cluster.Gpus(1, 1);
  spec.taints = {{"mine", "", "NoSchedule"}};
  cluster.fleet->AddNodes(spec);
  ASSERT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->ready(); }, seconds(10)));
  EXPECT_THAT(kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->taints,
              ElementsAre(kube::Taint{"mine", "", "NoSchedule"}));
}

TEST(FleetNodes, AreDeletedWithTheirLeases) {
  Cluster cluster({.leases = true});
  cluster.AddGpuNodes(3, 1);
  cluster.loop.RunFor(seconds(25));
  cluster.fleet->RemoveNode("node-1");
  cluster.loop.RunFor(seconds(25));
  EXPECT_THAT(cluster.fleet->NodeNames(), ElementsAre("node-0", "node-2"));
  EXPECT_TRUE(cluster.Get(kube::kNodes, "node-1").is_null());
  cluster.fleet->RemoveAllNodes();
  cluster.loop.RunFor(seconds(1));
  EXPECT_TRUE(cluster.fleet->idle());
  kube::Request list = cluster.Make(kube::Verb::kList, kube::kLeases, "");
  list.ns = "kube-node-lease";
  EXPECT_EQ((*json::Parse(cluster.Send(list).body))["items"].size(), 0u);
}

TEST(FleetNodes, RenewTheirLeasesUnlessFrozen) {
  Cluster cluster({.leases = true});
  cluster.AddGpuNodes(1, 1);
  auto renewed = [&] {
    kube::Request get = cluster.Make(kube::Verb::kGet, kube::kLeases, "node-0");
    get.ns = "kube-node-lease";
    Doc lease = *json::Parse(cluster.Send(get).body);
    return ParseTime(json::GetString(lease, "spec.renewTime"));
  };
  cluster.loop.RunFor(minutes(5));
  EXPECT_LE(cluster.loop.now().wall - *renewed(), seconds(10));
  cluster.fleet->Freeze("node-0");
  cluster.loop.RunFor(minutes(5));
  EXPECT_GE(cluster.loop.now().wall - *renewed(), minutes(5));
  cluster.fleet->Thaw("node-0");
  cluster.loop.RunFor(seconds(1));
  EXPECT_LE(cluster.loop.now().wall - *renewed(), seconds(1));
}

// ---- pods ----

TEST(FleetPods, RunAndSucceedInTwoWrites) {
  Cluster cluster({.defaults = {.run_time = seconds(5)}});
  cluster.AddGpuNodes(1, 1);
  int64_t before = cluster.fleet->write_counts().sent;
  cluster.CreatePod("a", "node-0", 1);
  cluster.loop.RunFor(milliseconds(10));
  EXPECT_EQ(cluster.Phase("a"), "Running");
  EXPECT_EQ(cluster.fleet->processes(), 1u);
  EXPECT_EQ(json::GetString(cluster.Get(kube::kPods, "a"), "status.podIP"), "10.128.0.1");
  cluster.loop.RunFor(seconds(5));
  EXPECT_EQ(cluster.Phase("a"), "Succeeded");
  EXPECT_EQ(cluster.fleet->processes(), 0u);
  EXPECT_EQ(cluster.fleet->write_counts().sent - before, 2);
}

TEST(FleetPods, UnboundOnesAndThoseOfOtherNodesAreNotOurs) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("unbound", "", 1);
  cluster.CreatePod("elsewhere", "real-node", 1);
  cluster.loop.RunFor(minutes(1));
  EXPECT_EQ(cluster.Phase("unbound"), "Pending");
  EXPECT_EQ(cluster.Phase("elsewhere"), "Pending");

  cluster.fleet->AddNodes({.count = 0, .name_prefix = "real-node"});
  NodeSpec late = cluster.Gpus(1, 1);
  late.name_prefix = "late-";
  cluster.CreatePod("early-bird", "late-0", 1);
  cluster.fleet->AddNodes(late);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("early-bird"), "Running") << "bound before its node came";
}

TEST(FleetPods, OverCommitShows) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("first", "node-0", 1, {{"run-time", "1m"}});
  cluster.CreatePod("second", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("first"), "Running");
  EXPECT_EQ(cluster.Phase("second"), "Failed");
  EXPECT_EQ(cluster.Reason("second"), "OutOfnvidia.com/gpu");
  EXPECT_EQ(cluster.fleet->counts().refused, 1);

  cluster.loop.RunFor(minutes(1));
  cluster.CreatePod("third", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("third"), "Running") << "the first has ended";
}

TEST(FleetPods, ATerminatingPodStillCountsUntilItHasEnded) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("old", "node-0", 1, {{"run-time", "forever"}, {"ignore-term", "true"}});
  cluster.DeletePod("old", 1);
  cluster.CreatePod("early", "node-0", 1);
  cluster.loop.RunFor(milliseconds(2200));  // ended, its object still there
  EXPECT_EQ(cluster.Phase("old"), "Failed");
  cluster.CreatePod("late", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Reason("early"), "OutOfnvidia.com/gpu");
  EXPECT_EQ(cluster.Phase("late"), "Running");
  EXPECT_EQ(cluster.Phase("old"), "gone");
}

TEST(FleetPods, ForceDeletionLetsTheNewProcessOverlapTheOld) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("old", "node-0", 1, {{"run-time", "forever"}, {"ignore-term", "true"}});
  cluster.loop.RunFor(seconds(1));
  cluster.DeletePod("old", 0);
  EXPECT_EQ(cluster.Phase("old"), "gone");
  cluster.CreatePod("new", "node-0", 1, {{"run-time", "forever"}});
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("new"), "Running");
  EXPECT_EQ(cluster.fleet->ProcessUsage("node-0")->requests.at("nvidia.com/gpu"), 2000);
  cluster.loop.RunFor(seconds(2));
  EXPECT_EQ(cluster.fleet->ProcessUsage("node-0")->requests.at("nvidia.com/gpu"), 1000);
}

TEST(FleetPods, ThoseOfOneNameAreToldApartByTheirUid) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("a", "node-0", 1, {{"run-time", "3s"}, {"ignore-term", "true"}, {"exit-code", "9"}});
  cluster.loop.RunFor(seconds(2));
  cluster.DeletePod("a", 0);
  cluster.CreatePod("a", "node-0", 1, {{"run-time", "forever"}});
  cluster.loop.RunFor(minutes(1));
  EXPECT_EQ(cluster.Phase("a"), "Running") << "the old one's end is not the new one's";
}

TEST(FleetPods, AFinalizerKeepsTheObjectWithTheRealExit) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("a", "node-0", 1, {{"run-time", "forever"}, {"ignore-term", "true"}});
  kube::Request patch = cluster.Make(kube::Verb::kPatch, kube::kPods, "a");
  patch.body = R"({"metadata":{"finalizers":["example.com/hold"]}})";
  cluster.Send(patch);
  cluster.DeletePod("a", 1);
  cluster.loop.RunFor(minutes(1));
  Doc pod = cluster.Get(kube::kPods, "a");
  EXPECT_EQ(json::GetInt(pod, "status.containerStatuses.0.state.terminated.exitCode"), 137);
  patch.body = R"({"metadata":{"finalizers":null}})";
  cluster.Send(patch);
  EXPECT_EQ(cluster.Phase("a"), "gone");
}

TEST(FleetPods, RunTimeOfARendezvousCountsFromItsLastMember) {
  Cluster cluster;
  cluster.AddGpuNodes(3, 1);
  Annotations member = {{"run-time", "10s"}, {"rendezvous", "g/3"}};
  cluster.CreatePod("a", "node-0", 1, member);
  cluster.loop.RunFor(seconds(20));
  cluster.CreatePod("b", "node-1", 1, member);
  cluster.loop.RunFor(seconds(20));
  EXPECT_EQ(cluster.Phase("a"), "Running") << "two of three wait";
  Duration met = cluster.loop.elapsed();
  cluster.CreatePod("c", "node-2", 1, member);
  ASSERT_TRUE(cluster.WaitPhase("a", "Succeeded"));
  EXPECT_GE(cluster.loop.elapsed() - met, seconds(10));
  EXPECT_LT(cluster.loop.elapsed() - met, seconds(11));
  EXPECT_EQ(cluster.Phase("b"), "Succeeded");
  EXPECT_EQ(cluster.Phase("c"), "Succeeded");
}

TEST(FleetPods, ADeletedMemberLeavesTheRendezvousAndItsSuccessorCompletesIt) {
  Cluster cluster;
  cluster.AddGpuNodes(2, 1);
  Annotations member = {{"run-time", "5s"}, {"rendezvous", "g/2"}};
  cluster.CreatePod("a", "node-0", 1, member);
  cluster.loop.RunFor(seconds(1));
  cluster.DeletePod("a");
  cluster.loop.RunFor(seconds(5));
  cluster.CreatePod("b", "node-0", 1, member);
  cluster.loop.RunFor(minutes(1));
  EXPECT_EQ(cluster.Phase("b"), "Running") << "alone";
  cluster.CreatePod("c", "node-1", 1, member);
  EXPECT_TRUE(cluster.WaitPhase("b", "Succeeded", seconds(10)));
  EXPECT_TRUE(cluster.WaitPhase("c", "Succeeded", seconds(1)));
}

TEST(FleetPods, ABrokenPodFailsAloneAndSaysWhy) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("broken", "node-0", 0, {{"exit-code", "many"}});
  cluster.CreatePod("fine", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("broken"), "Pending");
  EXPECT_EQ(cluster.Phase("fine"), "Running");
}

TEST(FleetPods, OnlyThoseOfItsNamespaceWhenItHasOne) {
  Cluster cluster({.ns = "other"});
  cluster.AddGpuNodes(1, 1);
  cluster.CreatePod("a", "node-0", 1);
  cluster.loop.RunFor(minutes(1));
  EXPECT_EQ(cluster.Phase("a"), "Pending");
}

// ---- admission by what the API server shows of the node ----

TEST(FleetAdmission, FollowsTheLabelsAndTaintsThatOthersWrite) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 8);
  Doc selector = {{"nodeSelector", {{"pool", "a"}}}};
  cluster.CreatePod("before", "node-0", 1, {}, selector);
  cluster.PatchNode("node-0", {{"metadata", {{"labels", {{"pool", "a"}}}}}});
  cluster.CreatePod("after", "node-0", 1, {}, selector);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Reason("before"), "NodeAffinity");
  EXPECT_EQ(cluster.Phase("after"), "Running");

  Doc taint = {{"key", "bad"}, {"effect", "NoExecute"}};
  cluster.PatchNode("node-0", {{"spec", {{"taints", Doc::array({taint})}}}});
  cluster.CreatePod("tainted", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Reason("tainted"), "TaintToleration");
}

TEST(FleetEviction, DeletesWhatDoesNotTolerateOrNoLonger) {
  Cluster cluster({.defaults = {.run_time = std::nullopt}, .evict_by_taints = true});
  cluster.AddGpuNodes(1, 8);
  auto tolerating = [](std::optional<int> for_seconds) {
    Doc toleration = {{"key", "bad"}, {"operator", "Exists"}, {"effect", "NoExecute"}};
    if (for_seconds) toleration["tolerationSeconds"] = *for_seconds;
    return Doc{{"tolerations", Doc::array({toleration})}};
  };
  cluster.CreatePod("none", "node-0", 1);
  cluster.CreatePod("half-minute", "node-0", 1, {}, tolerating(30));
  cluster.CreatePod("always", "node-0", 1, {}, tolerating(std::nullopt));
  cluster.loop.RunFor(seconds(1));
  Doc taint = {{"key", "bad"}, {"effect", "NoExecute"}};
  cluster.PatchNode("node-0", {{"spec", {{"taints", Doc::array({taint})}}}});

  cluster.loop.RunFor(seconds(5));
  EXPECT_EQ(cluster.Phase("none"), "gone");
  EXPECT_EQ(cluster.Phase("half-minute"), "Running");
  cluster.loop.RunFor(seconds(30));
  EXPECT_EQ(cluster.Phase("half-minute"), "gone");
  EXPECT_EQ(cluster.Phase("always"), "Running");
  EXPECT_EQ(cluster.fleet->counts().evicted, 2);
}

}  // namespace
}  // namespace lockstep::hollow
