#include "kubelet/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::kubelet {
namespace {

kube::PodNeed Need(std::map<std::string, std::string> requests) {
  kube::PodNeed need;
  for (const auto& [name, text] : requests) need.requests[name] = *kube::ParseQuantity(text);
  return need;
}

NodeShape MakeNode(std::map<std::string, std::string> allocatable) {
  NodeShape node{.name = "node-0", .labels = {{"kubernetes.io/hostname", "node-0"}}};
  node.allocatable["pods"] = 110 * 1000;
  for (const auto& [name, text] : allocatable) node.allocatable[name] = *kube::ParseQuantity(text);
  return node;
}

TEST(RefusePod, AdmitsUntilTheLastGpuIsTakenAndSaysWhatIsMissing) {
  NodeShape node = MakeNode({{"cpu", "8"}, {"nvidia.com/gpu", "2"}});
  Usage used;
  kube::PodNeed one_gpu = Need({{"nvidia.com/gpu", "1"}});

  EXPECT_EQ(RefusePod(one_gpu, node, used), std::nullopt);
  used.Add(one_gpu);
  EXPECT_EQ(RefusePod(one_gpu, node, used), std::nullopt);
  used.Add(one_gpu);

  EXPECT_EQ(
      RefusePod(one_gpu, node, used),
      (Refusal{"OutOfnvidia.com/gpu",
               "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: "
               "2, capacity: 2"}));
  used.Remove(one_gpu);
  EXPECT_EQ(RefusePod(one_gpu, node, used), std::nullopt);
}

TEST(RefusePod, PrintsCpuInThousandthsAndMemoryInBytes) {
  NodeShape node = MakeNode({{"cpu", "2"}, {"memory", "1Gi"}});
  Usage used;
  used.Add(Need({{"cpu", "1500m"}, {"memory", "512Mi"}}));

  EXPECT_EQ(
      RefusePod(Need({{"cpu", "1"}}), node, used)->message,
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000");
  EXPECT_EQ(
      RefusePod(Need({{"memory", "513Mi"}}), node, used)->message,
      "Pod was rejected: Node didn't have enough resource: memory, requested: 537919488, used: 536870912, "
      "capacity: 1073741824");
  EXPECT_EQ(RefusePod(Need({{"cpu", "500m"}, {"memory", "512Mi"}}), node, used), std::nullopt);
}

TEST(RefusePod, NamesCpuBeforeMemoryBeforeDevices) {
  NodeShape node = MakeNode({{"cpu", "1"}, {"memory", "1"}, {"example.com/a", "0"}});
  kube::PodNeed all = Need({{"cpu", "2"}, {"memory", "2"}, {"example.com/a", "1"}});
  EXPECT_EQ(RefusePod(all, node, {})->reason, "OutOfcpu");
  all.requests.erase("cpu");
  EXPECT_EQ(RefusePod(all, node, {})->reason, "OutOfmemory");
  all.requests.erase("memory");
  EXPECT_EQ(RefusePod(all, node, {})->reason, "OutOfexample.com/a");
}

TEST(RefusePod, CountsPodsEvenWhenTheyAskForNothing) {
  NodeShape node = MakeNode({{"pods", "1"}});
  Usage used;
  EXPECT_EQ(RefusePod({}, node, used), std::nullopt);
  used.Add({});
  EXPECT_EQ(RefusePod({}, node, used)->reason, "OutOfpods");
  EXPECT_EQ(RefusePod({}, node, used)->message,
            "Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1");
}

TEST(RefusePod, AnExtendedResourceTheNodeDoesNotListIsNotChecked) {
  NodeShape node = MakeNode({{"cpu", "8"}});
  EXPECT_EQ(RefusePod(Need({{"nvidia.com/gpu", "8"}}), node, {}), std::nullopt);
  EXPECT_EQ(RefusePod(Need({{"hugepages-2Mi", "2Mi"}}), node, {})->reason, "OutOfhugepages-2Mi");
}

TEST(RefusePod, AnOvercommittedNodeStillAdmitsWhatAsksForNothing) {
  NodeShape node = MakeNode({{"cpu", "1"}});
  Usage used;
  used.Add(Need({{"cpu", "4"}}));  // allocatable shrank below what runs
  EXPECT_EQ(RefusePod(Need({{"cpu", "1m"}}), node, used)->reason, "OutOfcpu");
  EXPECT_EQ(RefusePod(Need({}), node, used), std::nullopt);
}

TEST(RefusePod, SelectorAndAffinityMustMatch) {
  kube::PodNeed need;
  need.nodes.all = {{"pool", kube::SelectorOp::kIn, {"a"}}};
  NodeShape node = MakeNode({});
  EXPECT_EQ(RefusePod(need, node, {}),
            (Refusal{"NodeAffinity",
                     "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node "
                     "affinity/selector"}));
  node.labels["pool"] = "a";
  EXPECT_EQ(RefusePod(need, node, {}), std::nullopt);
}

TEST(RefusePod, HostPortsClashByPortProtocolAndAddress) {
  NodeShape node = MakeNode({});
  auto with_port = [](const std::string& ip, const std::string& protocol, int port) {
    kube::PodNeed need;
    need.host_ports = {{ip, protocol, port}};
    return need;
  };
  Usage used;
  used.Add(with_port("10.0.0.1", "TCP", 80));

  EXPECT_EQ(RefusePod(with_port("", "TCP", 80), node, used)->reason, "NodePorts");
  EXPECT_EQ(RefusePod(with_port("10.0.0.1", "TCP", 80), node, used)->reason, "NodePorts");
  EXPECT_EQ(RefusePod(with_port("10.0.0.2", "TCP", 80), node, used), std::nullopt);
  EXPECT_EQ(RefusePod(with_port("", "UDP", 80), node, used), std::nullopt);
  EXPECT_EQ(RefusePod(with_port("", "TCP", 81), node, used), std::nullopt);
  used.Remove(with_port("10.0.0.1", "TCP", 80));
  EXPECT_EQ(RefusePod(with_port("", "TCP", 80), node, used), std::nullopt);
}

TEST(RefusePod, OnlyNoExecuteTaintsConcernAKubelet) {
  NodeShape node = MakeNode({});
  node.taints = {{"a", "", "NoSchedule"}};
  EXPECT_EQ(RefusePod({}, node, {}), std::nullopt);
  node.taints = {{"b", "", "NoExecute"}};
  EXPECT_EQ(RefusePod({}, node, {})->reason, "TaintToleration");
  kube::PodNeed tolerant;
  tolerant.tolerations = {{.key = "b", .op = "Exists", .effect = "NoExecute", .seconds = 0}};
  EXPECT_EQ(RefusePod(tolerant, node, {}), std::nullopt)
      << "tolerationSeconds are not the kubelet's business";
}

TEST(TimeUntilEviction, IsTheShortestTolerationOfANoExecuteTaint) {
  std::vector<kube::Taint> taints = {{"a", "", "NoExecute"}, {"b", "", "NoExecute"}, {"c", "", "NoSchedule"}};
  EXPECT_EQ(TimeUntilEviction({{"c", "", "NoSchedule"}}, {}), std::nullopt);
  EXPECT_EQ(TimeUntilEviction(taints, {}), Duration::zero());
  EXPECT_EQ(TimeUntilEviction(taints, {{.key = "a", .op = "Exists"}}), Duration::zero());
  EXPECT_EQ(TimeUntilEviction(taints, {{.op = "Exists"}}), std::nullopt);
  EXPECT_EQ(TimeUntilEviction(taints, {{.key = "a", .op = "Exists", .seconds = 300},
                                       {.key = "b", .op = "Exists", .seconds = 20}}),
            seconds(20));
  EXPECT_EQ(
      TimeUntilEviction(taints, {{.key = "a", .op = "Exists", .seconds = -5}, {.key = "b", .op = "Exists"}}),
      Duration::zero());
}

}  // namespace
}  // namespace lockstep::kubelet
