#include "sim/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "sim/testing.h"

namespace lockstep::sim {
namespace {

using api::GangPhase;
using testing::HasSubstr;

// Each test shows one wrong world and that it is called wrong, and the nearest right one that is not.
class InvariantsTest : public testing::Test {
 protected:
  InvariantsTest() {
    for (int i = 0; i < 4; ++i) build.Node("node-" + std::to_string(i), 1);
    loop.RunFor(minutes(5));  // nodes that came lately excuse an excess
  }

  api::GangStatus Queued(api::GangReason reason) {
    api::GangStatus status;
    status.reason = std::move(reason);
    return status;
  }
  api::GangStatus Seated(GangPhase phase, int64_t attempt, int workers) {
    api::GangStatus status;
    status.phase = phase;
    status.attempt = attempt;
    status.reason = {"Placing", "all pods have seats"};
    status.phase_since = loop.now().wall;
    for (int i = 0; i < workers; ++i)
      status.placement.push_back({"node-" + std::to_string(i), {{"Worker", i, i}}});
    return status;
  }
  void LookFor(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(500)) {
      invariants.Look();
      loop.RunFor(milliseconds(500));
    }
  }
  std::string Violation() { return invariants.violation().value_or(""); }

  VirtualLoop loop;
  Picture picture;
  PictureBuilder build{picture};
  Invariants invariants{picture, loop, {}};
};

TEST_F(InvariantsTest, APartOfAGangMayNotStay) {
  build.Job("a", 4, {"Placed=True"});
  build.Gang("a", 4, Seated(GangPhase::kStarting, 1, 4));
  for (int i = 0; i < 4; ++i)
    build.Pod("a", i, {"node-" + std::to_string(i), i == 3 ? "Pending" : "Running"});

  LookFor(minutes(10));
  EXPECT_EQ(Violation(), "");
  LookFor(minutes(5));
  EXPECT_THAT(Violation(), HasSubstr("invariant 1: job default/a has a part of its pods: 4 live, 3 running"));
}

TEST_F(InvariantsTest, PodsOutliveNoJobAndNoAttempt) {
  build.Job("a", 1, {"Placed=False"});
  build.Gang("a", 1, Seated(GangPhase::kRunning, 2, 1));
  build.Pod("a", 0, {"node-0", "Running", 1});

  LookFor(minutes(2));
  EXPECT_THAT(Violation(), HasSubstr("pod default/a-worker-0 is of attempt 1, which is over"));
}

TEST_F(InvariantsTest, NoNodeIsOvercommitted) {
  build.Job("a", 1, {"Placed=True"});
  build.Gang("a", 1, Seated(GangPhase::kRunning, 1, 1));
  build.Pod("a", 0, {"node-0"});
  invariants.Look();
  EXPECT_EQ(Violation(), "");

  build.Job("b", 1, {"Placed=True"});
  build.Pod("b", 0, {"node-0"});
  invariants.Look();
  EXPECT_THAT(Violation(), HasSubstr("invariant 2: pods on node-0 take more nvidia.com/gpu than it has"));
}

TEST_F(InvariantsTest, AnExcessThatAForeignPodMadeIsResolved) {
  build.Job("a", 1, {"Placed=True"});
  build.Gang("a", 1, Seated(GangPhase::kRunning, 1, 1));
  build.Pod("a", 0, {"node-0"});
  build.ForeignPod("thief", "node-0");

  LookFor(seconds(50));
  EXPECT_EQ(Violation(), "");
  LookFor(seconds(20));
  EXPECT_THAT(Violation(), HasSubstr("invariant 2"));
}

TEST_F(InvariantsTest, SeatsOnRecordAreTaken) {
  build.Job("a", 2);
  build.Gang("a", 2, Seated(GangPhase::kPlacing, 1, 2));  // no pod exists yet
  build.Job("b", 1);
  EXPECT_EQ(Violation(), "");
  build.Gang("b", 1, Seated(GangPhase::kPlacing, 1, 1));

  EXPECT_THAT(Violation(),
              HasSubstr("the seats of gang default/pytorchjob-b on node-0 need more nvidia.com/gpu"));
}

// Required rules between the pods of one job, by a node label.
json::Doc Rules(const char* affinity_kind, const char* topology_key) {
  json::Doc term = {{"topologyKey", topology_key},
                    {"labelSelector", json::Doc::object()},
                    {"matchLabelKeys", json::Doc::array({api::kJobNameLabel})}};
  json::Doc terms = json::Doc::array({term});
  return {{"affinity", {{affinity_kind, {{"requiredDuringSchedulingIgnoredDuringExecution", terms}}}}}};
}

TEST_F(InvariantsTest, SeatsKeepTheRulesBetweenPods) {
  build.Job("apart", 2, {}, Rules("podAntiAffinity", "kubernetes.io/hostname"));
  build.Gang("apart", 2, Seated(GangPhase::kPlacing, 1, 2));
  EXPECT_EQ(Violation(), "");

  build.Job("near", 2, {}, Rules("podAffinity", "kubernetes.io/hostname"));
  api::GangStatus placed = Seated(GangPhase::kPlacing, 1, 0);
  placed.placement = {{"node-2", {{"Worker", 0, 0}}}, {"node-3", {{"Worker", 1, 1}}}};
  build.Gang("near", 2, placed);
  EXPECT_THAT(Violation(),
              HasSubstr("the seats of gang default/pytorchjob-near break a rule: its affinity by "
                        "kubernetes.io/hostname"));
}

TEST_F(InvariantsTest, SeatsKeepTheRulesOfOthersToo) {
  build.Node("big", 8);
  loop.RunFor(minutes(5));
  json::Doc apart_from_all = Rules("podAntiAffinity", "kubernetes.io/hostname");
  json::Doc& term =
      apart_from_all["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
  term.erase("matchLabelKeys");
  build.Job("hermit", 1, {}, apart_from_all);
  api::GangStatus placed = Seated(GangPhase::kPlacing, 1, 0);
  placed.placement = {{"big", {{"Worker", 0, 0}}}};
  build.Gang("hermit", 1, placed);
  EXPECT_EQ(Violation(), "");

  build.Job("b", 1);
  build.Gang("b", 1, placed);
  EXPECT_THAT(Violation(), HasSubstr("break a rule: the anti-affinity of a pod there"));
}

TEST_F(InvariantsTest, AGangThatItsRulesHoldBackIsNotMissed) {
  build.Job("a", 4, {"Placed=False"}, Rules("podAntiAffinity", "kubernetes.io/hostname"));
  build.Gang("a", 4, Queued({"AntiAffinity", "room for 3"}));
  build.ForeignPod("other", "node-0");
  build.Node("big", 8);
  build.Gone(kube::kNodes, "node-1");
  LookFor(seconds(30));
  EXPECT_EQ(Violation(), "") << "three nodes are not four";

  build.Gone(kube::kPods, "other");
  LookFor(seconds(5));
  EXPECT_THAT(Violation(), HasSubstr("invariant 3: the gang of default/a may start"));
}

TEST_F(InvariantsTest, WhoeverFitsStarts) {
  build.Job("a", 4, {"Placed=False"});
  build.Gang("a", 4, Queued({"InsufficientResources", "needs 4"}));
  build.ForeignPod("other", "node-0");
  LookFor(seconds(30));
  EXPECT_EQ(Violation(), "") << "it does not fit";

  build.Gone(kube::kPods, "other");
  LookFor(seconds(5));
  EXPECT_THAT(Violation(),
              HasSubstr("invariant 3: the gang of default/a may start, would fit and is not placed"));
}

TEST_F(InvariantsTest, ASmallOneBehindALargeOneIsMissed) {
  build.Job("large", 4, {"Placed=False"});
  build.Gang("large", 4, Queued({"InsufficientResources", "needs 4"}), seconds(1));
  build.Job("small", 1, {"Placed=False"});
  build.Gang("small", 1, Queued({"WaitingItsTurn", "would fit"}), seconds(2));
  build.ForeignPod("other", "node-0");

  LookFor(seconds(30));
  EXPECT_THAT(Violation(), HasSubstr("the gang of default/small may start, would fit and is not placed"));
}

TEST_F(InvariantsTest, NobodyIsMissedBehindOneThatRestarts) {
  build.Job("large", 4, {"Placed=False"});
  build.Gang("large", 4, Queued({"Restarting", "Worker replica(s) failed."}), seconds(1));
  build.Job("small", 1, {"Placed=False"});
  build.Gang("small", 1, Queued({"WaitingItsTurn", "would fit"}), seconds(2));
  build.ForeignPod("other", "node-0");

  LookFor(seconds(30));
  EXPECT_EQ(Violation(), "");
}

TEST_F(InvariantsTest, NobodyIsMissedBehindOneThatHasWaitedTooLong) {
  api::GangStatus aged = Queued({"InsufficientResources", "needs 4"});
  aged.waiting_since = loop.now().wall - minutes(31);
  build.Job("large", 4, {"Placed=False"});
  build.Gang("large", 4, aged, seconds(2));
  build.Job("small", 1, {"Placed=False"});
  build.Gang("small", 1, Queued({"WaitingItsTurn", "would fit"}), seconds(1));
  build.ForeignPod("other", "node-0");

  LookFor(seconds(30));
  EXPECT_EQ(Violation(), "");
}

TEST_F(InvariantsTest, OneRankOnePod) {
  build.Job("a", 1);
  build.Pod("a", 0, {"node-0", "Failed", 1});
  build.Pod("a", 0, {"node-1", "Running", 2, "-r2"});
  EXPECT_EQ(Violation(), "") << "the first one has ended";

  build.Pod("a", 0, {"node-2", "Pending", 3, "-r3"});
  EXPECT_THAT(Violation(), HasSubstr("are both rank worker/0 of job default/a"));
}

TEST_F(InvariantsTest, NumbersOnlyGrow) {
  build.Job("a", 1);
  build.Gang("a", 1, Seated(GangPhase::kRunning, 3, 1));
  build.Gang("a", 1, Seated(GangPhase::kRunning, 2, 1));
  EXPECT_THAT(Violation(), HasSubstr("invariant 5: attempt of default/pytorchjob-a fell from 3 to 2"));
}

TEST_F(InvariantsTest, RestartsSurviveTheGangsDeletion) {
  api::GangStatus status = Seated(GangPhase::kRunning, 3, 1);
  status.policy_restarts = 2;
  build.Job("a", 1);
  for (int attempt : {1, 2}) build.Pod("a", 0, {.phase = "Failed", .attempt = attempt});
  build.Gang("a", 1, status);
  build.Gone(kube::kGangs, "pytorchjob-a");
  status.policy_restarts = 0;
  build.Gang("a", 1, status);
  EXPECT_THAT(Violation(), HasSubstr("invariant 6: policy restarts"));
}

TEST_F(InvariantsTest, ARestartIsCountedForARankThatFailedOnly) {
  api::GangStatus status = Seated(GangPhase::kRunning, 2, 1);
  status.policy_restarts = 1;
  build.Job("a", 1);
  build.Pod("a", 0, {.phase = "Failed", .attempt = 1});
  build.Gang("a", 1, status);
  EXPECT_EQ(Violation(), "");
  status.policy_restarts = 2;
  build.Gang("a", 1, status);
  EXPECT_THAT(Violation(), HasSubstr("invariant 6: gang default/pytorchjob-a counts 2 restarts"));
}

TEST_F(InvariantsTest, ASuccessIsFinal) {
  build.Job("a", 1, {"Succeeded=True"});
  build.Job("a", 1, {"Succeeded=True", "Placed=True"});
  EXPECT_EQ(Violation(), "");
  build.Job("a", 1, {"Failed=True"});
  EXPECT_THAT(Violation(), HasSubstr("was Succeeded and is no longer"));
}

TEST_F(InvariantsTest, WhoWaitsHasAReason) {
  build.Job("a", 5, {"Placed=False"});
  build.Gang("a", 5, Queued({}));
  LookFor(seconds(1));
  EXPECT_EQ(Violation(), "");
  LookFor(seconds(3));
  EXPECT_THAT(Violation(), HasSubstr("invariant 7: gang of default/a waits without a reason"));
}

TEST_F(InvariantsTest, ImpossibleIsSaidExactlyWhenItIsTrue) {
  build.Job("a", 5, {"Placed=False"});
  build.Gang("a", 5, Queued({"Impossible", "can never run here"}));
  LookFor(seconds(10));
  EXPECT_EQ(Violation(), "");

  build.Gang("a", 5, Queued({"InsufficientResources", "needs 5"}));
  LookFor(seconds(5));
  EXPECT_THAT(Violation(), HasSubstr("can never run here but says InsufficientResources"));
}

TEST_F(InvariantsTest, DaemonsThatAreToComeTakeTheirPlacesOnAnEmptyClusterToo) {
  build.Job("a", 4, {"Placed=False"});
  build.Gang("a", 4, Queued({"Impossible", "can never run here"}));
  build.DaemonSet("agent");
  LookFor(seconds(10));
  EXPECT_EQ(Violation(), "");

  build.Gone(kube::kDaemonSets, "agent");
  LookFor(seconds(5));
  EXPECT_THAT(Violation(), HasSubstr("could run here but says Impossible"));
}

TEST_F(InvariantsTest, WhileNobodyLeadsNothingHasToComeTrue) {
  bool nobody = true;
  invariants.SetPaused([&] { return nobody; });
  build.Job("a", 4, {"Placed=False"});
  build.Gang("a", 4, Queued({"InsufficientResources", "needs 4"}));
  LookFor(minutes(5));
  EXPECT_EQ(Violation(), "");

  nobody = false;
  LookFor(minutes(2));
  EXPECT_THAT(Violation(), HasSubstr("invariant 3"));
}

}  // namespace
}  // namespace lockstep::sim
