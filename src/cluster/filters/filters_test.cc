#include <gtest/gtest.h>

#include "cluster/filters/host_ports.h"
#include "cluster/filters/readiness.h"
#include "cluster/filters/resources.h"
#include "cluster/filters/selector.h"
#include "cluster/filters/taints.h"
#include "cluster/filters/unschedulable.h"
#include "cluster/testing.h"

namespace lockstep::cluster {
namespace {

using namespace testing;  // NOLINT: builders

TEST(RefuseUnschedulable, UnlessTheCordonIsTolerated) {
  NodeFacts node{.name = "node-0"};
  EXPECT_FALSE(RefuseUnschedulable(MakeNeed({}), node));
  node.unschedulable = true;
  EXPECT_TRUE(RefuseUnschedulable(MakeNeed({}), node));
  EXPECT_TRUE(RefuseUnschedulable(Tolerating(MakeNeed({}), "other"), node));
  EXPECT_FALSE(RefuseUnschedulable(Tolerating(MakeNeed({}), "node.kubernetes.io/unschedulable"), node));
  EXPECT_FALSE(RefuseUnschedulable(Tolerating(MakeNeed({}), ""), node));  // every key
}

TEST(RefuseTaint, NamesTheFirstThatIsNotTolerated) {
  NodeFacts node{
      .name = "node-0",
      .taints = {{"soft", "", "PreferNoSchedule"}, {"a", "", "NoSchedule"}, {"b", "", "NoExecute"}}};
  EXPECT_EQ(RefuseTaint(MakeNeed({}), node), 1u);
  EXPECT_EQ(RefuseTaint(Tolerating(MakeNeed({}), "a"), node), 2u);
  EXPECT_EQ(RefuseTaint(Tolerating(Tolerating(MakeNeed({}), "a"), "b"), node), std::nullopt);
}

TEST(RefuseNotReady, EvenWhereEverythingIsTolerated) {
  EXPECT_FALSE(RefuseNotReady({.name = "node-0"}));
  EXPECT_TRUE(RefuseNotReady({.name = "node-0", .not_ready = true}));

  Nodes nodes;
  kube::Node silent = MakeNode("node-0", Cpu(1));
  silent.conditions[0].status = "Unknown";
  nodes.Upsert(silent);
  EXPECT_EQ(nodes.Seats(nodes.Class(Tolerating(MakeNeed(Cpu(1)), ""))).total(), 0);
  silent.conditions.clear();  // never said anything: its taints decide
  nodes.Upsert(silent);
  EXPECT_EQ(nodes.Seats(nodes.Class(Tolerating(MakeNeed(Cpu(1)), ""))).total(), 1);
}

TEST(RefuseSelector, ByLabelsAndByName) {
  NodeFacts node{.name = "node-0", .labels = {{"zone", "a"}}};
  EXPECT_FALSE(RefuseSelector(MakeNeed({}), node));
  EXPECT_FALSE(RefuseSelector(WithSelector(MakeNeed({}), "zone", "a"), node));
  EXPECT_TRUE(RefuseSelector(WithSelector(MakeNeed({}), "zone", "b"), node));

  kube::PodNeed named = MakeNeed({});
  named.nodes.has_terms = true;
  named.nodes.any = {{.labels = {}, .fields = {{"metadata.name", kube::SelectorOp::kIn, {"node-0"}}}}};
  EXPECT_FALSE(RefuseSelector(named, node));
  named.nodes.any[0].fields[0].values = {"node-1"};
  EXPECT_TRUE(RefuseSelector(named, node));
}

TEST(PortsConflict, ByNumberProtocolAndAddress) {
  std::vector<kube::HostPort> any{{"", "TCP", 80}}, one{{"10.0.0.1", "TCP", 80}},
      two{{"10.0.0.2", "TCP", 80}};
  EXPECT_TRUE(PortsConflict(any, one));
  EXPECT_TRUE(PortsConflict(one, std::vector<kube::HostPort>{{"0.0.0.0", "TCP", 80}}));
  EXPECT_TRUE(PortsConflict(one, one));
  EXPECT_FALSE(PortsConflict(one, two));
  EXPECT_FALSE(PortsConflict(any, std::vector<kube::HostPort>{{"", "UDP", 80}}));
  EXPECT_FALSE(PortsConflict(any, std::vector<kube::HostPort>{{"", "TCP", 81}}));
  EXPECT_FALSE(PortsConflict(any, {}));
}

TEST(RoomFor, IsTheScarcestResource) {
  std::vector<Request> requests{{"gpu", 1000, 0, true}, {"cpu", 3000, 1, false}};
  kube::Amount has[] = {8000, 10'000}, used[] = {2000, 0};
  EXPECT_EQ(RoomFor(requests, has, used).pods, 3);
  used[1] = 7001;
  EXPECT_EQ(RoomFor(requests, has, used).pods, 0);
  EXPECT_EQ(RoomFor(requests, has, used).scarcest, 1u);
  used[0] = 9000;  // over-committed: told first
  EXPECT_EQ(RoomFor(requests, has, used).scarcest, 0u);
}

TEST(RoomFor, SaturatedRequestsNeverFitAndCountsDoNotWrap) {
  kube::Amount has[] = {kube::kMaxAmount}, used[] = {0};
  EXPECT_EQ(RoomFor(std::vector<Request>{{"cpu", kube::kMaxAmount, 0, false}}, has, used).pods, 0);
  EXPECT_EQ(RoomFor(std::vector<Request>{{"cpu", kube::kMaxAmount - 1, 0, false}}, has, used).pods, 1);
  EXPECT_EQ(RoomFor(std::vector<Request>{{"cpu", kube::kMaxAmount / 2, 0, false}}, has, used).pods, 2);
  EXPECT_EQ(RoomFor(std::vector<Request>{{"cpu", 1, 0, false}}, has, used).pods, INT32_MAX);
  EXPECT_EQ(RoomFor(std::vector<Request>{{"cpu", 1, kNoColumn, false}}, has, used).pods, 0);
}

}  // namespace
}  // namespace lockstep::cluster
