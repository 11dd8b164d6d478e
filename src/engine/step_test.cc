#include "engine/step.h"

#include <gmock/gmock.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using api::GangPhase;
using cluster::Action;
using cluster::ActionKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

MATCHER_P(Is, kind, "") { return arg.kind == kind; }

TEST(Step, AsksAdmissionAndRecordsTheGangFirst) {
  HandDriven engine;
  engine.Nodes(8, 1);
  engine.Job("a", 8);

  std::vector<Action> actions = engine.Step();

  EXPECT_THAT(actions, Contains(Is(ActionKind::kCreateGang)));
  EXPECT_THAT(actions, Not(Contains(Is(ActionKind::kCreatePod))));
}

// Its namespace is being terminated, say.
TEST(Step, ATemplateThatIsRefusedWithAndWithoutANodeIsNotAskedAtOnceAgain) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 1);
  engine.Settle();
  engine.now.mono += hours(1);
  engine.Job("b", 1);
  int asked = 0;
  for (int round = 0; round < 20; ++round) {
    for (const Action& action : engine.Step()) {
      if (action.kind != ActionKind::kCheckTemplate) {
        engine.Applied(action);
        continue;
      }
      ++asked;
      engine.Answered(action, kube::ErrorStatus(403, "Forbidden", "no"));
    }
  }
  EXPECT_EQ(asked, 2);
}

TEST(Step, WritesThePlacementBeforeTheFirstPod) {
  HandDriven engine;
  engine.Nodes(8, 1);
  engine.Job("a", 8);

  std::optional<Action> placing = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(placing);
  EXPECT_THAT(placing->request.body, HasSubstr("\"phase\":\"Placing\""));
  EXPECT_THAT(placing->request.body, HasSubstr("\"resourceVersion\""));
  EXPECT_THAT(engine.Step(), Not(Contains(Is(ActionKind::kCreatePod)))) << "the record has no answer yet";

  engine.Applied(*placing);
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->request.body, HasSubstr("\"nodeName\":\"node-0\""));
}

TEST(Step, AServiceThatRanksLookUpComesBeforeTheFirstPod) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  const cluster::GangState* gang = nullptr;
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);
  gang = &engine.Gang("a");
  const jobs::Job& job = *gang->job->job();
  for (int32_t i = 0; i < 2; ++i) {
    if (job.framework->LookedUp(job, 0, i))
      EXPECT_TRUE(gang->services.contains("a-worker-" + std::to_string(i)));
  }
}

TEST(Step, EveryServiceOfATFJobComesBeforeItsFirstPod) {
  HandDriven engine;
  engine.Nodes(3, 1);
  engine.TFJob("a", 1, 2);
  ASSERT_TRUE(engine.RunUntil(ActionKind::kCreatePod));
  for (const char* name : {"a-ps-0", "a-worker-0", "a-worker-1"}) {
    EXPECT_TRUE(engine.Gang("a", "tfjobs").services.contains(name)) << name;
  }
}

TEST(Step, WorkerZerosSuccessEndsATFJobWhoseOthersStillRun) {
  HandDriven engine;
  engine.Nodes(4, 1);
  engine.TFJob("a", 1, 3);
  engine.Settle();
  for (const char* pod : {"a-ps-0", "a-worker-0", "a-worker-1", "a-worker-2"}) engine.PodIs(pod, "Running");
  engine.Settle();
  ASSERT_EQ(engine.Gang("a", "tfjobs").status().phase, GangPhase::kRunning);
  for (const char* pod : {"a-worker-1", "a-worker-2"}) engine.PodIs(pod, "Succeeded");
  engine.Settle();
  EXPECT_EQ(engine.Gang("a", "tfjobs").status().phase, GangPhase::kRunning) << "others decide nothing";
  engine.PodIs("a-worker-0", "Succeeded");
  engine.Settle();
  EXPECT_EQ(engine.Gang("a", "tfjobs").status().phase, GangPhase::kSucceeded);
}

TEST(Step, AnAnswerThatComesAfterTheJobsDeletionDoesNotBringItBack) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  engine.Settle();
  for (const char* pod : {"a-worker-0", "a-worker-1"}) engine.PodIs(pod, "Running");
  std::optional<Action> status = engine.RunUntil(ActionKind::kWriteJobStatus);
  ASSERT_TRUE(status);
  engine.Gone(kube::kPyTorchJobs, "pytorchjobs/default/a");
  engine.Applied(*status);
  engine.Step();
  EXPECT_EQ(engine.Gang("a").job, nullptr);
}

TEST(Step, AnAnswerThatComesAfterThePodsDeletionDoesNotBringItBack) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  std::optional<Action> create = engine.RunUntil(ActionKind::kCreatePod, "a-worker-0");
  ASSERT_TRUE(create);
  json::Doc pod = *json::Parse(create->request.body);
  pod["metadata"]["namespace"] = "default";
  pod["metadata"]["uid"] = "uid-of-the-pod";
  engine.See(kube::kPods, pod);
  engine.Gone(kube::kPods, "pods/default/a-worker-0");
  engine.Step();
  engine.Applied(*create);
  engine.Step();
  EXPECT_FALSE(engine.world.pods.contains("default/a-worker-0"));
  EXPECT_EQ(engine.Gang("a").status().phase, GangPhase::kRestarting);
}

TEST(Step, APodWhoseCreateHadNoAnswerIsReadBeforeTheNextAttempt) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  std::optional<Action> create = engine.RunUntil(ActionKind::kCreatePod, "a-worker-0");
  ASSERT_TRUE(create);
  engine.Answered(*create, kube::NoAnswer("lost"));
  EXPECT_FALSE(engine.RunUntil(ActionKind::kReadPod)) << "it is created again";
  std::string node = json::GetString(*json::Parse(create->request.body), "spec.nodeName");
  engine.Gone(kube::kNodes, "nodes/" + node);
  engine.now.mono += seconds(1);

  std::optional<Action> read = engine.RunUntil(ActionKind::kReadPod);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->touches, create->touches);
  EXPECT_EQ(engine.Gang("a").status().attempt, 1) << "no new one before the answer";
  engine.Node("node-8", 2);
  engine.Gone(kube::kPods, "pods/default/a-worker-1");
  engine.Answered(*read, kube::ErrorStatus(404, "NotFound", "no such pod"));
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().attempt, 2);
}

TEST(Step, SeatsOfAWriteWithoutAnswerStayTaken) {
  HandDriven engine;
  engine.Nodes(8, 1);
  engine.Job("a", 8);
  std::optional<Action> placing = engine.RunUntil(ActionKind::kWriteGang, "pytorchjob-a");
  ASSERT_TRUE(placing);
  engine.Job("b", 8);

  engine.Answered(*placing, kube::NoAnswer("connection reset"));
  std::vector<Action> actions = engine.Step();

  EXPECT_THAT(actions, Contains(Is(ActionKind::kReadGang))) << "a read decides what became of it";
  EXPECT_THAT(engine.Gang("a").held, SizeIs(8));
  EXPECT_THAT(actions, Not(Contains(Is(ActionKind::kWriteGang)))) << "nobody else may have the seats";
}

TEST(Step, NobodyOvertakesAGangWhoseRecordIsOnItsWay) {
  HandDriven engine;
  engine.Nodes(8, 1);
  engine.Job("a", 8);
  engine.Job("b", 8);
  std::optional<Action> first = engine.RunUntil(ActionKind::kCreateGang, "pytorchjob-a");
  ASSERT_TRUE(first);

  std::optional<Action> told = engine.RunUntil(ActionKind::kWriteGang, "pytorchjob-b");
  ASSERT_TRUE(told) << "b's record is there, a's is not";
  EXPECT_THAT(told->request.body, HasSubstr("WaitingItsTurn"));
  engine.Applied(*first);
  std::optional<Action> placing = engine.RunUntil(ActionKind::kWriteGang, "pytorchjob-a");
  ASSERT_TRUE(placing);
  EXPECT_THAT(placing->request.body, HasSubstr("\"phase\":\"Placing\""));
}

TEST(Step, ARefusedPodUndoesTheAttemptAndTheNumberStaysUsed) {
  HandDriven engine;
  engine.Nodes(8, 1);
  engine.Job("a", 8);
  std::optional<Action> pod = engine.RunUntil(ActionKind::kCreatePod);
  ASSERT_TRUE(pod);

  engine.Answered(*pod, kube::ErrorStatus(422, "Invalid", "spec.containers[0].image: required"));
  std::optional<Action> undo = engine.RunUntil(ActionKind::kWriteGang);

  ASSERT_TRUE(undo);
  EXPECT_THAT(undo->request.body, HasSubstr("\"phase\":\"Queued\""));
  EXPECT_THAT(undo->request.body, HasSubstr("\"attempt\":1"));
  EXPECT_THAT(undo->request.body, HasSubstr("spec.containers[0].image: required"));
}

TEST(Step, AFailedRankRestartsTheWholeGangAndIsCountedBeforeAnythingIsDeleted) {
  HandDriven engine;
  engine.RunPair();
  ASSERT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);

  engine.PodIs("a-worker-1", "Failed");
  std::vector<Action> actions = engine.Step();

  EXPECT_THAT(actions, Not(Contains(Is(ActionKind::kDeletePod))));
  auto record = std::find_if(actions.begin(), actions.end(),
                             [](const Action& a) { return a.kind == ActionKind::kWriteGang; });
  ASSERT_NE(record, actions.end());
  EXPECT_THAT(record->request.body, HasSubstr("\"policy\":1"));
  engine.Applied(*record);
  EXPECT_THAT(engine.Step(), Contains(Is(ActionKind::kDeletePod)));
}

TEST(Step, ADrainIsNotCountedEvenWhenThePodIsGoneBeforeItIsLookedAt) {
  HandDriven engine;
  engine.RunPair();
  ASSERT_EQ(engine.Gang("a").status().phase, GangPhase::kRunning);

  engine.Disrupt("a-worker-1", "EvictionByEvictionAPI");
  EXPECT_THAT(engine.Step(), Not(Contains(Is(ActionKind::kWriteGang)))) << "it may be called off";
  engine.Gone(kube::kPods, "pods/default/a-worker-1");
  std::vector<Action> actions = engine.Step();
  auto record = std::ranges::find(actions, ActionKind::kWriteGang, &Action::kind);
  ASSERT_NE(record, actions.end());
  EXPECT_THAT(record->request.body, HasSubstr("\"phase\":\"Restarting\""));
  EXPECT_THAT(record->request.body, Not(HasSubstr("\"policy\":1")));
}

TEST(Step, AKubeletThatEvictsForWhatThePodUsedIsCounted) {
  HandDriven engine;
  engine.RunPair();
  engine.Disrupt("a-worker-1", "TerminationByKubelet");
  engine.Gone(kube::kPods, "pods/default/a-worker-1");
  std::vector<Action> actions = engine.Step();
  auto record = std::ranges::find(actions, ActionKind::kWriteGang, &Action::kind);
  ASSERT_NE(record, actions.end());
  EXPECT_THAT(record->request.body, HasSubstr("\"policy\":1"));
}

TEST(Step, ALatePlacementWhoseSeatsAreTakenIsUndoneBeforeAnyPod) {
  HandDriven engine;
  engine.Nodes(1, 1);
  engine.Job("a", 1);
  std::optional<Action> placing = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(placing);
  // Meanwhile somebody else's pod was assigned to the node.
  engine.See(kube::kPods,
             {{"metadata", {{"name", "foreign"}, {"namespace", "x"}, {"uid", "f"}}},
              {"spec",
               {{"nodeName", "node-0"},
                {"containers",
                 json::Doc::array({{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}}})}}},
              {"status", {{"phase", "Running"}}}});
  engine.Applied(*placing);
  std::optional<Action> undo = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(undo);
  EXPECT_THAT(undo->request.body, HasSubstr("SeatsTaken"));
  EXPECT_TRUE(engine.Gang("a").pods.empty());
}

TEST(Step, SaysThatALargerGangThanTheClusterCanNeverRun) {
  HandDriven engine;
  engine.Nodes(4, 1);
  engine.Job("a", 5);
  std::optional<Action> reason = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(reason);
  EXPECT_THAT(reason->request.body,
              HasSubstr("can never run here: needs 5 nvidia.com/gpu, the nodes it may use have 4"));
  EXPECT_TRUE(engine.Gang("a").held.empty());
}

TEST(Step, TheSameEventsGiveTheSameActionsAndASettledWorldNone) {
  auto run = [] {
    HandDriven engine;
    engine.Nodes(8, 1);
    for (const char* job : {"c", "a", "b"}) engine.Job(job, 8);
    std::string all;
    for (int i = 0; i < 12; ++i) {
      std::vector<Action> actions = engine.Step();
      all += testing::Text(actions);
      for (const Action& action : actions) engine.Applied(action);
    }
    all += "then: " + testing::Text(engine.Step());
    return all;
  };
  std::string first = run();
  EXPECT_TRUE(first == run());
  EXPECT_EQ(first.substr(first.find("then: ")), "then: ") << "settled";
}

TEST(Step, WhatHappensToACopyOfTheWorldDoesNotHappenToIt) {
  HandDriven engine;
  engine.Nodes(2, 4);
  engine.Job("a", 4);
  engine.Settle();
  engine.Job("b", 4);
  HandDriven copy = engine;
  copy.PodIs("a-worker-0", "Failed");
  copy.Settle();
  EXPECT_EQ(copy.Gang("a").status().policy_restarts, 1);
  EXPECT_TRUE(copy.world.gangs.contains("pytorchjobs/default/b"));
  EXPECT_EQ(engine.Gang("a").status().policy_restarts, 0);
  EXPECT_FALSE(engine.world.gangs.contains("pytorchjobs/default/b"));
  engine.Settle();
  EXPECT_EQ(engine.Gang("b").status().attempt, 1);
}

TEST(Step, ForgetsTheShapesAndClaimsOfJobsThatAreGone) {
  HandDriven engine;
  engine.Nodes(1, 1);
  for (int i = 1; i <= 1000; ++i) {
    std::string name = "job-" + std::to_string(i);
    json::Doc requests = {{"nvidia.com/gpu", "2"}, {"cpu", std::to_string(i) + "m"}};
    json::Doc container = {{"name", "pytorch"}, {"image", "i"}, {"resources", {{"requests", requests}}}};
    json::Doc volume = {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "of-" + name}}}};
    json::Doc pod = {
        {"spec", {{"containers", json::Doc::array({container})}, {"volumes", json::Doc::array({volume})}}}};
    engine.Submit(kube::kPyTorchJobs, name,
                  {{"pytorchReplicaSpecs", {{"Worker", {{"replicas", 1}, {"template", pod}}}}}});
    engine.Settle();
    engine.Gone(kube::kPyTorchJobs, "pytorchjobs/default/" + name);
    for (const Action& action : engine.Step()) engine.Answered(action, kube::OkStatus());
    engine.Gone(kube::kGangs, "gangs/default/pytorchjob-" + name);
    engine.Step();
  }
  EXPECT_EQ(engine.world.gangs.size(), 0U);
  EXPECT_LT(engine.world.checks.size(), 100U);
  EXPECT_LT(engine.world.nodes.class_count(), 300U);
  EXPECT_LT(engine.world.claimants.size(), 300U);
}

// The gangs whose placement the engine records, in order, while nobody ever ends.
std::vector<std::string> PlacedInOrder(HandDriven& engine) {
  std::vector<std::string> placed;
  while (std::optional<Action> write = engine.RunUntil(ActionKind::kWriteGang)) {
    if (write->request.body.find("\"phase\":\"Placing\"") != std::string::npos)
      placed.push_back(write->gang.substr(write->gang.rfind('/') + 1));
    engine.Applied(*write);
  }
  return placed;
}

TEST(Step, AGangThatFitsGoesAheadOfOneThatDoesNot) {
  HandDriven engine;
  engine.Nodes(4, 1);
  engine.Job("a", 2);
  engine.Settle();
  engine.Job("large", 4);
  engine.Job("small", 2);
  EXPECT_THAT(PlacedInOrder(engine), ElementsAre("small"));
  EXPECT_THAT(engine.Gang("large").status().reason.message, HasSubstr("needs 4 nvidia.com/gpu"));
}

TEST(Step, AGangThatHasWaitedTooLongLetsNobodyBy) {
  HandDriven engine;
  engine.Nodes(4, 1);
  engine.Job("a", 2);
  engine.Settle();
  engine.Job("large", 4);
  engine.Settle();
  engine.now.mono += minutes(31);
  engine.now.wall += minutes(31);
  engine.Settle();
  EXPECT_TRUE(engine.Gang("large").aged);
  engine.Job("small", 2);
  EXPECT_THAT(PlacedInOrder(engine), IsEmpty());
  EXPECT_EQ(engine.Gang("small").status().reason.message,
            "would fit now; large has waited longest and is placed first");
}

TEST(Step, WhatRunsIsLeftAloneWhileTheServerLacksItsKind) {
  HandDriven engine;
  engine.RunPair();
  engine.world.missing_kinds.insert(jobs::FrameworkOf(kube::kPyTorchJobs));
  engine.PodIs("a-worker-0", "Failed");
  EXPECT_THAT(engine.Step(), IsEmpty());

  engine.world.missing_kinds.clear();
  engine.world.Touch(engine.Gang("a").key);
  EXPECT_TRUE(engine.RunUntil(ActionKind::kWriteGang)) << "the failed rank is seen now";
}

}  // namespace
}  // namespace lockstep::engine
