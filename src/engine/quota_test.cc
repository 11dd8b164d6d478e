#include <gmock/gmock.h>

#include "engine/step.h"
#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using api::GangPhase;
using cluster::Action;
using cluster::ActionKind;
using json::Doc;
using testing::HandDriven;
using ::testing::HasSubstr;

kube::Status Exceeded() {
  return kube::ErrorStatus(403, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1");
}

Doc Pods(int count) { return Doc{{"pods", std::to_string(count)}}; }

class QuotaTest : public ::testing::Test {
 protected:
  HandDriven engine;
  std::string Code(const std::string& job) { return engine.Gang(job).status().reason.code; }
  GangPhase Phase(const std::string& job) { return engine.Gang(job).status().phase; }
  std::vector<Action> Checks(const std::vector<Action>& actions) {
    std::vector<Action> checks;
    for (const Action& action : actions) {
      if (action.kind == ActionKind::kCheckTemplate) checks.push_back(action);
    }
    return checks;
  }
};

TEST_F(QuotaTest, TwoGangsAreNeverPlacedIntoQuotaForOne) {
  engine.Nodes(16, 1);
  engine.Quota("q", Pods(8), Pods(0));
  engine.Job("a", 8);
  engine.Job("b", 8);
  engine.Settle();
  EXPECT_EQ(Phase("a"), GangPhase::kPlacing);
  EXPECT_EQ(Code("b"), "QuotaExceeded") << "although the controller has counted nothing yet";
  EXPECT_THAT(engine.Gang("b").status().reason.message, HasSubstr("quota q: asks for 8 pods, used 8 of 8"));
}

TEST_F(QuotaTest, WhoWaitsForItsQuotaIsInNobodysWayHoweverOld) {
  engine.Nodes(8, 1);
  engine.Quota("q", {{"requests.nvidia.com/gpu", "4"}}, {{"requests.nvidia.com/gpu", "0"}});
  engine.Job("big", 8);
  engine.Settle();
  engine.now.wall += minutes(60);
  engine.now.mono += minutes(60);
  engine.Job("small", 4);
  engine.Settle();
  EXPECT_TRUE(engine.Gang("big").aged);
  EXPECT_EQ(Code("big"), "QuotaTooSmall");
  EXPECT_EQ(Phase("small"), GangPhase::kPlacing);
}

TEST_F(QuotaTest, ADryRunThatAFullQuotaRefusesIsAskedAgainWhenThereIsRoom) {
  engine.Nodes(8, 1);
  engine.Quota("q", Pods(8), Pods(8));
  engine.Job("a", 8);
  std::optional<Action> check = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(check);
  engine.Answered(*check, Exceeded());
  engine.Settle();
  EXPECT_EQ(Code("a"), "QuotaExceeded") << "not AdmissionRefused: nothing is wrong with the template";
  engine.now.mono += seconds(2);
  engine.Quota("q", Pods(8), Pods(0));
  std::optional<Action> again = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(again) << "long before its back-off ends";
  EXPECT_NE(Phase("a"), GangPhase::kPlacing) << "its footprint is not known yet";
  engine.Applied(*again);
  engine.Settle();
  EXPECT_EQ(Phase("a"), GangPhase::kPlacing);
}

TEST_F(QuotaTest, ACreateThatALateCountRefusesIsTriedAgain) {
  engine.Nodes(2, 1);
  engine.Quota("q", Pods(2), Pods(0));
  engine.Job("a", 2);
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);
  engine.Answered(*pod, Exceeded());
  engine.Settle();
  EXPECT_EQ(Phase("a"), GangPhase::kPlacing) << "as far as we know there is room";
  engine.now.mono += seconds(1);
  engine.now.wall += seconds(1);
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").pods.size(), 2u);
}

TEST_F(QuotaTest, ACreateThatSomebodyElsesPodKeepsOutUndoesTheAttempt) {
  engine.Nodes(2, 1);
  engine.Quota("q", Pods(2), Pods(0));
  engine.Job("a", 2);
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);
  engine.See(kube::kPods, {{"metadata", {{"name", "other"}, {"namespace", "default"}, {"uid", "uid-other"}}},
                           {"spec", {{"containers", Doc::array({Doc::object()})}}}});
  engine.Answered(*pod, Exceeded());
  engine.Step();
  EXPECT_EQ(Phase("a"), GangPhase::kQueued);
  EXPECT_EQ(Code("a"), "QuotaExceeded");
  EXPECT_TRUE(engine.Gang("a").status().placement.empty());
}

TEST_F(QuotaTest, WhatIsAlikeIsOneNamespacesWhereQuotasAre) {
  engine.Nodes(4, 1);
  engine.Job("a", 8);
  engine.Job("b", 8);
  engine.Settle();
  EXPECT_EQ(engine.world.waiting.by_kind().size(), 1u);
  auto before = engine.world.waiting.by_kind().begin()->first;
  engine.Quota("q", Pods(100), Pods(0));
  engine.Settle();
  ASSERT_EQ(engine.world.waiting.by_kind().size(), 1u);
  EXPECT_NE(engine.world.waiting.by_kind().begin()->first, before);
}

TEST_F(QuotaTest, AdmissionThatChangesIsAskedAgainBeforeTheGangIsPlaced) {
  engine.Nodes(4, 1);
  engine.Job("a", 8);
  engine.Settle();
  ASSERT_EQ(Phase("a"), GangPhase::kQueued);
  engine.See(kube::kLimitRanges,
             {{"metadata", {{"name", "l"}, {"namespace", "elsewhere"}, {"uid", "uid-l"}}}});
  EXPECT_TRUE(Checks(engine.Step()).empty()) << "of another namespace";
  engine.See(kube::kMutatingWebhooks, {{"metadata", {{"name", "m"}, {"uid", "uid-m"}}}});
  engine.Nodes(8, 1);
  std::vector<Action> checks = Checks(engine.Step());
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(Phase("a"), GangPhase::kQueued);
  engine.Applied(checks[0]);
  engine.Settle();
  EXPECT_EQ(Phase("a"), GangPhase::kPlacing);
}

TEST_F(QuotaTest, AnAnswerOfAnOlderAdmissionIsNotTheLastWord) {
  engine.Nodes(8, 1);
  engine.Job("a", 8);
  std::optional<Action> check = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(check);
  engine.See(kube::kLimitRanges, {{"metadata", {{"name", "l"}, {"namespace", "default"}, {"uid", "uid-l"}}}});
  engine.Step();
  engine.Applied(*check);
  EXPECT_EQ(Checks(engine.Step()).size(), 1u);
  EXPECT_NE(Phase("a"), GangPhase::kPlacing);
}

TEST_F(QuotaTest, AWebhookThatCannotServeADryRunSaysNothingAgainstTheGang) {
  engine.Nodes(8, 1);
  engine.Job("a", 8);
  std::optional<Action> check = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(check);
  engine.Answered(*check, kube::ErrorStatus(400, "BadRequest",
                                            "admission webhook \"w.example.com\" does not support dry run"));
  engine.Settle();
  EXPECT_EQ(Phase("a"), GangPhase::kPlacing);
}

}  // namespace
}  // namespace lockstep::engine
