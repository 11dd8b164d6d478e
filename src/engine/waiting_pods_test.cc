#include "engine/waiting_pods.h"

#include <gmock/gmock.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using api::GangPhase;
using api::Way;
using cluster::Action;
using cluster::ActionKind;
using ::testing::AllOf;
using ::testing::Each;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::Pointee;
using ::testing::SizeIs;

struct Bound : ::testing::Test {
  Bound() { engine.world.settings.way = Way::kBind; }

  // b waits for a's seats.
  void Wait() {
    engine.Nodes(2, 1);
    engine.Job("a", 2);
    engine.Settle();
    engine.Job("b", 2);
    engine.Settle();
    ASSERT_EQ(engine.Gang("b").status().phase, GangPhase::kQueued);
  }

  HandDriven engine;
};

MATCHER(IsUnbound, "") { return arg->node.empty() && arg->unschedulable.has_value(); }
MATCHER_P(IsOn, node, "") { return arg->node == node; }
MATCHER_P(Is, kind, "") { return arg.kind == kind; }

TEST_F(Bound, APodIsCreatedWithoutANodeAndBoundToTheRecordedOne) {
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);
  EXPECT_EQ(engine.Gang("a").gang->status.phase, GangPhase::kPlacing) << "the record comes first";
  EXPECT_EQ(engine.Gang("a").gang->status.way, Way::kBind);
  EXPECT_THAT(pod->request.body,
              AllOf(HasSubstr("\"schedulerName\":\"lockstep\""), Not(HasSubstr("nodeName"))));
  engine.Applied(*pod);
  std::optional<Action> binding = engine.RunUntil(ActionKind::kBindPod);
  ASSERT_TRUE(binding);
  EXPECT_THAT(binding->request.body, AllOf(HasSubstr("node-0"), HasSubstr("\"uid\"")));
  engine.Applied(*binding);
  engine.Settle();
  EXPECT_THAT(engine.Gang("a").pods, AllOf(SizeIs(2), Each(Pair(::testing::_, IsOn("node-0")))));
}

TEST_F(Bound, PodsOfAGangThatWaitsExistAndHoldNothing) {
  Wait();
  EXPECT_THAT(engine.Gang("b").pods, AllOf(SizeIs(2), Each(Pair(::testing::_, IsUnbound()))));
  EXPECT_THAT(engine.Gang("b").held, IsEmpty());
  EXPECT_EQ(engine.Gang("b").status().attempt, 0);
  EXPECT_THAT(engine.Step(), IsEmpty());
}

TEST_F(Bound, NoPodSaysThatItWaitsBeforeAllOfThemExist) {
  engine.Nodes(1, 1);
  engine.Job("a", 3);
  std::optional<Action> last = engine.RunUntil(ActionKind::kCreatePod, "worker-2");
  ASSERT_TRUE(last);
  EXPECT_FALSE(engine.RunUntil(ActionKind::kTellPodWaits)) << "one is missing still";
  engine.Applied(*last);
  std::optional<Action> told = engine.RunUntil(ActionKind::kTellPodWaits);
  ASSERT_TRUE(told);
  EXPECT_THAT(told->request.body,
              AllOf(HasSubstr("Unschedulable"), HasSubstr("all 3 pods"), HasSubstr("resourceVersion")))
      << "a late write must not say it of a pod that is bound by then";
}

TEST_F(Bound, WaitingPodsAreBoundTogetherWhenRoomComes) {
  Wait();
  engine.Node("node-2", 2);
  std::vector<Action> actions = engine.Step();
  EXPECT_THAT(actions, Not(::testing::Contains(Is(ActionKind::kBindPod)))) << "the record has no answer yet";
  for (const Action& action : actions) engine.Applied(action);
  engine.Settle();
  EXPECT_EQ(engine.Gang("b").status().attempt, 1);
  EXPECT_THAT(engine.Gang("b").pods, AllOf(SizeIs(2), Each(Pair(::testing::_, IsOn("node-2")))));
}

TEST_F(Bound, AnEditOfAWaitingJobMakesItsPodsAnew) {
  Wait();
  std::string before = engine.Gang("b").pods.begin()->second->uid;
  engine.Edit(kube::kPyTorchJobs, "pytorchjobs/default/b",
              {{"metadata", {{"generation", 2}}}, {"spec", {{"runPolicy", {{"backoffLimit", 3}}}}}});
  std::optional<Action> deleted = engine.RunUntil(ActionKind::kDeletePod);
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->request.precondition_uid, before);
}

TEST_F(Bound, ASuspendedGangHasNoWaitingPods) {
  Wait();
  engine.Edit(kube::kPyTorchJobs, "pytorchjobs/default/b",
              {{"metadata", {{"generation", 2}}}, {"spec", {{"runPolicy", {{"suspend", true}}}}}});
  EXPECT_TRUE(engine.RunUntil(ActionKind::kDeletePod, "b-worker-0"));
}

TEST_F(Bound, AWaitingPodThatSomebodyBoundIsNoPartOfTheNextPlacement) {
  Wait();
  engine.Edit(kube::kPods, "pods/default/b-worker-0", {{"spec", {{"nodeName", "node-0"}}}});
  EXPECT_TRUE(engine.RunUntil(ActionKind::kDeletePod, "b-worker-0"));
}

TEST_F(Bound, ARefusedBindingUndoesTheAttempt) {
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  std::optional<Action> binding = engine.RunUntil(ActionKind::kBindPod);
  ASSERT_TRUE(binding);
  engine.Answered(*binding, kube::ErrorStatus(403, "Forbidden", "no binding here"));
  std::optional<Action> undone = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(undone);
  EXPECT_THAT(undone->request.body, AllOf(HasSubstr("BindingRefused"), HasSubstr("no binding here")));
}

TEST_F(Bound, ABindingThatWasLostIsSentAgainAndAConflictWaitsForTheWatch) {
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  std::optional<Action> binding = engine.RunUntil(ActionKind::kBindPod);
  ASSERT_TRUE(binding);
  engine.Answered(*binding, kube::NoAnswer("connection reset"));
  engine.Settle();
  engine.now.mono += seconds(1);
  std::optional<Action> again = engine.RunUntil(ActionKind::kBindPod);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->touches, binding->touches);
  engine.Answered(*again, kube::ErrorStatus(409, "Conflict", "already assigned"));
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kPlacing) << "the first may have been applied";
}

TEST(WayOf, APolicyThatForbidsNodesLeadsToBinding) {
  HandDriven engine;
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  std::optional<Action> check = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(check);
  ASSERT_THAT(check->request.body, HasSubstr("nodeName"));
  engine.Answered(*check, kube::ErrorStatus(422, "Invalid", "no node names"));
  std::optional<Action> second = engine.RunUntil(ActionKind::kCheckTemplate);
  ASSERT_TRUE(second);
  EXPECT_THAT(second->request.body, Not(HasSubstr("nodeName")));
  engine.Applied(*second);
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().way, Way::kBind);
  EXPECT_THAT(engine.Gang("a").pods, SizeIs(2));
}

TEST(WayOf, ATemplateThatIsRefusedEitherWaySaysWhatWasSaidFirst) {
  HandDriven engine;
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  for (const char* why : {"with a node", "without"}) {
    std::optional<Action> check = engine.RunUntil(ActionKind::kCheckTemplate);
    ASSERT_TRUE(check) << why;
    engine.Answered(*check, kube::ErrorStatus(422, "Invalid", why));
  }
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().reason.code, "AdmissionRefused");
  EXPECT_THAT(engine.Gang("a").status().reason.message, HasSubstr("with a node"));
}

}  // namespace
}  // namespace lockstep::engine
