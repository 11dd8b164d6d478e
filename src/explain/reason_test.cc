#include "explain/reason.h"

#include <gmock/gmock.h>

namespace lockstep::explain {
namespace {

using cluster::Reason;

gang::NoFit Short(std::string resource, kube::Amount needed, kube::Amount free) {
  gang::NoFit no_fit;
  no_fit.nodes = 4;
  no_fit.shortest = gang::Supply{std::move(resource), needed, free};
  gang::ClassFit fit;
  fit.wanted = 8;
  fit.seats = free / 1000;
  fit.refused = {{Reason::kResource, no_fit.shortest->resource, 4}};
  no_fit.classes = {fit};
  return no_fit;
}

TEST(ExplainNoFit, TellsWhatIsNeededWhatIsFreeAndWhoHoldsTheRest) {
  api::GangReason reason = ExplainNoFit(Short("nvidia.com/gpu", 8000, 0), {{"a", 8000}});
  EXPECT_EQ(reason.code, "InsufficientResources");
  EXPECT_EQ(reason.message, "needs 8 nvidia.com/gpu, 0 free; a holds 8");
}

TEST(ExplainNoFit, TellsOfVolumes) {
  gang::NoFit no_fit = Short("nvidia.com/gpu", 2000, 4000);
  no_fit.classes[0].wanted = 2;
  no_fit.classes[0].seats = 0;
  no_fit.classes[0].refused = {{Reason::kVolume, "data", 3}, {Reason::kVolumeLimit, "", 1}};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "NoMatchingNode");
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "no node takes its pods: 3 nodes can't reach the volume of the claim data, 1 node takes no more "
            "volumes");

  no_fit.related = true;
  no_fit.classes[0].refused.push_back({Reason::kVolumeInUse, "", 2});
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "VolumeInUse");
  no_fit.limit = gang::RuleLimit{Reason::kAffinity, std::string(cluster::kSameNode), 0, 2, 1};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message.substr(0, 68),
            "its 2 pods share a ReadWriteOnce volume, so one node: room for 1; 3 ");
  no_fit.limit = gang::RuleLimit{Reason::kAntiAffinity, std::string(cluster::kWholeCluster), 0, 2, 1};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message.substr(0, 55),
            "its 2 pods share a ReadWriteOncePod claim: room for 1; ");
}

TEST(ExplainNoFit, NamesAtMostThreeHolders) {
  std::vector<Holder> holders = {{"a", 4000}, {"b", 2000}, {"c", 1000}, {"d", 1000}, {"e", 1000}};
  EXPECT_EQ(ExplainNoFit(Short("nvidia.com/gpu", 8000, 1000), holders).message,
            "needs 8 nvidia.com/gpu, 1 free; a holds 4, b holds 2, c holds 1, 2 more hold the rest");
}

TEST(ExplainNoFit, WritesMemoryInBinaryUnits) {
  EXPECT_EQ(ExplainNoFit(Short("memory", (int64_t{64} << 30) * 1000, (int64_t{16} << 30) * 1000), {}).message,
            "needs 64Gi memory, 16Gi free");
}

TEST(ExplainNoFit, SaysNeverWhereTheEmptyClusterIsTooSmall) {
  gang::NoFit no_fit = Short("nvidia.com/gpu", 64000, 32000);
  no_fit.never = true;
  api::GangReason reason = ExplainNoFit(no_fit, {});
  EXPECT_EQ(reason.code, "Impossible");
  EXPECT_EQ(reason.message, "can never run here: needs 64 nvidia.com/gpu, the nodes it may use have 32");
}

TEST(ExplainNoFit, WhatAPersonTookAwayIsNamedInsteadOfNever) {
  gang::NoFit no_fit = Short("nvidia.com/gpu", 64000, 32000);
  no_fit.never = true;
  no_fit.classes[0].refused.push_back({Reason::kUnschedulable, "", 2});
  no_fit.classes[0].refused.push_back({Reason::kNotReady, "", 1});
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "can't run while 1 node is not ready, 2 nodes are cordoned: needs 64 nvidia.com/gpu, the nodes it may "
      "use have 32");
}

TEST(ExplainNoFit, TellsThatAHostPortTakesANodeForEachPod) {
  gang::NoFit no_fit = Short("cpu", 6000, 64000);
  no_fit.classes[0] = {
      .wanted = 6, .seats = 4, .refused = {{Reason::kHostPort, "", 1}}, .host_ports = {80, 81}};
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "6 of its pods want host ports 80, 81, so each its own node; 4 nodes have a seat: 1 node has the host "
      "port in use");
}

TEST(ExplainNoFit, SaysThatWhatIsFreeIsInTooSmallPieces) {
  gang::NoFit no_fit = Short("nvidia.com/gpu", 8000, 8000);
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "Fragmented");
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "needs 8 nvidia.com/gpu, 8 free, but in too small pieces: 4 nodes have too little nvidia.com/gpu");
}

TEST(ExplainNoFit, SaysThatRolesGetInEachOthersWay) {
  gang::NoFit no_fit = Short("nvidia.com/gpu", 2000, 2000);
  no_fit.classes = {{.wanted = 2, .seats = 2}, {.wanted = 1, .seats = 2}};
  api::GangReason reason = ExplainNoFit(no_fit, {});
  EXPECT_EQ(reason.code, "Fragmented");
  EXPECT_EQ(reason.message, "each of its roles would fit alone, but not all of them together");
  no_fit.proved = false;
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "each of its roles would fit alone, but not all of them together; not proved: the search "
            "ended after 200000 steps");
  no_fit.proved = no_fit.never = true;
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "Impossible");
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "can never run here: each of its roles would fit alone, but not all of them together");
  no_fit.shortest->free = 1000;
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "can never run here: needs 2 nvidia.com/gpu, the nodes it may use have 1")
      << "a resource that is short says more";
}

TEST(ExplainNoFit, TellsTheRulesWhereNoNodeTakesThePods) {
  gang::NoFit no_fit;
  no_fit.nodes = 6;
  gang::ClassFit fit;
  fit.wanted = 2;
  fit.refused = {{Reason::kSelector, "", 3},
                 {Reason::kTaint, "team=a:NoSchedule", 1},
                 {Reason::kUnschedulable, "", 1},
                 {Reason::kNotReady, "", 1}};
  no_fit.classes = {fit};
  api::GangReason reason = ExplainNoFit(no_fit, {});
  EXPECT_EQ(reason.code, "NoMatchingNode");
  EXPECT_EQ(reason.message,
            "no node takes its pods: 3 nodes lack the wanted labels, 1 node has the taint team=a:NoSchedule, "
            "1 node is cordoned, 1 node is not ready");
}

gang::NoFit Ruled(int32_t wanted, int64_t seats, std::vector<gang::RefusedNodes> refused) {
  gang::NoFit no_fit;
  no_fit.nodes = 4;
  no_fit.related = true;
  no_fit.classes = {{.wanted = wanted, .seats = seats, .refused = std::move(refused)}};
  return no_fit;
}

TEST(ExplainNoFit, NamesTheRuleBetweenPodsThatLeavesTooLittleRoom) {
  gang::NoFit no_fit = Ruled(5, 4, {{Reason::kUnschedulable, "", 1}});
  no_fit.limit = gang::RuleLimit{Reason::kAntiAffinity, "host", 0, 5, 3};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "AntiAffinity");
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "its 5 pods keep apart by host: room for 3; 1 node is cordoned");
  no_fit.limit = gang::RuleLimit{Reason::kAffinity, "zone", 0, 5, 4};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "its 5 pods must share one value of zone: room for 4; 1 node is cordoned");
  no_fit.limit = gang::RuleLimit{Reason::kSpread, "zone", 1, 5, 4};
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "TopologySpread");
  no_fit.never = true;
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "Impossible");
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "can't run while 1 node is cordoned: its 5 pods spread over zone with maxSkew 1: room for 4; 1 node "
      "is cordoned");
}

TEST(ExplainNoFit, CountsTheNodesThatRulesTakeAway) {
  gang::NoFit no_fit = Ruled(4, 1, {{Reason::kAntiAffinity, "bert", 3}, {Reason::kAffinity, "", 1}});
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "AntiAffinity");
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "its 4 pods find 1 seat: 3 nodes are excluded by anti-affinity with bert, 1 node is near no pod that "
      "its pods must be near");
  no_fit = Ruled(1, 0, {{Reason::kNoTopology, "rack", 2}, {Reason::kSpread, "zone", 1}});
  EXPECT_EQ(
      ExplainNoFit(no_fit, {}).message,
      "its 1 pod finds 0 seats: 2 nodes lack the label rack that its rules go by, 1 node would break the "
      "spread over zone");
}

TEST(ExplainNoFit, SaysWhetherRulesThatTogetherLeaveNoPlacementAreProvedTo) {
  gang::NoFit no_fit = Ruled(4, 8, {});
  EXPECT_EQ(ExplainNoFit(no_fit, {}).code, "PodRules");
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "the rules of its pods about other pods leave no placement for all of them");
  no_fit.proved = false;
  EXPECT_EQ(ExplainNoFit(no_fit, {}).message,
            "the rules of its pods about other pods left no placement that a bounded search found");
}

TEST(ExplainNoFit, AnEmptyClusterHasNoNodes) {
  EXPECT_EQ(ExplainNoFit({}, {}).message, "the cluster has no nodes");
}

TEST(ExplainQuota, SaysWhichQuotaWhatIsAskedUsedAndAllowed) {
  api::GangReason reason = ExplainQuota({"team", "requests.nvidia.com/gpu", 8000, 4000, 8000});
  EXPECT_EQ(reason.code, "QuotaExceeded");
  EXPECT_EQ(reason.message, "quota team: asks for 8 requests.nvidia.com/gpu, used 4 of 8");
}

TEST(ExplainQuota, SaysNeverWhereTheQuotaIsSmallerThanTheJob) {
  kube::Amount gib = (int64_t{1} << 30) * 1000;
  api::GangReason reason = ExplainQuota({"team", "limits.memory", 16 * gib, 0, 8 * gib, /*never=*/true});
  EXPECT_EQ(reason.code, "QuotaTooSmall");
  EXPECT_EQ(reason.message, "can never start: asks for 16Gi limits.memory, quota team allows 8Gi");
}

TEST(ExplainQuota, SaysWhereNobodyHasCounted) {
  api::GangReason reason = ExplainQuota({"team", "pods", 8000, 0, 8000, /*never=*/false, /*unknown=*/true});
  EXPECT_EQ(reason.code, "QuotaUnknown");
  EXPECT_EQ(reason.message, "quota team: nobody has counted yet what of pods is used");
}

}  // namespace
}  // namespace lockstep::explain
