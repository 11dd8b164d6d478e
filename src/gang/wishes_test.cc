// Which of the nodes where a gang fits it gets: preferred node affinity, PreferNoSchedule taints.
#include <gtest/gtest.h>

#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::Nodes;
using namespace cluster::testing;  // NOLINT: builders
using testing::MakeGang;
using testing::Text;

kube::PodNeed Preferring(kube::PodNeed need, std::string key, std::string value, int32_t weight) {
  kube::PreferredNodes term;
  term.nodes.labels.push_back({std::move(key), kube::SelectorOp::kIn, {std::move(value)}});
  term.weight = weight;
  need.preferred.push_back(std::move(term));
  return need;
}

const kube::Taint kSoft{"soft", "", "PreferNoSchedule"};

TEST(Wishes, TheSumOfWeightsDecidesAmongNodesThatFit) {
  Nodes nodes;
  nodes.Upsert(MakeNode("a", Gpu(8)));
  nodes.Upsert(MakeNode("b", Gpu(8), {{"disk", "fast"}}));
  nodes.Upsert(MakeNode("c", Gpu(8), {{"net", "fast"}}));
  nodes.Upsert(MakeNode("d", Gpu(8), {{"disk", "fast"}, {"cpu", "new"}}));
  kube::PodNeed pod = Preferring(MakeNeed(Gpu(1)), "disk", "fast", 30);
  pod = Preferring(pod, "net", "fast", 40);
  pod = Preferring(pod, "cpu", "new", 20);

  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 8, pod))), "d:8");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 20, pod))), "d:8 c:8 b:4");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 32, pod))), "d:8 c:8 b:8 a:8");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 33, pod))), "none");
}

TEST(Wishes, AWishRefusesNothingAndEqualNodesArePackedAsEver) {
  Nodes nodes = MakeNodes(4, Gpu(8));
  Busy(nodes, "node-2", Gpu(5));
  kube::PodNeed pod = Preferring(MakeNeed(Gpu(1)), "nobody", "has", 100);
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 3, pod))), "node-2:3");
}

TEST(Wishes, ManyTermsFallIntoBandsTheBestFirst) {
  Nodes nodes;
  kube::PodNeed pod = MakeNeed(Gpu(1));
  kube::Labels labels;
  for (int i = 0; i < 10; ++i) pod = Preferring(pod, "k" + std::to_string(i), "v", 10);
  for (int i = 0; i < 10; ++i) {
    nodes.Upsert(MakeNode("node-" + std::to_string(i), Gpu(1), labels));
    labels["k" + std::to_string(i)] = "v";
  }
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 3, pod))), "node-9:1 node-8:1 node-7:1");
}

TEST(Wishes, TaintsToBeAvoidedComeBeforeWeights) {
  Nodes nodes;
  nodes.Upsert(MakeNode("a", Gpu(1), {{"disk", "fast"}}, {kSoft}));
  nodes.Upsert(MakeNode("b", Gpu(1)));
  kube::PodNeed pod = Preferring(MakeNeed(Gpu(1)), "disk", "fast", 100);
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, pod))), "b:1");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, Tolerating(pod, "soft")))), "a:1");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 2, pod))), "b:1 a:1");
}

TEST(Wishes, AWishIsStrongerThanSparingDevices) {
  Nodes nodes;
  nodes.Upsert(MakeNode("cpu", Cpu(8)));
  nodes.Upsert(MakeNode("gpu", Cpu(8) + Gpu(8), {{"zone", "a"}}));
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, Cpu(1)))), "cpu:1");
  kube::PodNeed pod = Preferring(MakeNeed(Cpu(1)), "zone", "a", 1);
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, pod))), "gpu:1");
}

TEST(Wishes, HoldForEachRoleAndBesideRulesBetweenPods) {
  Nodes nodes;
  nodes.Upsert(MakeNode("a", Cpu(8) + Gpu(4), {{"host", "a"}}));
  nodes.Upsert(MakeNode("b", Cpu(8) + Gpu(4), {{"host", "b"}, {"zone", "z"}}));
  nodes.Upsert(MakeNode("c", Cpu(8) + Gpu(4), {{"host", "c"}, {"zone", "z"}}));
  kube::PodNeed pod = Preferring(MakeNeed(Gpu(1)), "zone", "z", 1);
  pod = Apart(pod, Labelled("app", "x"), "host");
  Need need{{{nodes.Class(pod), 2, Who("own", {{"app", "x"}}, pod)}}};
  EXPECT_EQ(Text(nodes, Place(nodes, need)), "b:1 c:1");
}

}  // namespace
}  // namespace lockstep::gang
