#include "kube/model/quota.h"

#include <gmock/gmock.h>

namespace lockstep::kube {
namespace {

using json::Doc;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Doc Pod(const std::string& text) {
  Doc pod = json::Parse(text).value();
  return pod;
}

ResourceQuota Scoped(const std::string& spec) {
  return ParseResourceQuota(Pod(R"({"metadata":{"namespace":"ns","name":"q"},"spec":)" + spec + "}"));
}

TEST(QuotaCharge, NamesWhatAPodAsksForInEveryWayThatAQuotaMay) {
  QuotaCharge charge = ChargeOf(Pod(R"({"spec":{"containers":[
    {"resources":{"requests":{"cpu":"500m","nvidia.com/gpu":"2"},"limits":{"cpu":"1","memory":"1Gi","nvidia.com/gpu":"2"}}},
    {"resources":{"limits":{"cpu":"2"}}}]}})"));
  Amount gib = Amount{1000} << 30;
  EXPECT_THAT(charge.amounts,
              UnorderedElementsAre(Pair("pods", 1000), Pair("count/pods", 1000), Pair("cpu", 2500),
                                   Pair("requests.cpu", 2500), Pair("limits.cpu", 3000), Pair("memory", gib),
                                   Pair("requests.memory", gib), Pair("limits.memory", gib),
                                   Pair("requests.nvidia.com/gpu", 2000)));
  EXPECT_FALSE(charge.best_effort);
}

TEST(QuotaCharge, LimitsAreThoseOfThePeakAndOverheadJoinsThem) {
  QuotaCharge charge = ChargeOf(Pod(R"({"spec":{"overhead":{"cpu":"1","memory":"1"},
    "initContainers":[{"restartPolicy":"Always","resources":{"limits":{"cpu":"1"}}},{"resources":{"limits":{"cpu":"8"}}}],
    "containers":[{"resources":{"limits":{"cpu":"2"}}}]}})"));
  EXPECT_THAT(charge.amounts, Contains(Pair("limits.cpu", 10'000))) << "8 beside the sidecar's 1, overhead 1";
  EXPECT_FALSE(charge.amounts.contains("limits.memory")) << "overhead alone limits nothing";
}

TEST(QuotaCharge, APodThatIsOverIsAnObjectAndNothingElse) {
  QuotaCharge charge = EndedCharge(ChargeOf(Pod(R"({"spec":{"containers":[{}]}})")));
  EXPECT_THAT(charge.amounts, UnorderedElementsAre(Pair("count/pods", 1000)));
}

TEST(ResourceQuota, ScopesSelectAsTheEvaluatorDoes) {
  QuotaCharge plain = ChargeOf(Pod(R"({"spec":{"containers":[{}]}})"));
  QuotaCharge asks = ChargeOf(Pod(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}})"));
  QuotaCharge bounded = ChargeOf(Pod(R"({"spec":{"activeDeadlineSeconds":0,"containers":[{}]}})"));
  QuotaCharge gold = ChargeOf(Pod(R"({"spec":{"priorityClassName":"gold","containers":[{}]}})"));
  QuotaCharge crosses = ChargeOf(Pod(R"({"spec":{"containers":[{}],"affinity":{"podAntiAffinity":
    {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"namespaceSelector":{}}}]}}}})"));
  auto selects = [](const std::string& spec, const QuotaCharge& charge) {
    return Scoped(spec).Selects(charge);
  };

  EXPECT_TRUE(selects(R"({"scopes":["BestEffort"]})", plain));
  EXPECT_FALSE(selects(R"({"scopes":["BestEffort"]})", asks));
  EXPECT_TRUE(selects(R"({"scopes":["NotBestEffort"]})", asks));
  EXPECT_TRUE(selects(R"({"scopes":["Terminating"]})", bounded));
  EXPECT_FALSE(selects(R"({"scopes":["Terminating"]})", plain));
  EXPECT_TRUE(selects(R"({"scopes":["NotTerminating","BestEffort"]})", plain));
  EXPECT_FALSE(selects(R"({"scopes":["NotTerminating","BestEffort"]})", asks)) << "all of them must select";
  EXPECT_TRUE(selects(R"({"scopes":["PriorityClass"]})", gold));
  EXPECT_FALSE(selects(R"({"scopes":["PriorityClass"]})", plain));
  EXPECT_TRUE(selects(R"({"scopes":["CrossNamespacePodAffinity"]})", crosses));
  EXPECT_FALSE(selects(R"({"scopes":["CrossNamespacePodAffinity"]})", plain));
  EXPECT_FALSE(selects(R"({"scopes":["SomethingNew"]})", plain));

  auto expression = [](const std::string& op, const std::string& values) {
    return R"({"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":")" + op +
           R"(","values":)" + values + "}]}}";
  };
  EXPECT_TRUE(selects(expression("In", R"(["gold","x"])"), gold));
  EXPECT_FALSE(selects(expression("In", R"(["silver"])"), gold));
  EXPECT_TRUE(selects(expression("NotIn", R"(["silver"])"), gold));
  EXPECT_TRUE(selects(expression("NotIn", R"(["silver"])"), plain));
  EXPECT_FALSE(selects(expression("Exists", "[]"), plain));
  EXPECT_TRUE(selects(expression("DoesNotExist", "[]"), plain));
}

TEST(ResourceQuota, ServicesAreChargedWhereNoScopeIs) {
  EXPECT_TRUE(Scoped(R"({"hard":{"services":"1"}})").Selects(ServiceCharge()));
  EXPECT_FALSE(Scoped(R"({"hard":{"services":"1"},"scopes":["BestEffort"]})").Selects(ServiceCharge()));
}

TEST(ResourceQuota, WhatCannotBeReadIsLeftOut) {
  ResourceQuota quota = Scoped(R"({"hard":{"pods":"many","cpu":"1"},"scopes":[1],"scopeSelector":7})");
  EXPECT_THAT(quota.hard, UnorderedElementsAre(Pair("cpu", 1000)));
  EXPECT_THAT(quota.scopes, IsEmpty());
  EXPECT_THAT(ParseResourceQuota(Doc(7)).hard, IsEmpty());
}

TEST(QuotaCharge, HashesByValue) {
  QuotaCharge a = ChargeOf(Pod(R"({"spec":{"containers":[{}]}})"));
  QuotaCharge b = a;
  EXPECT_EQ(Hash(a, 1), Hash(b, 1));
  b.priority_class = "gold";
  EXPECT_NE(Hash(a, 1), Hash(b, 1));
}

}  // namespace
}  // namespace lockstep::kube
