#include "kube/model/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/model/pod.h"

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodNeed NeedOf(const char* spec, const char* labels = "{}") {
  json::Doc pod = {{"metadata", {{"name", "a"}, {"namespace", "n"}, {"labels", *json::Parse(labels)}}},
                   {"spec", *json::Parse(spec)}};
  Result<PodNeed> need = ParsePodNeed(pod);
  EXPECT_TRUE(need.ok()) << need.error().message;
  return need.ok() ? *need : PodNeed{};
}

std::string AntiAffinity(const std::string& term) {
  return R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [)" + term +
         "]}}}";
}

TEST(PodRules, TermsAreOfThePodsOwnNamespaceUnlessTheySayOtherwise) {
  PodNeed need = NeedOf(AntiAffinity(R"({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}},
                                        {"topologyKey": "host", "namespaces": ["p", "m"]},
                                        {"topologyKey": "host", "namespaceSelector": {}, "labelSelector": {}})")
                            .c_str());
  ASSERT_EQ(need.rules.anti_affinity.size(), 3u);
  const PodQuery& own = need.rules.anti_affinity[0].pods;
  EXPECT_EQ(need.rules.anti_affinity[0].topology_key, "zone");
  EXPECT_TRUE(own.Matches("n", {{"a", "b"}}));
  EXPECT_FALSE(own.Matches("m", {{"a", "b"}}));
  EXPECT_FALSE(own.Matches("n", {{"a", "c"}}));
  const PodQuery& named = need.rules.anti_affinity[1].pods;
  EXPECT_THAT(named.namespaces, ElementsAre("m", "p"));
  EXPECT_TRUE(named.nothing);
  EXPECT_FALSE(named.Matches("m", {}));  // a null selector selects nothing
  EXPECT_TRUE(need.rules.anti_affinity[2].pods.Matches("any", {}));
  EXPECT_THAT(need.unmet, IsEmpty());
}

TEST(PodRules, NamespacesAreSelectedByNameAndNothingElse) {
  const char* by_name =
      R"({"topologyKey": "z", "labelSelector": {}, "namespaceSelector": {"matchExpressions": [
      {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}})";
  PodNeed need = NeedOf(AntiAffinity(by_name).c_str());
  EXPECT_THAT(need.unmet, IsEmpty());
  EXPECT_TRUE(need.rules.anti_affinity[0].pods.Matches("n", {}));
  EXPECT_FALSE(need.rules.anti_affinity[0].pods.Matches("kube-system", {}));

  const char* by_label =
      R"({"topologyKey": "z", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}})";
  need = NeedOf(AntiAffinity(by_label).c_str());
  EXPECT_THAT(need.unmet,
              ElementsAre("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
                          "namespaceSelector by other labels than kubernetes.io/metadata.name"));
  EXPECT_TRUE(need.rules.anti_affinity[0].pods.Matches("n", {}));  // it may
}

TEST(PodRules, LabelKeysStandForThePodsOwnValues) {
  const char* term = R"({"topologyKey": "z", "labelSelector": {"matchLabels": {"app": "x"}},
                         "matchLabelKeys": ["job", "absent"], "mismatchLabelKeys": ["team"]})";
  PodNeed need = NeedOf(AntiAffinity(term).c_str(), R"({"app": "x", "job": "bert", "team": "a"})");
  const PodQuery& pods = need.rules.anti_affinity[0].pods;
  EXPECT_EQ(pods.labels.text(), "app=x,job=bert,team!=a");

  // As an API server leaves it; a label that changed since does not matter.
  const char* merged =
      R"({"topologyKey": "z", "matchLabelKeys": ["job"], "labelSelector": {"matchExpressions": [
      {"key": "job", "operator": "In", "values": ["bert"]}]}})";
  need = NeedOf(AntiAffinity(merged).c_str(), R"({"job": "other"})");
  EXPECT_EQ(need.rules.anti_affinity[0].pods.labels.text(), "job=bert");
}

TEST(PodRules, SpreadConstraintsWithTheirDefaults) {
  PodNeed need = NeedOf(R"({"topologySpreadConstraints": [
      {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
      {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
       "labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["hash"]},
      {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3,
       "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}]})",
                        R"({"hash": "1"})");
  ASSERT_EQ(need.rules.spread.size(), 2u);
  const SpreadRule& first = need.rules.spread[0];
  EXPECT_EQ(std::tie(first.max_skew, first.min_domains, first.honors_affinity, first.honors_taints),
            std::tuple(2, 1, true, false));
  EXPECT_EQ(first.pods.labels.text(), "app=x,hash=1");
  EXPECT_THAT(first.pods.namespaces, ElementsAre("n"));
  const SpreadRule& second = need.rules.spread[1];
  EXPECT_EQ(std::tie(second.max_skew, second.min_domains, second.honors_affinity, second.honors_taints),
            std::tuple(1, 3, false, true));
  EXPECT_TRUE(second.pods.nothing);
}

TEST(PodRules, WhatIsNotARuleIsAnErrorByItsPath) {
  auto error = [](const std::string& spec) {
    Result<PodNeed> need = ParsePodNeed({{"spec", *json::Parse(spec)}});
    return need.ok() ? "" : need.error().message;
  };
  std::string path = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].";
  EXPECT_EQ(error(AntiAffinity("{}")), path + "topologyKey: must not be empty");
  EXPECT_EQ(
      error(AntiAffinity(R"({"topologyKey": "z", "labelSelector": {"matchExpressions": [{"key": "a"}]}})")),
      path + "labelSelector.matchExpressions[0].operator: not an operator here: \"\"");
  EXPECT_EQ(error(R"({"topologySpreadConstraints": [{"topologyKey": "z", "maxSkew": 0}]})"),
            "spec.topologySpreadConstraints[0].maxSkew: must be at least 1");
}

TEST(PodRules, TooManyAreRefusedByName) {
  std::string terms;
  for (int i = 0; i < 33; ++i) terms += std::string(i == 0 ? "" : ",") + R"({"topologyKey": "z"})";
  EXPECT_THAT(NeedOf(AntiAffinity(terms).c_str()).unmet, ElementsAre("more than 32 rules between pods"));
}

}  // namespace
}  // namespace lockstep::kube
