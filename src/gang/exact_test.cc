#include "gang/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::Nodes;
using cluster::View;
using namespace cluster::testing;  // NOLINT: builders

TEST(ExactSearch, ProvesThatNoMixFits) {
  // By the sums there is room (2 × 10 CPUs for 12 + 8), but no node takes a 6 and a second 6, nor 6 and two
  // 4s.
  Nodes nodes = MakeNodes(2, Cpu(9));
  std::vector<RoleNeed> kinds{{nodes.Class(MakeNeed(Cpu(6))), 2}, {nodes.Class(MakeNeed(Cpu(4))), 1}};

  MixedResult result = PlaceExactly(nodes, View::kNow, kinds, {});

  EXPECT_THAT(result.shares, ::testing::IsEmpty());
  EXPECT_TRUE(result.proved);
}

TEST(ExactSearch, StopsAtItsBoundAndSaysSo) {
  Nodes nodes;
  for (int i = 0; i < 40; ++i) {
    nodes.Upsert(MakeNode("node-" + std::to_string(i), Cpu(20 + i) + MemoryGi(60 - i)));
  }
  std::vector<RoleNeed> kinds{{nodes.Class(MakeNeed(Cpu(5) + MemoryGi(2))), 100},
                              {nodes.Class(MakeNeed(Cpu(3) + MemoryGi(4))), 100},
                              {nodes.Class(MakeNeed(Cpu(2) + MemoryGi(7))), 100}};

  MixedResult result = PlaceExactly(nodes, View::kNow, kinds, {}, /*work=*/1'000);

  EXPECT_THAT(result.shares, ::testing::IsEmpty());
  EXPECT_FALSE(result.proved);
}

TEST(ExactSearch, NodesInAnEqualStateCostOneListOfOptions) {
  // 2,000 equal nodes and a thousand pairs that must share: far below the bound of work.
  Nodes nodes = MakeNodes(2'000, Cpu(10) + MemoryGi(10));
  std::vector<RoleNeed> kinds{{nodes.Class(MakeNeed(Cpu(6) + MemoryGi(3))), 1'000},
                              {nodes.Class(MakeNeed(Cpu(4) + MemoryGi(7))), 1'000}};

  MixedResult result = PlaceExactly(nodes, View::kNow, kinds, {});

  EXPECT_TRUE(result.proved);
  EXPECT_THAT(result.shares, ::testing::Not(::testing::IsEmpty()));
}

TEST(ExactSearch, LeavesBarredNodesOut) {
  Nodes nodes = MakeNodes(2, Cpu(10));
  std::vector<RoleNeed> kinds{{nodes.Class(MakeNeed(Cpu(6))), 1}, {nodes.Class(MakeNeed(Cpu(4))), 1}};
  cluster::NodeId barred[] = {*nodes.Find("node-0")};

  MixedResult result = PlaceExactly(nodes, View::kNow, kinds, barred);

  EXPECT_THAT(result.shares, ::testing::UnorderedElementsAre(KindShare{*nodes.Find("node-1"), 0, 1},
                                                             KindShare{*nodes.Find("node-1"), 1, 1}));
  cluster::NodeId both[] = {*nodes.Find("node-0"), *nodes.Find("node-1")};
  EXPECT_TRUE(PlaceExactly(nodes, View::kNow, kinds, both).proved);
}

}  // namespace
}  // namespace lockstep::gang
