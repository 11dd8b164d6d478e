#include <gmock/gmock.h>

#include "engine/testing.h"

// What people and other programs write into our objects.
namespace lockstep::engine {
namespace {

using api::GangPhase;
using cluster::Action;
using cluster::ActionKind;
using ::testing::Contains;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::SizeIs;

MATCHER_P(Is, kind, "") { return arg.kind == kind; }

TEST(ByHand, ACopyOfAPodDecidesNothing) {
  HandDriven engine;
  engine.Nodes(1, 4);
  engine.Job("a", 2);
  engine.Settle();
  for (const char* pod : {"a-worker-0", "a-worker-1"}) engine.PodIs(pod, "Running");
  engine.Settle();
  ASSERT_EQ(engine.Gang("a").status().phase, api::GangPhase::kRunning);
  // Whichever way its name sorts.
  for (const char* name : {"aaa", "zzz"}) {
    json::Doc metadata = {{"name", name}, {"uid", std::string("uid-of-") + name}};
    engine.Edit(kube::kPods, "pods/default/a-worker-0",
                {{"metadata", metadata}, {"status", {{"phase", "Failed"}}}});
    engine.Settle();
    EXPECT_EQ(engine.Gang("a").status().attempt, 1) << name;
    EXPECT_EQ(engine.Gang("a").status().phase, api::GangPhase::kRunning) << name;
  }
}

TEST(ByHand, ABackOffThatSomebodyElseWroteIsNone) {
  HandDriven engine;
  engine.Nodes(1, 2);
  engine.Job("a", 2);
  engine.RunUntil(cluster::ActionKind::kWriteGang);
  engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a",
              {{"status", {{"notBefore", "9999-01-01T00:00:00Z"}}}});
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().attempt, 1);
}

TEST(ByHand, AGangWhoseStatusCannotBeReadIsWrittenAnewFromItsPods) {
  HandDriven engine;
  engine.RunPair();
  ASSERT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);

  engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a",
              {{"status", {{"placement", json::Doc::array({"garbage==="})}, {"attempt", INT64_MAX}}}});
  engine.Settle();

  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);
  EXPECT_EQ(engine.Gang("a").status().attempt, 1) << "the pods go on";
  EXPECT_THAT(engine.Gang("a").status().placement, SizeIs(2));
  EXPECT_THAT(engine.Gang("a").held, SizeIs(2));
}

TEST(ByHand, AGangThatSomebodyMarkedAsOverIsReopened) {
  HandDriven engine;
  engine.RunPair();

  engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a", {{"status", {{"phase", "Failed"}}}});
  engine.Settle();

  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);
  EXPECT_EQ(engine.Gang("a").status().attempt, 1);
}

TEST(ByHand, SomebodyWhoWritesAgainstUsSlowsUsDown) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  int writes = 0;
  for (int round = 0; round < 1000; ++round) {
    for (const Action& action : engine.Step()) {
      if (action.kind != ActionKind::kWriteGang) {
        engine.Applied(action);
        continue;
      }
      ++writes;
      engine.Answered(action, kube::ErrorStatus(409, "Conflict", "the object has been modified"));
    }
    engine.now.mono += milliseconds(10);
  }
  EXPECT_GT(writes, 3);
  EXPECT_LT(writes, 30) << "in ten seconds";
}

TEST(ByHand, APodThatLostItsLabelsIsDeletedAndItsRankRestartsTheGang) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  engine.Settle();
  for (const char* pod : {"a-worker-0", "a-worker-1"}) engine.PodIs(pod, "Running");
  engine.Settle();
  ASSERT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);
  engine.Edit(kube::kPods, "pods/default/a-worker-1",
              {{"metadata", {{"labels", {{"training.kubeflow.org/job-name", nullptr}}}}}});
  std::vector<Action> actions = engine.Step();
  EXPECT_THAT(testing::Text(actions), HasSubstr("pods/default/a-worker-1"));
  EXPECT_THAT(actions, Contains(Is(ActionKind::kDeletePod)));
  EXPECT_THAT(testing::Text(actions), HasSubstr("LabelsLost"));
  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kRestarting);
  EXPECT_EQ(engine.Gang("a").held.size(), 2u) << "its process still uses the node";
}

TEST(ByHand, SeatsThatSomebodyWroteAwayAreReadFromThePods) {
  for (const json::Doc& patch : {json::Doc{{"status", {{"placement", nullptr}}}},
                                 json::Doc{{"status", {{"attempt", 0}}}}, json::Doc{{"status", nullptr}}}) {
    HandDriven engine;
    engine.Nodes(2, 1);
    engine.Job("a", 2);
    engine.Settle();
    for (const char* pod : {"a-worker-0", "a-worker-1"}) engine.PodIs(pod, "Running");
    engine.Settle();
    std::vector<api::NodeSeats> placement = engine.Gang("a").status().placement;
    engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a", patch);
    engine.Settle();
    EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning) << patch;
    EXPECT_EQ(engine.Gang("a").status().attempt, 1) << patch;
    EXPECT_EQ(engine.Gang("a").status().placement, placement) << patch;
  }
}

TEST(ByHand, SeatsThatNoPodShowsAreGivenBack) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  ASSERT_TRUE(engine.RunUntil(ActionKind::kCreatePod));
  engine.Gone(kube::kPods, "pods/default/a-worker-1");
  engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a",
              {{"status", {{"phase", "Running"}, {"placement", nullptr}}}});
  engine.Step();
  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kQueued);
}

}  // namespace
}  // namespace lockstep::engine
