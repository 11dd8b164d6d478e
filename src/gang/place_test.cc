#include "gang/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::Nodes;
using cluster::Reason;
using cluster::Tenure;
using namespace cluster::testing;  // NOLINT: builders
using testing::Fault;
using testing::MakeGang;
using testing::Text;

TEST(PlaceGang, TakesTheTightestNodeSoThatTheBigHoleStaysForTheBigGang) {
  Nodes nodes = MakeNodes(4, Gpu(8));
  Busy(nodes, "node-2", Gpu(6));
  Need small = MakeGang(nodes, 2, Gpu(1));

  auto placed = Place(nodes, small);

  ASSERT_EQ(Text(nodes, placed), "node-2:2");
  Occupy(nodes, small, std::get<Placement>(placed));
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 3, Gpu(8)))), "node-0:1 node-1:1 node-3:1");
}

TEST(PlaceGang, UsesTheFewestNodesAndPutsTheRestOnTheTightest) {
  Nodes nodes = MakeNodes(4, Gpu(8));
  Busy(nodes, "node-0", Gpu(5));  // 3 left
  Busy(nodes, "node-3", Gpu(6));  // 2 left

  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 18, Gpu(1)))), "node-1:8 node-2:8 node-3:2");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 19, Gpu(1)))), "node-1:8 node-2:8 node-0:3");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 21, Gpu(1)))), "node-1:8 node-2:8 node-0:3 node-3:2");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 22, Gpu(1)))), "none");
}

TEST(PlaceGang, NamesEveryPodOnceNodeByNode) {
  Nodes nodes = MakeNodes(2, Gpu(4));
  cluster::ClassId pod = nodes.Class(MakeNeed(Gpu(1)));
  Need need{{{pod, 1}, {pod, 5}}};  // a master and workers of one class

  Placement placement = std::get<Placement>(Place(nodes, need));

  cluster::NodeId first = *nodes.Find("node-0"), second = *nodes.Find("node-1");
  EXPECT_THAT(placement.seats,
              ::testing::ElementsAre(Seats{first, 0, 0, 1}, Seats{first, 1, 0, 3}, Seats{second, 1, 3, 2}));
  EXPECT_EQ(Fault(nodes, need, placement), "");
}

TEST(PlaceGang, KeepsCpuPodsOffNodesWithGpusWhileOthersLast) {
  Nodes nodes = MakeNodes(1, Cpu(8) + Gpu(8));  // node-0 has the devices
  nodes.Upsert(MakeNode("plain", Cpu(4)));

  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 4, Cpu(1)))), "plain:4");
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 6, Cpu(1)))), "plain:4 node-0:2");
}

TEST(PlaceGang, MasterThatNeedsALittleMoreIsSeatedWithItsWorkers) {
  Nodes nodes = MakeNodes(2, Gpu(8) + Cpu(16));
  Busy(nodes, "node-1", Gpu(4));
  Need need{{{nodes.Class(MakeNeed(Gpu(1) + kube::Resources{{"cpu", 100}})), 1},
             {nodes.Class(MakeNeed(Gpu(1))), 3}}};

  auto placed = Place(nodes, need);

  EXPECT_EQ(Text(nodes, placed), "node-1:4");  // all four on the tightest node, not 1 + 3
  EXPECT_EQ(Fault(nodes, need, std::get<Placement>(placed)), "");
}

TEST(PlaceGang, WholeMixedGangSharesTheTightestNodeThatTakesIt) {
  Nodes nodes = MakeNodes(3, Gpu(8) + Cpu(32));
  Busy(nodes, "node-1", Gpu(6));
  Busy(nodes, "node-2", Gpu(4));
  Need need{{{nodes.Class(MakeNeed(Cpu(8))), 2}, {nodes.Class(MakeNeed(Gpu(1) + Cpu(2))), 4}}};

  EXPECT_EQ(Text(nodes, Place(nodes, need)), "node-2:6");
}

TEST(PlaceGang, FindsTheOnlyMixThatFits) {
  // Each node takes one of (large, small) only; putting both smalls on either node, as any role-by-role order
  // would, leaves a large pod without a seat.
  Nodes nodes = MakeNodes(2, Cpu(10) + MemoryGi(10));
  Need need{
      {{nodes.Class(MakeNeed(Cpu(6) + MemoryGi(3))), 2}, {nodes.Class(MakeNeed(Cpu(4) + MemoryGi(7))), 2}}};

  auto placed = Place(nodes, need);

  ASSERT_EQ(Text(nodes, placed), "node-0:2 node-1:2");
  EXPECT_EQ(Fault(nodes, need, std::get<Placement>(placed)), "");
}

TEST(PlaceGang, AnEmptyGangFitsOnNoSeats) {
  Nodes nodes;
  EXPECT_TRUE(std::get<Placement>(Place(nodes, {})).seats.empty());
  EXPECT_TRUE(Fits(nodes, {}));
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, Cpu(1)))), "none");
}

TEST(PlaceGang, BarredNodesAreLeftOutAndSaySo) {
  Nodes nodes = MakeNodes(2, Gpu(1));
  Need need = MakeGang(nodes, 2, Gpu(1));
  cluster::NodeId barred[] = {*nodes.Find("node-0"), *nodes.Find("node-0")};

  auto placed = Place(nodes, need, barred);

  const NoFit& no_fit = std::get<NoFit>(placed);
  EXPECT_EQ(no_fit.classes[0].seats, 1);
  EXPECT_THAT(no_fit.classes[0].refused, ::testing::ElementsAre(RefusedNodes{Reason::kBarred, "", 1}));
  EXPECT_FALSE(no_fit.never);  // a bar is lifted some day
  EXPECT_FALSE(Fits(nodes, need, barred));
  EXPECT_TRUE(Fits(nodes, need));
  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 1, Gpu(1)), barred)), "node-1:1");
}

TEST(PlaceGang, SaysForEachReasonHowManyNodesRefuse) {
  Nodes nodes = MakeNodes(2, Gpu(2));
  Busy(nodes, "node-0", Gpu(2));
  Busy(nodes, "node-1", Gpu(2));
  nodes.Upsert(MakeNode("plain", Cpu(4)));
  nodes.Upsert(MakeNode("tainted", Gpu(8), {}, {{"team", "vision", "NoSchedule"}}));
  kube::Node cordoned = MakeNode("cordoned", Gpu(8));
  cordoned.unschedulable = true;
  nodes.Upsert(cordoned);
  kube::Node silent = MakeNode("silent", Gpu(8));
  silent.conditions[0].status = "Unknown";
  nodes.Upsert(silent);
  nodes.Upsert(MakeNode("full", Gpu(8) + Pods(0)));

  auto placed = Place(nodes, MakeGang(nodes, 3, Gpu(1)));

  const NoFit& no_fit = std::get<NoFit>(placed);
  EXPECT_EQ(no_fit.nodes, 7);
  ASSERT_EQ(no_fit.classes.size(), 1u);
  EXPECT_EQ(no_fit.classes[0].wanted, 3);
  EXPECT_EQ(no_fit.classes[0].seats, 0);
  EXPECT_THAT(no_fit.classes[0].refused,
              ::testing::UnorderedElementsAre(RefusedNodes{Reason::kResource, "nvidia.com/gpu", 3},
                                              RefusedNodes{Reason::kTaint, "team=vision:NoSchedule", 1},
                                              RefusedNodes{Reason::kUnschedulable, "", 1},
                                              RefusedNodes{Reason::kNotReady, "", 1},
                                              RefusedNodes{Reason::kPods, "", 1}));
  EXPECT_EQ(no_fit.classes[0].refused[0].nodes, 3);  // the most first
}

TEST(PlaceGang, NamesTheResourceInShortestSupply) {
  Nodes nodes = MakeNodes(8, Gpu(1) + Cpu(8));
  for (int i = 0; i < 6; ++i) Busy(nodes, "node-" + std::to_string(i), Gpu(1) + Cpu(1));

  NoFit no_fit = std::get<NoFit>(Place(nodes, MakeGang(nodes, 8, Gpu(1) + Cpu(2))));

  EXPECT_EQ(no_fit.shortest, (Supply{"nvidia.com/gpu", 8000, 2000}));
  EXPECT_FALSE(no_fit.never);
  EXPECT_TRUE(no_fit.proved);
}

TEST(PlaceGang, TellsFragmentsFromShortage) {
  Nodes nodes = MakeNodes(4, Gpu(8));
  for (int i = 0; i < 4; ++i) Busy(nodes, "node-" + std::to_string(i), Gpu(4));

  NoFit no_fit = std::get<NoFit>(Place(nodes, MakeGang(nodes, 2, Gpu(8))));

  ASSERT_TRUE(no_fit.shortest);
  EXPECT_GE(no_fit.shortest->free, no_fit.shortest->needed);  // 16 are free, in pieces of 4
  EXPECT_EQ(no_fit.classes[0].seats, 0);
}

TEST(PlaceGang, KnowsWhatCanNeverRunHereUntilANodeComes) {
  Nodes nodes = MakeNodes(2, Gpu(8));
  Need large = MakeGang(nodes, 3, Gpu(8));
  Busy(nodes, "node-0", Gpu(1));
  EXPECT_TRUE(std::get<NoFit>(Place(nodes, large)).never);
  EXPECT_FALSE(IsPossible(nodes, large));
  EXPECT_FALSE(std::get<NoFit>(Place(nodes, MakeGang(nodes, 2, Gpu(8)))).never);

  nodes.Upsert(MakeNode("node-2", Gpu(8)));

  EXPECT_TRUE(IsPossible(nodes, large));
  EXPECT_FALSE(std::get<NoFit>(Place(nodes, large)).never);  // waits for the one busy GPU
}

TEST(PlaceGang, DaemonsHoldTheirShareForEver) {
  Nodes nodes = MakeNodes(2, Cpu(4));
  Need whole = MakeGang(nodes, 2, Cpu(4));
  EXPECT_TRUE(IsPossible(nodes, whole));

  nodes.Occupy(*nodes.Find("node-1"), nodes.HeldClass(MakeNeed(Cpu(1))), 1, Tenure::kDaemon);

  EXPECT_FALSE(IsPossible(nodes, whole));
  auto reasons = PlaceOnEmpty(nodes, whole);
  EXPECT_EQ(std::get<NoFit>(reasons).classes[0].seats, 1);
}

TEST(PlaceGang, MixedGangThatCanNeverRunIsRememberedAndReconsidered) {
  Nodes nodes = MakeNodes(1, Cpu(8));
  Need need{{{nodes.Class(MakeNeed(Cpu(5))), 1}, {nodes.Class(MakeNeed(Cpu(4))), 1}}};
  EXPECT_FALSE(IsPossible(nodes, need));
  EXPECT_FALSE(IsPossible(nodes, need));

  nodes.Upsert(MakeNode("node-1", Cpu(8)));

  EXPECT_TRUE(IsPossible(nodes, need));
}

TEST(PlaceGang, PodsWithOneHostPortSpread) {
  Nodes nodes = MakeNodes(3, Cpu(8));
  kube::PodNeed pod = WithHostPort(MakeNeed(Cpu(1)), 8080);

  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 3, pod))), "node-0:1 node-1:1 node-2:1");

  nodes.Occupy(*nodes.Find("node-1"), nodes.HeldClass(WithHostPort(MakeNeed({}), 8080, "10.0.0.1")));
  NoFit no_fit = std::get<NoFit>(Place(nodes, MakeGang(nodes, 3, pod)));
  EXPECT_EQ(no_fit.classes[0].seats, 2);
  EXPECT_THAT(no_fit.classes[0].refused, ::testing::ElementsAre(RefusedNodes{Reason::kHostPort, "", 1}));
}

TEST(PlaceGang, TrialsLeaveNoTrace) {
  Nodes nodes = MakeNodes(3, Cpu(10));
  Need need{{{nodes.Class(MakeNeed(Cpu(7))), 3}, {nodes.Class(MakeNeed(Cpu(4))), 1}}};
  uint64_t generation = nodes.generation();

  EXPECT_EQ(Text(nodes, Place(nodes, need)), "none");

  EXPECT_EQ(nodes.generation(), generation);
  for (cluster::NodeId node : nodes.ByName()) {
    EXPECT_EQ(nodes.Used(node, "cpu"), 0);
    EXPECT_TRUE(nodes.occupants(node).empty());
  }
}

TEST(PlaceGang, HugeRequestsAndCountsNeverWrapAround) {
  Nodes nodes = MakeNodes(2, kube::Resources{{"cpu", kube::kMaxAmount}, {"memory", kube::kMaxAmount}});

  NoFit no_fit =
      std::get<NoFit>(Place(nodes, MakeGang(nodes, 3, kube::Resources{{"cpu", kube::kMaxAmount}})));
  EXPECT_TRUE(no_fit.never);
  EXPECT_EQ(no_fit.shortest, (Supply{"cpu", kube::kMaxAmount, kube::kMaxAmount}));

  no_fit = std::get<NoFit>(Place(nodes, MakeGang(nodes, INT32_MAX, Cpu(1))));
  EXPECT_EQ(no_fit.shortest, (Supply{"pods", INT32_MAX * 1000LL, 220'000}));

  EXPECT_EQ(Text(nodes, Place(nodes, MakeGang(nodes, 220, MemoryGi(1)))), "node-0:110 node-1:110");
}

}  // namespace
}  // namespace lockstep::gang
