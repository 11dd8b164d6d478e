// Pods that are not on a node yet and count there: daemons to come, and those another scheduler has
// nominated.
#include <gmock/gmock.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExpectedPodsTest : public ::testing::Test {
 protected:
  static json::Doc OneGpu() {
    return json::Doc::array({{{"name", "c"}, {"resources", {{"requests", {{"nvidia.com/gpu", "1"}}}}}}});
  }

  void DaemonSet(const std::string& name, json::Doc spec = json::Doc::object()) {
    if (!spec.contains("containers")) spec["containers"] = OneGpu();
    engine.See(kube::kDaemonSets,
               {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
                {"spec", {{"template", {{"metadata", {{"labels", {{"app", name}}}}}, {"spec", spec}}}}}});
  }

  void DaemonPod(const std::string& set, const std::string& node) {
    json::Doc owner = {{"apiVersion", "apps/v1"},
                       {"kind", "DaemonSet"},
                       {"name", set},
                       {"uid", "uid-" + set},
                       {"controller", true}};
    engine.See(kube::kPods, {{"metadata",
                              {{"name", set + "-" + node},
                               {"namespace", "default"},
                               {"uid", "uid-" + set + node},
                               {"ownerReferences", json::Doc::array({owner})}}},
                             {"spec", {{"nodeName", node}, {"containers", OneGpu()}}}});
  }

  json::Doc NominatedPod(const std::string& node) {
    return {{"metadata", {{"name", "other"}, {"namespace", "default"}, {"uid", "uid-other"}}},
            {"spec", {{"schedulerName", "default-scheduler"}, {"containers", OneGpu()}}},
            {"status", {{"phase", "Pending"}, {"nominatedNodeName", node}}}};
  }

  std::vector<std::string> NodesOf(const std::string& job) {
    std::vector<std::string> nodes;
    for (const api::NodeSeats& seats : engine.Gang(job).status().placement) nodes.push_back(seats.node);
    return nodes;
  }
  kube::Amount Used(const std::string& node, cluster::View view = cluster::View::kNow) {
    return engine.world.nodes.Used(*engine.world.nodes.Find(node), "nvidia.com/gpu", view) / 1000;
  }

  HandDriven engine;
};

TEST_F(ExpectedPodsTest, ADaemonToComeCountsUntilItIsThere) {
  engine.Nodes(2, 4);
  DaemonSet("agent");
  engine.Job("a", 8);
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), IsEmpty());
  EXPECT_EQ(engine.Gang("a").status().reason.code, "Impossible");  // daemons stay on an empty cluster too
  engine.Job("b", 6);
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0", "node-1"));
  EXPECT_EQ(Used("node-0"), 4);
  DaemonPod("agent", "node-0");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 4);
  EXPECT_EQ(Used("node-0", cluster::View::kEmpty), 1);
  engine.Gone(kube::kPods, "pods/default/agent-node-0");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 4) << "its next pod is to come";
  engine.Gone(kube::kDaemonSets, "daemonsets/default/agent");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 3);
  EXPECT_EQ(Used("node-1", cluster::View::kEmpty), 0);
  EXPECT_THAT(engine.Step(), IsEmpty());
}

TEST_F(ExpectedPodsTest, APodThatWasSeenBeforeItsDaemonSetCountsOnce) {
  engine.Nodes(1, 4);
  DaemonPod("agent", "node-0");
  DaemonSet("agent");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 1);
}

TEST_F(ExpectedPodsTest, ADaemonBelongsWhereItsTemplateSaysAndToleratesWhatAllDaemonsDo) {
  auto node = [&](const std::string& name, json::Doc labels, json::Doc taints, bool cordoned) {
    engine.See(kube::kNodes, {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                              {"spec", {{"taints", std::move(taints)}, {"unschedulable", cordoned}}},
                              {"status", {{"allocatable", {{"nvidia.com/gpu", "4"}, {"pods", "110"}}}}}});
  };
  json::Doc none = json::Doc::array(), labels = {{"agent", "yes"}};
  node("plain", json::Doc::object(), none, false);
  node("cordoned", labels,
       json::Doc::array({{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}}}), true);
  node("tainted", labels, json::Doc::array({{{"key", "team"}, {"effect", "NoSchedule"}}}), false);
  node("sick", labels,
       json::Doc::array({{{"key", "node.kubernetes.io/memory-pressure"}, {"effect", "NoSchedule"}}}), false);
  DaemonSet("agent", {{"nodeSelector", {{"agent", "yes"}}}});
  engine.Settle();
  EXPECT_EQ(Used("plain"), 0);
  EXPECT_EQ(Used("cordoned"), 1);
  EXPECT_EQ(Used("tainted"), 0);
  EXPECT_EQ(Used("sick"), 1);
  node("plain", labels, none, false);
  node("sick", json::Doc::object(), none, false);
  engine.Settle();
  EXPECT_EQ(Used("plain"), 1);
  EXPECT_EQ(Used("sick"), 0);
}

TEST_F(ExpectedPodsTest, NodesComeAndGoWithTheDaemonsToCome) {
  DaemonSet("agent");
  engine.Nodes(1, 4);
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 1);
  engine.Gone(kube::kNodes, "nodes/node-0");
  engine.Settle();
  EXPECT_TRUE(engine.world.occupancy.empty());
  engine.Node("node-0", 2);
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 1);
}

TEST_F(ExpectedPodsTest, ADaemonLargerThanTheNodeNeverComes) {
  engine.Nodes(1, 0);
  DaemonSet("agent");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 0);
}

TEST_F(ExpectedPodsTest, ANominatedPodCountsOnItsNodeUntilItIsElsewhere) {
  engine.Nodes(2, 1);
  engine.See(kube::kPods, NominatedPod("node-0"));
  engine.Job("a", 1);
  engine.Job("b", 1);
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-1"));
  EXPECT_THAT(NodesOf("b"), IsEmpty());
  EXPECT_NE(engine.Gang("b").status().reason.code, "Impossible");
  json::Doc pod = NominatedPod("");
  pod["status"].erase("nominatedNodeName");
  engine.See(kube::kPods, pod);
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0"));
}

TEST_F(ExpectedPodsTest, ANominatedPodThatArrivesCountsOnce) {
  engine.Nodes(1, 4);
  engine.See(kube::kPods, NominatedPod("node-0"));
  json::Doc pod = NominatedPod("node-0");
  pod["spec"]["nodeName"] = "node-0";
  engine.See(kube::kPods, pod);
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 1);
  engine.Gone(kube::kPods, "pods/default/other");
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 0);
}

TEST_F(ExpectedPodsTest, AResourceThatVanishesLeavesNoSeatsAndWhatRunsCounts) {
  engine.Nodes(2, 2);
  engine.Job("a", 2);
  engine.Settle();
  ASSERT_THAT(NodesOf("a"), ElementsAre("node-0"));
  engine.See(kube::kNodes,
             {{"metadata", {{"name", "node-0"}}}, {"status", {{"allocatable", {{"pods", "110"}}}}}});
  engine.See(kube::kNodes,
             {{"metadata", {{"name", "node-1"}}}, {"status", {{"allocatable", {{"pods", "110"}}}}}});
  engine.Job("b", 1);
  engine.Settle();
  EXPECT_EQ(Used("node-0"), 2);
  EXPECT_EQ(engine.world.nodes.Allocatable(*engine.world.nodes.Find("node-0"), "nvidia.com/gpu"), 0);
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0")) << "what runs goes on";
  EXPECT_EQ(engine.Gang("b").status().reason.code, "Impossible");
  engine.Node("node-1", 2);
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-1"));
}

}  // namespace
}  // namespace lockstep::engine
