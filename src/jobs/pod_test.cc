#include "jobs/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/labels.h"
#include "jobs/testing.h"

namespace lockstep::jobs {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(PodName, IsUpstreamsInTheFirstAttempt) {
  EXPECT_EQ(PodName("bert-worker-3", 1), "bert-worker-3");
  EXPECT_EQ(PodName("bert-worker-3", 2), "bert-worker-3-r2");
  EXPECT_EQ(PodName("bert-worker-3", 1000), "bert-worker-3-r1000");
}

TEST(PodName, IsWholeUpTo63Characters) {
  std::string name(63, 'a');
  EXPECT_EQ(PodName(name, 1), name);
  std::string with_attempt = std::string(60, 'a');
  EXPECT_EQ(PodName(with_attempt, 2), with_attempt + "-r2");
}

TEST(PodName, IsShortenedAbove63AndTheAttemptStaysReadable) {
  std::string name = std::string(60, 'a') + "-worker-12";
  EXPECT_THAT(PodName(name, 1), SizeIs(63));
  EXPECT_THAT(PodName(name, 1), StartsWith("aaaa"));
  EXPECT_THAT(PodName(name, 2), EndsWith("-r2"));
  EXPECT_THAT(PodName(name, 123456), EndsWith("-r123456"));
  EXPECT_NE(PodName(name, 1), PodName(std::string(60, 'a') + "-worker-13", 1));
}

TEST(PodName, NeverEndsItsPrefixWithADash) {
  // The cut falls behind a dash: "a...a-" + "-hash" would read as an empty part.
  std::string name = std::string(51, 'a') + "-" + std::string(30, 'b');
  EXPECT_EQ(PodName(name, 1).find("--"), std::string::npos);
}

RC_GTEST_PROP(PodName, IsALabelAndUniqueWhateverTheLength, ()) {
  std::string job = "j" + std::string(*rc::gen::inRange<size_t>(0, 70), 'x');
  auto attempt = *rc::gen::inRange<int64_t>(1, 100000);
  int first = *rc::gen::inRange(0, 20000), second = *rc::gen::inRange(0, 20000);
  std::string name = PodName(job + "-worker-" + std::to_string(first), attempt);
  RC_ASSERT(name.size() <= 63u);
  RC_ASSERT((first == second) == (name == PodName(job + "-worker-" + std::to_string(second), attempt)));
  RC_ASSERT(name != PodName(job + "-worker-" + std::to_string(first), attempt + 1));
}

json::Doc SmallPod() {
  return {{"metadata", {{"name", "bert-worker-0"}}},
          {"spec",
           {{"initContainers", json::Doc::array({{{"name", "wait"}}})},
            {"containers", json::Doc::array({{{"name", "pytorch"},
                                              {"env", json::Doc::array({{{"name", "A"}, {"value", "1"}}})}},
                                             {{"name", "sidecar"}}})}}}};
}

TEST(StampPod, WritesTheAttemptWhereEveryoneSeesIt) {
  json::Doc pod = SmallPod();
  StampPod(pod, 3);
  SendBy(pod, api::Way::kAssign, "gpu-7");
  EXPECT_EQ(pod["metadata"]["name"], "bert-worker-0-r3");
  EXPECT_EQ(pod["metadata"]["labels"][std::string(api::kAttemptLabel)], "3");
  EXPECT_EQ(pod["spec"]["nodeName"], "gpu-7");
  json::Doc attempt = {{"name", "LOCKSTEP_ATTEMPT"}, {"value", "3"}};
  EXPECT_EQ(pod["spec"]["containers"][0]["env"],
            json::Doc::array({{{"name", "A"}, {"value", "1"}}, attempt}));
  EXPECT_EQ(pod["spec"]["containers"][1]["env"], json::Doc::array({attempt}));
  EXPECT_EQ(pod["spec"]["initContainers"][0]["env"], json::Doc::array({attempt}));
}

TEST(StampPod, WithoutASeatLeavesTheNodeOpen) {
  json::Doc pod = SmallPod();
  StampPod(pod, 1);
  SendBy(pod, api::Way::kAssign, "");
  EXPECT_EQ(pod["metadata"]["name"], "bert-worker-0");
  EXPECT_FALSE(pod["spec"].contains("nodeName"));
}

TEST(StampPod, AsksAutoscalersToLeaveItUnlessTheTemplateSaysOtherwise) {
  json::Doc pod = {{"metadata", {{"annotations", {{"karpenter.sh/do-not-disrupt", "false"}}}}}};
  StampPod(pod, 1);
  EXPECT_EQ(pod["metadata"]["annotations"],
            json::Doc({{"karpenter.sh/do-not-disrupt", "false"},
                       {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}}));
}

TEST(SendBy, ABoundPodNamesOurSchedulerAndNoNode) {
  json::Doc pod = {{"spec", {{"nodeName", "pinned"}, {"schedulerName", "theirs"}}}};
  SendBy(pod, api::Way::kBind, "gpu-7");
  EXPECT_EQ(pod["spec"], json::Doc({{"schedulerName", "lockstep"}}));
}

TEST(SendBy, ASteeredPodMayGoToItsSeatByEachOfItsOwnTerms) {
  json::Doc term = {{"matchExpressions", json::Doc::array({{{"key", "zone"}, {"operator", "Exists"}}})}};
  json::Doc pod;
  pod["spec"]["schedulerName"] = "theirs";
  json::Doc& required =
      pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  required["nodeSelectorTerms"] = json::Doc::array({term, json::Doc::object()});
  SendBy(pod, api::Way::kSteer, "gpu-7");
  json::Doc seat = json::Doc::array(
      {{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::Doc::array({"gpu-7"})}}});
  json::Doc narrowed = term;
  narrowed["matchFields"] = seat;
  EXPECT_EQ(
      json::Find(
          pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms")
          ->dump(),
      json::Doc::array({narrowed, {{"matchFields", seat}}}).dump());
  EXPECT_EQ(json::GetString(pod, "spec.schedulerName"), "theirs");
  Result<kube::PodNeed> need = kube::ParsePodNeed(pod);
  ASSERT_TRUE(need.ok());
  EXPECT_TRUE(need->nodes.Matches("gpu-7", {{"zone", "a"}}));
  EXPECT_FALSE(need->nodes.Matches("gpu-8", {{"zone", "a"}}));
}

TEST(SendBy, NobodyIsLeftToBindAPodThatIsSteeredAndNamesUs) {
  json::Doc pod = {{"spec", {{"schedulerName", "lockstep"}}}};
  SendBy(pod, api::Way::kSteer, "");
  EXPECT_EQ(pod["spec"], json::Doc::object());
}

TEST(StampPod, SurvivesAPodOfNothing) {
  json::Doc pod = json::Doc::object();
  StampPod(pod, 2);
  SendBy(pod, api::Way::kAssign, "n");
  EXPECT_EQ(pod["metadata"]["name"], "-r2");
  EXPECT_EQ(pod["spec"]["nodeName"], "n");
}

constexpr Kind kTraining{.resource = kube::kTFJobs,
                         .role_specs = "specs",
                         .types = {},
                         .any_case = false,
                         .fewest_replicas = 1,
                         .container = "main",
                         .port_name = "meet",
                         .port = 7000,
                         .restart_policy = "Never",
                         .scales = false};

TEST(DefaultPort, GoesToTheKindsOwnContainer) {
  json::Doc spec = {{"containers", json::Doc::array({{{"name", "a"}}, {{"name", "main"}}})}};
  AddDefaultPort(spec, kTraining);
  EXPECT_FALSE(spec["containers"][0].contains("ports"));
  EXPECT_EQ(spec["containers"][1]["ports"], json::Doc::array({{{"name", "meet"}, {"containerPort", 7000}}}));
}

TEST(DefaultPort, GoesToTheFirstContainerWhereNoneHasTheName) {
  json::Doc spec = {{"containers", json::Doc::array({{{"name", "a"}}, {{"name", "b"}}})}};
  AddDefaultPort(spec, kTraining);
  EXPECT_TRUE(spec["containers"][0].contains("ports"));
  EXPECT_FALSE(spec["containers"][1].contains("ports"));
  json::Doc nothing = {{"containers", json::Doc::array()}};
  AddDefaultPort(nothing, kTraining);
  EXPECT_THAT(nothing["containers"], ::testing::IsEmpty());
}

TEST(DefaultPort, GivesWayToAPortOfItsName) {
  json::Doc own = {{"name", "meet"}, {"containerPort", 9}};
  json::Doc spec = {
      {"containers", json::Doc::array({{{"name", "main"}, {"ports", json::Doc::array({own})}}})}};
  json::Doc before = spec;
  AddDefaultPort(spec, kTraining);
  EXPECT_EQ(spec, before);
  Role role;
  role.pod_template = std::make_shared<json::Doc>(json::Doc{{"spec", spec}});
  EXPECT_EQ(PortOf(role, kTraining), 9);
  role.pod_template = std::make_shared<json::Doc>(Template("main"));
  EXPECT_EQ(PortOf(role, kTraining), 7000);
}

TEST(AppendEnv, StandsBehindWhatIsThere) {
  json::Doc container = SmallPod()["spec"]["containers"][0];
  AppendEnv(container, json::Doc::array({{{"name", "A"}, {"value", "2"}}}));
  EXPECT_EQ(container["env"],
            json::Doc::array({{{"name", "A"}, {"value", "1"}}, {{"name", "A"}, {"value", "2"}}}));
}

TEST(StampPod, LeavesItsMarkWhateverBecomesOfLabels) {
  json::Doc pod = {{"spec", {{"containers", json::Doc::array({{{"name", "c"}}})}}}};
  EXPECT_FALSE(IsStamped(pod));
  StampPod(pod, 1);
  pod.erase("metadata");
  EXPECT_TRUE(IsStamped(pod));
  EXPECT_FALSE(IsStamped(json::Doc(7)));
}

}  // namespace
}  // namespace lockstep::jobs
