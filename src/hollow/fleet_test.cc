#include "hollow/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/memory_api.h"
#include "apiserver/server.h"
#include "base/virtual_loop.h"

namespace lockstep::hollow {
namespace {

using json::Doc;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

using Annotations = std::map<std::string, std::string>;  // without their prefix

// A cluster in memory and virtual time: an API server, a fleet, and a user who asks for pods.
class Cluster {
 public:
  explicit Cluster(FleetOptions options = {}) : fleet_options(std::move(options)) {
    fleet_api.emplace(loop, server);
    fleet.emplace(*fleet_api, fleet_options);
    fleet->Start();
  }

  NodeSpec Gpus(int64_t nodes, int64_t gpus) {
    NodeSpec spec{.count = nodes};
    spec.allocatable = {
        {"cpu", 64'000}, {"memory", *kube::ParseQuantity("256Gi")}, {"nvidia.com/gpu", gpus * 1000}};
    return spec;
  }
  void AddGpuNodes(int64_t nodes, int64_t gpus) {
    fleet->AddNodes(Gpus(nodes, gpus));
    ASSERT_TRUE(loop.RunUntilTrue([&] { return fleet->ready(); }, seconds(10)));
  }

  kube::Response Send(kube::Request request) {
    std::optional<kube::Response> answer;
    user.Send(std::move(request), [&](kube::Response response) { answer = std::move(response); });
    EXPECT_TRUE(loop.RunUntilTrue([&] { return answer.has_value(); }, seconds(10)));
    return *answer;
  }
  kube::Request Make(kube::Verb verb, const kube::Resource& resource, const std::string& name) {
    kube::Request request;
    request.verb = verb;
    request.resource = &resource;
    request.name = name;
    if (resource.namespaced) request.ns = "ns";
    return request;
  }
  void CreatePod(const std::string& name, const std::string& node, int gpus, Annotations annotations = {},
                 Doc more_spec = Doc::object()) {
    Doc pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}, {"namespace", "ns"}}}};
    for (const auto& [key, value] : annotations) {
      pod["metadata"]["annotations"]["hollow.lockstep.dev/" + key] = value;
    }
    Doc container = {{"name", "main"}, {"image", "img"}};
    if (gpus > 0) {
      container["resources"]["requests"]["nvidia.com/gpu"] = std::to_string(gpus);
      container["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(gpus);
    }
    pod["spec"] = {{"restartPolicy", "Never"}, {"containers", Doc::array({std::move(container)})}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    pod["spec"].update(more_spec);
    kube::Request request = Make(kube::Verb::kCreate, kube::kPods, "");
    request.body = json::Dump(pod);
    kube::Response response = Send(request);
    EXPECT_TRUE(response.status.ok()) << response.status.message;
  }
  void DeletePod(const std::string& name, std::optional<int64_t> grace = std::nullopt) {
    kube::Request request = Make(kube::Verb::kDelete, kube::kPods, name);
    request.grace_seconds = grace;
    EXPECT_TRUE(Send(request).status.ok());
  }
  void PatchNode(const std::string& name, const Doc& patch) {
    kube::Request request = Make(kube::Verb::kPatch, kube::kNodes, name);
    request.body = json::Dump(patch);
    EXPECT_TRUE(Send(request).status.ok());
  }
  // Null when there is none.
  Doc Get(const kube::Resource& resource, const std::string& name) {
    kube::Response response = Send(Make(kube::Verb::kGet, resource, name));
    return response.status.ok() ? *json::Parse(response.body) : Doc();
  }
  std::string Phase(const std::string& name) {
    return json::GetString(Get(kube::kPods, name), "status.phase", "gone");
  }
  std::string Reason(const std::string& name) {
    return json::GetString(Get(kube::kPods, name), "status.reason");
  }
  bool WaitPhase(const std::string& name, const std::string& phase, Duration limit = minutes(10)) {
    Duration end = loop.elapsed() + limit;
    while (loop.elapsed() < end) {
      if (Phase(name) == phase) return true;
      loop.RunFor(milliseconds(50));
    }
    return false;
  }
  // As if this program was stopped and started again.
  void RestartFleet() {
    std::vector<std::string> names = fleet->NodeNames();
    fleet.reset();
    fleet.emplace(*fleet_api, fleet_options);
  }

  VirtualLoop loop;
  apiserver::Server server{apiserver::ServerOptions{}};
  apiserver::MemoryApi user{loop, server};
  FleetOptions fleet_options;
  std::optional<apiserver::MemoryApi> fleet_api;
  std::optional<Fleet> fleet;
};

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

  cluster.fleet->AddNodes({.name_prefix = "real-node", .count = 0});
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

// ---- what happens to machines ----

TEST(FleetMachines, AFrozenKubeletSeesEverythingInOrderWhenItThaws) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 8);
  Annotations stubborn = {{"run-time", "forever"}, {"ignore-term", "true"}};
  cluster.CreatePod("graceful", "node-0", 1, stubborn);
  cluster.CreatePod("both", "node-0", 1, stubborn);
  cluster.CreatePod("forced", "node-0", 1, stubborn);
  cluster.CreatePod("ends", "node-0", 1, {{"run-time", "5s"}});
  cluster.loop.RunFor(seconds(1));
  cluster.fleet->Freeze("node-0");
  cluster.DeletePod("graceful", 1);
  cluster.DeletePod("both");
  cluster.DeletePod("both", 0);
  cluster.DeletePod("forced", 0);
  cluster.CreatePod("new", "node-0", 1);
  cluster.CreatePod("never-seen", "node-0", 1);
  cluster.DeletePod("never-seen", 0);
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.Phase("ends"), "Running");
  EXPECT_EQ(cluster.Phase("new"), "Pending");
  EXPECT_EQ(cluster.Phase("graceful"), "Running");
  EXPECT_EQ(cluster.fleet->processes(), 4u) << "nobody has counted the end of one";

  cluster.fleet->Thaw("node-0");
  cluster.loop.RunFor(milliseconds(10));
  EXPECT_EQ(cluster.Phase("ends"), "Succeeded");
  EXPECT_EQ(cluster.Phase("new"), "Running");
  cluster.loop.RunFor(seconds(3));
  EXPECT_EQ(cluster.Phase("graceful"), "gone") << "measured: 19.1 after a freeze of 15";
  EXPECT_EQ(cluster.fleet->processes(), 2u) << "the new one, and the one that has its whole grace";
  cluster.loop.RunFor(seconds(28));
  EXPECT_EQ(cluster.fleet->processes(), 0u)
      << "measured: 46.2 after a freeze of 15; and the new one has ended";
}

TEST(FleetMachines, ANewKubeletKnowsOnlyWhatItLists) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 8);
  Annotations stubborn = {{"run-time", "forever"}, {"ignore-term", "true"}};
  cluster.CreatePod("both", "node-0", 1, stubborn);
  cluster.loop.RunFor(seconds(1));
  cluster.fleet->StopKubelet("node-0");
  cluster.DeletePod("both");
  cluster.DeletePod("both", 0);
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.fleet->processes(), 1u);
  cluster.fleet->Thaw("node-0");
  cluster.loop.RunFor(milliseconds(2200));
  EXPECT_EQ(cluster.fleet->processes(), 0u) << "an orphan: measured 17.3 after a stop of 15";
}

TEST(FleetMachines, ACrashEndsEveryProcessAndTheBootTells) {
  Cluster cluster;
  cluster.AddGpuNodes(2, 8);
  cluster.CreatePod("runs", "node-0", 1, {{"run-time", "forever"}});
  cluster.CreatePod("deleted", "node-0", 1, {{"run-time", "forever"}});
  cluster.CreatePod("neighbour", "node-1", 1, {{"run-time", "forever"}});
  cluster.loop.RunFor(seconds(1));
  std::string boot_id = kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id;

  cluster.fleet->Crash("node-0");
  EXPECT_EQ(cluster.fleet->processes(), 1u);
  cluster.DeletePod("deleted");
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.Phase("runs"), "Running") << "nobody has said otherwise";
  EXPECT_EQ(kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id, boot_id);

  cluster.fleet->Boot("node-0");
  cluster.loop.RunFor(seconds(3));
  EXPECT_NE(kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id, boot_id);
  Doc pod = cluster.Get(kube::kPods, "runs");
  EXPECT_EQ(json::GetString(pod, "status.phase"), "Failed");
  EXPECT_EQ(json::GetInt(pod, "status.containerStatuses.0.state.terminated.exitCode"), 255);
  EXPECT_EQ(cluster.Phase("deleted"), "gone");
  EXPECT_EQ(cluster.Phase("neighbour"), "Running");
}

// ---- the API server has bad days ----

TEST(FleetUnderFaults, WritesAreRepeatedUntilTheServerTakesThem) {
  Cluster cluster({.defaults = {.run_time = seconds(5)}});
  cluster.AddGpuNodes(1, 8);
  int asked = 0;
  cluster.fleet_api->SetFaults([&](const kube::Request& request) {
    apiserver::Fault fault;
    if (request.subresource == "status" && ++asked <= 6)
      fault.refuse = kube::ErrorStatus(500, "InternalError", "no");
    return fault;
  });
  cluster.CreatePod("a", "node-0", 1);
  EXPECT_TRUE(cluster.WaitPhase("a", "Succeeded", minutes(2)));
  EXPECT_GE(cluster.fleet->write_counts().retried, 6);
}

TEST(FleetUnderFaults, NothingIsLostWhileTheServerIsAway) {
  Cluster cluster({.defaults = {.run_time = seconds(5)}});
  cluster.AddGpuNodes(2, 8);
  cluster.CreatePod("before", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  cluster.fleet_api->SetDown(true);
  cluster.CreatePod("meanwhile", "node-1", 1);
  cluster.DeletePod("before", 0);
  cluster.CreatePod("before", "node-0", 1, {{"exit-code", "3"}});
  cluster.loop.RunFor(minutes(2));
  EXPECT_EQ(cluster.Phase("meanwhile"), "Pending");
  cluster.server.Compact();  // the watch will be too old as well
  cluster.fleet_api->SetDown(false);
  EXPECT_TRUE(cluster.WaitPhase("meanwhile", "Succeeded", minutes(2)));
  EXPECT_TRUE(cluster.WaitPhase("before", "Failed", minutes(2)));
}

TEST(FleetUnderFaults, ARestartedFleetTakesOverRunningPodsAndRefusesNoneOfThem) {
  Cluster cluster({.defaults = {.run_time = seconds(60)}});
  cluster.AddGpuNodes(1, 2);
  cluster.CreatePod("b-runs", "node-0", 1);
  cluster.CreatePod("c-runs", "node-0", 1);
  cluster.loop.RunFor(seconds(10));
  cluster.RestartFleet();
  cluster.CreatePod("a-waits", "node-0", 1);  // first in every list, last in its rights
  cluster.fleet->AddNodes(cluster.Gpus(1, 2));
  cluster.fleet->Start();
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("b-runs"), "Running");
  EXPECT_EQ(cluster.Phase("c-runs"), "Running");
  EXPECT_EQ(cluster.Reason("a-waits"), "OutOfnvidia.com/gpu");
  cluster.loop.RunFor(seconds(50));
  EXPECT_EQ(cluster.Phase("b-runs"), "Succeeded") << "60 s from its own start";
}

// ---- many ----

TEST(FleetSmoke, AThousandNodesRunAThousandPodsAtOnce) {
  Cluster cluster({.defaults = {.run_time = seconds(30)}});
  cluster.AddGpuNodes(1000, 8);
  for (int i = 0; i < 1000; ++i) {
    cluster.CreatePod("p" + std::to_string(i), "node-" + std::to_string(i), 8, {{"rendezvous", "all/1000"}});
  }
  EXPECT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->processes() == 1000; }, minutes(1)));
  EXPECT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->counts().ended == 1000; }, minutes(1)));
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.fleet->counts().refused, 0);
  EXPECT_EQ(cluster.Phase("p0"), "Succeeded");
  EXPECT_EQ(cluster.Phase("p999"), "Succeeded");
  EXPECT_EQ(cluster.fleet->write_counts().retried, 0);
  EXPECT_TRUE(cluster.fleet->idle());
}

}  // namespace
}  // namespace lockstep::hollow
