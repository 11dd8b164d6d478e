#include "gang/related.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/related_exact.h"
#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::Nodes;
using cluster::Reason;
using cluster::Tenure;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace cluster::testing;  // NOLINT: builders
using testing::Text;

// The node's own label and its zone.
void AddNode(Nodes& nodes, const std::string& name, const std::string& zone, const kube::Resources& has,
             std::vector<kube::Taint> taints = {}) {
  kube::Labels labels = {{"host", name}};
  if (!zone.empty()) labels["zone"] = zone;
  nodes.Upsert(MakeNode(name, has, labels, std::move(taints)));
}

// `count` nodes in zone "a", then as many in "b" and so on.
Nodes ZonedNodes(const std::string& zones, int count, const kube::Resources& has) {
  Nodes nodes;
  for (char zone : zones) {
    for (int i = 0; i < count; ++i)
      AddNode(nodes, std::string(1, zone) + "-" + std::to_string(i), std::string(1, zone), has);
  }
  return nodes;
}

RoleNeed Role(Nodes& nodes, int32_t count, const kube::PodNeed& pod, kube::Labels labels = {{"app", "x"}}) {
  return {nodes.Class(pod), count, Who("own", std::move(labels), pod)};
}

Need OneRole(Nodes& nodes, int32_t count, const kube::PodNeed& pod, kube::Labels labels = {{"app", "x"}}) {
  return {{Role(nodes, count, pod, std::move(labels))}};
}

// Pods of somebody's on the node.
void Stand(Nodes& nodes, const std::string& node, kube::Labels labels, const kube::PodNeed& pod = {},
           int pods = 1, bool leaving = false, const std::string& name = "bert") {
  nodes.Occupy(*nodes.Find(node), nodes.HeldClass(pod), pods, Tenure::kPod, Who(name, std::move(labels), pod),
               leaving);
}

const NoFit& NoFitOf(const std::variant<Placement, NoFit>& result) { return std::get<NoFit>(result); }

TEST(AntiAffinity, ByHostGivesEachPodItsOwnNode) {
  Nodes nodes = ZonedNodes("a", 4, Gpu(8));
  kube::PodNeed pod = Apart(MakeNeed(Gpu(1)), Labelled("app", "x"), "host");

  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 3, pod))), "a-0:1 a-1:1 a-2:1");
  auto result = Place(nodes, OneRole(nodes, 5, pod));
  ASSERT_EQ(Text(nodes, result), "none");
  EXPECT_TRUE(NoFitOf(result).proved);
  EXPECT_TRUE(NoFitOf(result).never);
  EXPECT_EQ(NoFitOf(result).limit, (RuleLimit{Reason::kAntiAffinity, "host", 0, 5, 4}));
}

TEST(AntiAffinity, TakesTheTightestNodesAndKeepsWholeOnes) {
  Nodes nodes = ZonedNodes("a", 4, Gpu(8));
  Busy(nodes, "a-2", Gpu(7));
  Busy(nodes, "a-3", Gpu(6));
  kube::PodNeed pod = Apart(MakeNeed(Gpu(1)), Labelled("app", "x"), "host");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 2, pod))), "a-2:1 a-3:1");
}

TEST(AntiAffinity, HoldsBetweenRolesThatOneOfThemStates) {
  Nodes nodes = ZonedNodes("a", 2, Gpu(8));
  kube::PodNeed shy = Apart(MakeNeed(Gpu(1)), Labelled("role", "worker"), "host");
  Need need{
      {Role(nodes, 1, shy, {{"role", "master"}}), Role(nodes, 3, MakeNeed(Gpu(1)), {{"role", "worker"}})}};

  EXPECT_EQ(Text(nodes, Place(nodes, need)), "a-1:1 a-0:3");
}

TEST(AntiAffinity, OfPodsThatAreThereHoldsAgainstPodsWithoutRules) {
  Nodes nodes = ZonedNodes("ab", 2, Gpu(8));
  kube::PodNeed keeper = Apart(MakeNeed(Gpu(1)), Labelled("app", "x"), "zone");
  Stand(nodes, "a-0", {{"app", "other"}}, keeper);

  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 16, MakeNeed(Gpu(1))))), "b-0:8 b-1:8");
  auto result = Place(nodes, OneRole(nodes, 17, MakeNeed(Gpu(1))));
  EXPECT_THAT(NoFitOf(result).classes[0].refused,
              ElementsAre(RefusedNodes{Reason::kAntiAffinity, "bert", 2}));
  EXPECT_EQ(NoFitOf(result).classes[0].seats, 16);
  EXPECT_FALSE(NoFitOf(result).never);  // who is there may go
  // Pods that it does not select, and pods of another namespace, are free to join it.
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 8, MakeNeed(Gpu(1)), {{"app", "y"}}))), "a-1:8");
  EXPECT_TRUE(Fits(nodes, OneRole(nodes, 30, MakeNeed(Gpu(1)), {{"app", "y"}})));
  Need elsewhere{
      {{nodes.Class(MakeNeed(Gpu(1))), 30, cluster::MakeIdentity("prod", {{"app", "x"}}, {}, "own")}}};
  EXPECT_TRUE(Fits(nodes, elsewhere));
}

TEST(AntiAffinity, OfADaemonHoldsOnTheEmptyClusterToo) {
  Nodes nodes = ZonedNodes("a", 2, Gpu(8));
  kube::PodNeed keeper = Apart(MakeNeed({}), Labelled("app", "x"), "host");
  nodes.Occupy(*nodes.Find("a-0"), nodes.HeldClass(keeper), 1, Tenure::kDaemon, Who("guard", {}, keeper));

  EXPECT_FALSE(IsPossible(nodes, OneRole(nodes, 9, MakeNeed(Gpu(1)))));
  EXPECT_TRUE(IsPossible(nodes, OneRole(nodes, 8, MakeNeed(Gpu(1)))));
}

TEST(Affinity, KeepsAGangInTheTightestZoneThatTakesItAll) {
  Nodes nodes = ZonedNodes("abc", 2, Gpu(8));
  Busy(nodes, "a-0", Gpu(8));
  Busy(nodes, "c-0", Gpu(6));
  kube::PodNeed pod = Near(MakeNeed(Gpu(1)), Labelled("app", "x"), "zone");

  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 4, pod))), "a-1:4");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 10, pod))), "c-1:8 c-0:2");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 16, pod))), "b-0:8 b-1:8");
  auto result = Place(nodes, OneRole(nodes, 17, pod));
  EXPECT_EQ(NoFitOf(result).limit, (RuleLimit{Reason::kAffinity, "zone", 0, 17, 16}));
  EXPECT_TRUE(NoFitOf(result).never);
}

TEST(Affinity, FollowsThePodsThatAreThere) {
  Nodes nodes = ZonedNodes("ab", 2, Gpu(8));
  kube::PodNeed pod = Near(MakeNeed(Gpu(1)), Labelled("app", "cache"), "zone");
  auto nobody = Place(nodes, OneRole(nodes, 2, pod));
  EXPECT_THAT(NoFitOf(nobody).classes[0].refused, ElementsAre(RefusedNodes{Reason::kAffinity, "", 4}));

  Stand(nodes, "b-0", {{"app", "cache"}});
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 2, pod))), "b-0:2");
  EXPECT_FALSE(Fits(nodes, OneRole(nodes, 17, pod)));
  Stand(nodes, "a-0", {{"app", "cache"}}, {}, 1, /*leaving=*/true);  // still there, as kube-scheduler has it
  EXPECT_TRUE(Fits(nodes, OneRole(nodes, 17, pod)));
}

TEST(Affinity, WorkersFollowTheMasterWhicheverRoleComesFirst) {
  Nodes nodes = ZonedNodes("ab", 2, Gpu(4));
  Busy(nodes, "a-0", Gpu(3));
  kube::PodNeed worker = Near(MakeNeed(Gpu(1)), Labelled("role", "master"), "zone");
  Need need{
      {Role(nodes, 7, worker, {{"role", "worker"}}), Role(nodes, 1, MakeNeed(Gpu(1)), {{"role", "master"}})}};
  EXPECT_EQ(Text(nodes, Place(nodes, need)), "b-0:4 b-1:4");
}

TEST(Affinity, WithAntiAffinityByHostIsOnePerNodeOfOneZone) {
  Nodes nodes = ZonedNodes("ab", 3, Gpu(8));
  Busy(nodes, "a-1", Gpu(8));
  kube::PodNeed pod =
      Apart(Near(MakeNeed(Gpu(1)), Labelled("app", "x"), "zone"), Labelled("app", "x"), "host");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 3, pod))), "b-0:1 b-1:1 b-2:1");
  auto result = Place(nodes, OneRole(nodes, 4, pod));
  EXPECT_TRUE(NoFitOf(result).proved);
}

TEST(Spread, OverZonesWithMaxSkewOneIsEven) {
  Nodes nodes = ZonedNodes("abc", 2, Gpu(8));
  kube::PodNeed pod = Spread(MakeNeed(Gpu(1)), Labelled("app", "x"), "zone");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 6, pod))), "a-0:2 b-0:2 c-0:2");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 8, pod))), "a-0:3 b-0:3 c-0:2");
}

TEST(Spread, RisesOnlyAsFarAsTheScarcestZoneLets) {
  Nodes nodes = ZonedNodes("abc", 2, Gpu(8));
  Busy(nodes, "c-0", Gpu(8));
  Busy(nodes, "c-1", Gpu(7));
  kube::PodNeed pod = Spread(MakeNeed(Gpu(1)), Labelled("app", "x"), "zone");
  EXPECT_TRUE(Fits(nodes, OneRole(nodes, 5, pod)));
  auto result = Place(nodes, OneRole(nodes, 6, pod));
  EXPECT_EQ(NoFitOf(result).limit, (RuleLimit{Reason::kSpread, "zone", 1, 6, 5}));
  EXPECT_FALSE(NoFitOf(result).never);
}

TEST(Spread, WithAntiAffinityByZoneTheSeatOfAZoneMayBeOnAnyOfItsNodes) {
  Nodes nodes = ZonedNodes("ab", 2, Cpu(4));
  Stand(nodes, "a-0", {{"app", "x"}});  // its zone's first node is the fuller one
  Stand(nodes, "b-0", {{"app", "x"}});
  kube::PodNeed pod = Apart(MakeNeed(Cpu(1)), Labelled("role", "own"), "zone");
  pod = Spread(pod, Labelled("app", "x"), "host");
  EXPECT_EQ(Text(nodes, Place(nodes, OneRole(nodes, 2, pod, {{"app", "x"}, {"role", "own"}}))),
            "a-1:1 b-1:1");
}

// --- tables: one pod, on which nodes may it go? ---

struct Case {
  const char* name;
  kube::PodNeed pod;
  std::vector<std::string> fits;
  kube::Labels labels = {{"app", "x"}};
};

std::vector<std::string> NodesThatFit(Nodes& nodes, const Need& need) {
  std::vector<std::string> names;
  for (cluster::NodeId node : nodes.ByName()) {
    std::vector<cluster::NodeId> barred = nodes.ByName();
    std::erase(barred, node);
    if (Fits(nodes, need, barred)) names.push_back(nodes.name(node));
  }
  return names;
}

void Check(Nodes& nodes, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    EXPECT_EQ(NodesThatFit(nodes, OneRole(nodes, 1, one.pod, one.labels)), one.fits) << one.name;
  }
}

kube::PodNeed Only(kube::PodNeed pod, kube::SelectorOp op, const std::string& zone) {
  pod.nodes.has_terms = true;
  pod.nodes.any = {{.labels = {{"zone", op, {zone}}}, .fields = {}}};
  return pod;
}

// Kubernetes docs, "Pod Topology Spread Constraints": the examples with four nodes in two zones.
TEST(SpreadExamples, OfTheKubernetesDocs) {
  Nodes nodes;
  for (const char* name : {"node1", "node2"}) AddNode(nodes, name, "zoneA", Cpu(8));
  for (const char* name : {"node3", "node4"}) AddNode(nodes, name, "zoneB", Cpu(8));
  for (const char* name : {"node1", "node2", "node3"}) Stand(nodes, name, {{"app", "x"}});
  kube::PodQuery own = Labelled("app", "x");
  kube::PodNeed pod = MakeNeed(Cpu(1));
  Check(nodes,
        {{"one constraint: only zone B", Spread(pod, own, "zone"), {"node3", "node4"}},
         {"by node: only the empty one", Spread(pod, own, "host"), {"node4"}},
         {"two constraints: node4 meets both", Spread(Spread(pod, own, "zone"), own, "host"), {"node4"}},
         {"maxSkew 2 by zone: any", Spread(pod, own, "zone", 2), {"node1", "node2", "node3", "node4"}}});

  // "Conflicting": zone says zone B, node says node2.
  Nodes three;
  AddNode(three, "node1", "zoneA", Cpu(8));
  AddNode(three, "node2", "zoneA", Cpu(8));
  AddNode(three, "node3", "zoneB", Cpu(8));
  Stand(three, "node1", {{"app", "x"}}, {}, 2);
  Stand(three, "node2", {{"app", "x"}});
  Stand(three, "node3", {{"app", "x"}}, {}, 2);
  Check(three, {{"both", Spread(Spread(pod, own, "zone"), own, "host"), {}}});

  // With node affinity: zone C is out, so that its emptiness does not count.
  AddNode(nodes, "node5", "zoneC", Cpu(8));
  kube::PodNeed away = Only(Spread(pod, own, "zone"), kube::SelectorOp::kNotIn, "zoneC");
  kube::PodNeed ignoring = away;
  ignoring.rules.spread[0].honors_affinity = false;
  Check(nodes, {{"honored", away, {"node3", "node4"}},
                {"ignored", ignoring, {}},
                {"without", Spread(pod, own, "zone"), {"node5"}}});
}

// kube-scheduler's own cases, podtopologyspread/filtering_test.go TestSingleConstraint and
// TestMultipleConstraints: node-a, node-b in zone1, node-x, node-y in zone2.
TEST(SpreadExamples, OfKubeSchedulersOwnTests) {
  auto make = [](std::vector<int> pods, bool b_has_zone = true) {
    Nodes nodes;
    const char* names[] = {"node-a", "node-b", "node-x", "node-y"};
    for (int i = 0; i < 4; ++i) {
      AddNode(nodes, names[i], i == 1 && !b_has_zone ? "" : i < 2 ? "zone1" : "zone2", Cpu(8));
      if (pods[static_cast<size_t>(i)] > 0)
        Stand(nodes, names[i], {{"app", "x"}}, {}, pods[static_cast<size_t>(i)]);
    }
    return nodes;
  };
  kube::PodQuery own = Labelled("app", "x");
  kube::PodNeed pod = MakeNeed(Cpu(1));
  std::vector<std::string> all = {"node-a", "node-b", "node-x", "node-y"};

  Nodes none = make({0, 0, 0, 0});
  Check(none, {{"no existing pods", Spread(pod, own, "zone"), all},
               {"doesn't match itself", Spread(pod, Labelled("app", "z"), "zone"), all},
               {"no node has the label", Spread(pod, own, "rack"), {}}});
  Nodes even = make({2, 1, 1, 2});
  Check(even, {{"3/3 over zones", Spread(pod, own, "zone"), all}});
  Nodes unlabelled = make({1, 1, 2, 0}, /*b_has_zone=*/false);
  Check(unlabelled, {{"1/2, node-b lacks the label", Spread(pod, own, "zone"), {"node-a"}}});
  Nodes uneven = make({2, 1, 0, 3});
  kube::PodNeed not_itself = Spread(pod, own, "host");
  Check(uneven, {{"2/1/0/3 by node", Spread(pod, own, "host"), {"node-x"}},
                 {"maxSkew 2", Spread(pod, own, "host", 2), {"node-b", "node-x"}},
                 {"doesn't match itself", not_itself, {"node-b", "node-x"}, {{"app", "other"}}},
                 {"affinity to zone1 leaves 2/1",
                  Only(Spread(pod, own, "host"), kube::SelectorOp::kIn, "zone1"),
                  {"node-b"}},
                 {"3/3 by zone and by node", Spread(Spread(pod, own, "zone"), own, "host"), {"node-x"}}});
}

TEST(SpreadExamples, LeavingPodsAndOtherNamespacesDoNotCount) {
  Nodes nodes = ZonedNodes("ab", 1, Cpu(8));
  Stand(nodes, "a-0", {{"app", "x"}}, {}, 3, /*leaving=*/true);
  nodes.Occupy(*nodes.Find("a-0"), nodes.HeldClass({}), 1, Tenure::kPod,
               cluster::MakeIdentity("prod", {{"app", "x"}}, {}, "p"));
  kube::PodNeed pod = Spread(MakeNeed(Cpu(1)), Labelled("app", "x"), "zone");
  Check(nodes, {{"both zones count as empty", pod, {"a-0", "b-0"}}});
}

// KEP-3022: with fewer domains than minDomains the fewest counts as zero.
TEST(SpreadExamples, MinDomains) {
  Nodes nodes = ZonedNodes("ab", 1, Cpu(8));
  Stand(nodes, "a-0", {{"app", "x"}});
  Stand(nodes, "b-0", {{"app", "x"}});
  kube::PodNeed pod = Spread(MakeNeed(Cpu(1)), Labelled("app", "x"), "zone");
  Check(nodes, {{"1/1", pod, {"a-0", "b-0"}}});
  pod.rules.spread[0].min_domains = 3;
  Check(nodes, {{"1/1, wants three zones", pod, {}}});
  AddNode(nodes, "c-0", "c", Cpu(8));
  Check(nodes, {{"1/1/0", pod, {"c-0"}}});
}

// KEP-3094: a tainted node's domain counts unless nodeTaintsPolicy is Honor.
TEST(SpreadExamples, NodeTaintsPolicy) {
  Nodes nodes = ZonedNodes("ab", 1, Cpu(8));
  AddNode(nodes, "c-0", "c", Cpu(8), {{"t", "", "NoSchedule"}});
  Stand(nodes, "a-0", {{"app", "x"}});
  Stand(nodes, "b-0", {{"app", "x"}});
  kube::PodNeed pod = Spread(MakeNeed(Cpu(1)), Labelled("app", "x"), "zone");
  Check(nodes,
        {{"zone c is the emptiest, and closed", pod, {}}, {"tolerated", Tolerating(pod, "t"), {"c-0"}}});
  pod.rules.spread[0].honors_taints = true;
  Check(nodes,
        {{"zone c does not count", pod, {"a-0", "b-0"}}, {"tolerated", Tolerating(pod, "t"), {"c-0"}}});
}

// kube-scheduler's own cases, interpodaffinity/filtering_test.go.
TEST(AffinityExamples, OfKubeSchedulersOwnTests) {
  Nodes nodes = ZonedNodes("ab", 2, Cpu(8));
  AddNode(nodes, "none", "", Cpu(8));
  Stand(nodes, "a-0", {{"service", "securityscan"}});
  kube::PodNeed pod = MakeNeed(Cpu(1));
  kube::PodQuery scan = Labelled("service", "securityscan");
  kube::PodQuery not_other = scan, elsewhere = scan, everywhere = scan, by_name = scan, nothing;
  not_other.labels.requirements = {{"service", kube::SelectorOp::kNotIn, {"a", "b"}}};
  elsewhere.namespaces = {"prod"};
  everywhere.namespaces.clear();
  everywhere.namespace_selector = kube::LabelSelector{};
  by_name.namespaces.clear();
  by_name.namespace_selector =
      kube::LabelSelector{{{"kubernetes.io/metadata.name", kube::SelectorOp::kIn, {"default"}}}};
  nothing.nothing = true;
  nothing.namespaces = {"default"};
  std::vector<std::string> zone_a = {"a-0", "a-1"};
  std::vector<std::string> not_a = {"b-0", "b-1", "none"}, all = {"a-0", "a-1", "b-0", "b-1", "none"};
  Check(nodes, {
                   {"In matches", Near(pod, scan, "zone"), zone_a},
                   {"NotIn matches", Near(pod, not_other, "zone"), zone_a},
                   {"another namespace", Near(pod, elsewhere, "zone"), {}},
                   {"every namespace", Near(pod, everywhere, "zone"), zone_a},
                   {"a namespace by its name", Near(pod, by_name, "zone"), zone_a},
                   {"a null selector", Near(pod, nothing, "zone"), {}},
                   {"two terms, one unmet", Near(Near(pod, scan, "zone"), Labelled("a", "b"), "zone"), {}},
                   {"two keys", Near(Near(pod, scan, "zone"), scan, "host"), {"a-0"}},
                   {"no node has the key", Near(pod, scan, "rack"), {}},
                   {"itself first", Near(pod, Labelled("app", "x"), "zone"), {"a-0", "a-1", "b-0", "b-1"}},
                   {"only itself, but not by all terms",
                    Near(Near(pod, Labelled("app", "x"), "zone"), Labelled("a", "b"), "zone"),
                    {}},
                   {"apart: nodes without the key pass", Apart(pod, scan, "zone"), not_a},
                   {"apart from another namespace's", Apart(pod, elsewhere, "zone"), all},
                   {"apart from nothing", Apart(pod, nothing, "zone"), all},
                   {"near and apart", Apart(Near(pod, scan, "zone"), scan, "host"), {"a-1"}},
               });
}

TEST(RelatedSearch, SaysWhereItsBoundOfWorkIsReached) {
  Nodes nodes = ZonedNodes("abcd", 5, Cpu(9));
  kube::PodQuery own = Labelled("app", "x");
  std::vector<RoleNeed> kinds = {
      Role(nodes, 30, Spread(Spread(MakeNeed(Cpu(4)), own, "zone"), own, "host"), {{"app", "x"}}),
      Role(nodes, 30, Spread(MakeNeed(Cpu(3)), own, "zone"), {{"app", "x"}})};
  Board board(nodes, cluster::View::kNow, kinds, {});
  EXPECT_EQ(FillExactly(board, /*work=*/500), Found::kGaveUp);
  EXPECT_THAT(board.touched(), IsEmpty());
  EXPECT_EQ(board.total_left(), 60);
}

TEST(RelatedSearch, AnswersOf5000NodesAreProvedWhereOneRuleDecides) {
  Nodes nodes;
  for (int i = 0; i < 5'000; ++i)
    AddNode(nodes, "n-" + std::to_string(i), std::to_string(i % 3), Gpu(1 + i % 8));
  kube::PodQuery own = Labelled("app", "x");
  for (auto& [pod, most] : std::vector<std::pair<kube::PodNeed, int>>{
           {Apart(MakeNeed(Gpu(1)), own, "host"), 5'000}, {Apart(MakeNeed(Gpu(1)), own, "zone"), 3}}) {
    EXPECT_TRUE(Fits(nodes, OneRole(nodes, std::min(most, 512), pod)));
    EXPECT_FALSE(IsPossible(nodes, OneRole(nodes, most + 1, pod)));
  }
  EXPECT_TRUE(Fits(nodes, OneRole(nodes, 512, Near(MakeNeed(Gpu(1)), own, "zone"))));
  EXPECT_TRUE(Fits(nodes, OneRole(nodes, 512, Spread(MakeNeed(Gpu(1)), own, "zone"))));
  EXPECT_FALSE(IsPossible(nodes, OneRole(nodes, 10'000, Near(MakeNeed(Gpu(1)), own, "zone"))));
}

}  // namespace
}  // namespace lockstep::gang
