#include "sim/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/testing.h"

namespace lockstep::sim {
namespace {

using api::GangPhase;
using testing::HasSubstr;

class Expectations : public testing::Test {
 protected:
  // What is not as `text` expects; "" if all is.
  std::string Wrong(const std::string& text) {
    Result<Scenario> scenario = ParseScenario("# x\nexpect " + text + "\n", "x.scenario");
    if (!scenario.ok()) return scenario.error().message;
    return Mismatch(picture, "default", std::get<Expect>(scenario->statements[0].deed)).value_or("");
  }

  api::GangStatus Status(GangPhase phase, int64_t attempt, api::GangReason reason = {}) {
    api::GangStatus status;
    status.phase = phase;
    status.attempt = attempt;
    status.reason = std::move(reason);
    return status;
  }

  Picture picture;
  PictureBuilder build{picture};
};

TEST_F(Expectations, RunningMeansEveryPodRuns) {
  build.Job("a", 2, {"Created=True", "Running=True"});
  build.Gang("a", 2, Status(GangPhase::kRunning, 1));
  build.Pod("a", 0, {"node-0"});
  EXPECT_THAT(Wrong("running a"), HasSubstr("a runs 1 of 2 pods (STATE Running, gang Running, attempt 1"));

  build.Pod("a", 1, {"node-1", "Pending"});
  EXPECT_THAT(Wrong("running a"), HasSubstr("runs 1 of 2 pods"));

  build.Pod("a", 1, {"node-1"});
  EXPECT_EQ(Wrong("running a"), "");
  EXPECT_EQ(Wrong("pods a 2 running=2 total=2"), "");
  EXPECT_EQ(Wrong("on a node-0,node-1"), "");
  EXPECT_THAT(Wrong("on a node-0"), HasSubstr("a is on node-1"));
  EXPECT_EQ(Wrong("nodes a 2"), "");
  EXPECT_THAT(Wrong("running b"), HasSubstr("there is no job b"));
}

TEST_F(Expectations, QueuedNeedsTheReasonInBothPlaces) {
  build.Job("b", 2, {"Placed=False"});
  build.Gang("b", 2,
             Status(GangPhase::kQueued, 0, {"InsufficientResources", "message of Placed=False and more"}));

  EXPECT_EQ(Wrong("queued b because \"message of Placed=False\""), "");
  EXPECT_THAT(Wrong("queued b because \"and more\""), HasSubstr("in its condition Placed"));
  EXPECT_THAT(Wrong("queued b because \"other\""), HasSubstr("in its gang's reason"));

  build.Pod("b", 0, {"node-0"});
  EXPECT_THAT(Wrong("queued b"), HasSubstr("has live pods"));
}

// Writes of one decision arrive in any order; what counts is when it was made.
TEST_F(Expectations, OrderIsThatOfTheDecisions) {
  auto placed = [&](Duration at, int64_t attempt) {
    api::GangStatus status = Status(GangPhase::kPlacing, attempt);
    status.phase_since = WallTime(seconds(1'800'000'000) + at);
    return status;
  };
  for (const char* name : {"a", "b", "c"}) build.Job(name, 1);
  build.Gang("b", 1, placed(seconds(2), 1));
  EXPECT_THAT(Wrong("order b,a"), HasSubstr("a has not been placed"));

  build.Gang("a", 1, placed(seconds(1), 1));
  build.Gang("a", 1, placed(seconds(9), 2));  // again: its place stays
  build.Gang("c", 1, placed(seconds(2), 1));
  EXPECT_EQ(Wrong("order a,b,c"), "");
  EXPECT_EQ(Wrong("order a,c,b"), "");
  EXPECT_THAT(Wrong("order b,a"), HasSubstr("a was placed before b"));
}

TEST_F(Expectations, AbsentMeansThatNothingIsLeft) {
  build.Job("a", 1);
  build.Gang("a", 1, Status(GangPhase::kRunning, 1));
  build.Pod("a", 0, {"node-0"});

  EXPECT_THAT(Wrong("absent a"), HasSubstr("job a exists"));
  build.Gone(kube::kPyTorchJobs, "a");
  EXPECT_THAT(Wrong("absent a"), HasSubstr("pods of job a exist"));
  build.Gone(kube::kPods, "a-worker-0");
  EXPECT_THAT(Wrong("absent a"), HasSubstr("the gang of job a exists"));
  build.Gone(kube::kGangs, "pytorchjob-a");
  EXPECT_EQ(Wrong("absent a"), "");
}

TEST_F(Expectations, ConditionsAndCounters) {
  api::GangStatus status = Status(GangPhase::kRestarting, 3, {"Restarting", "why"});
  status.policy_restarts = 2;
  build.Job("a", 1, {"Created=True", "Failed=True"});
  build.Gang("a", 1, status);

  EXPECT_EQ(Wrong("state a Failed"), "");
  EXPECT_EQ(Wrong("condition a Created True"), "");
  EXPECT_EQ(Wrong("condition a Placed absent"), "");
  EXPECT_EQ(Wrong("failed a because \"message of Failed\""), "");
  EXPECT_THAT(Wrong("succeeded a"), HasSubstr("has not succeeded"));
  EXPECT_EQ(Wrong("attempts a 3"), "");
  EXPECT_EQ(Wrong("restarts a policy=2 fault=0"), "");
  EXPECT_THAT(Wrong("restarts a policy=1"), HasSubstr("has policy restarts 2, not 1"));
  EXPECT_EQ(Wrong("reason a Restarting because \"why\""), "");
  EXPECT_THAT(Wrong("restarts a"), HasSubstr("must say how many"));
}

// A Gang of a deleted namesake is not the new job's.
TEST_F(Expectations, AGangBelongsToOneJobObject) {
  build.Job("a", 1);
  api::GangSpec spec;
  spec.job = {"kubeflow.org/v1", "PyTorchJob", "a", "uid-of-an-older-a"};
  spec.roles = {{"Worker", 1, 1}};
  picture.Take(kube::kGangs, std::make_shared<const json::Doc>(api::NewGangDoc("default", spec)), false);

  EXPECT_EQ(picture.GangOf(*picture.FindJob("default/a")), nullptr);
}

}  // namespace
}  // namespace lockstep::sim
