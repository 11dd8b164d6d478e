#include "engine/groups.h"

#include <gmock/gmock.h>

#include "api/labels.h"
#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using api::GangPhase;
using api::Way;
using cluster::Action;
using cluster::ActionKind;
using ::testing::AllOf;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Groups : ::testing::Test {
  json::Doc Pod(const std::string& name, const std::string& gang, const std::string& size) {
    json::Doc container = {
        {"name", "c"}, {"image", "i"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}};
    json::Doc owner = {{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"name", gang},
                       {"uid", "uid-" + gang},
                       {"controller", true}};
    json::Doc pod = {
        {"metadata",
         {{"name", name},
          {"namespace", "default"},
          {"uid", "uid-" + name},
          {"creationTimestamp", FormatTime(engine.now.wall)},
          {"ownerReferences", json::Doc::array({owner})},
          {"labels", {{api::kGangLabel, gang}}}}},
        {"spec", {{"containers", json::Doc::array({container})}, {"schedulerName", "default-scheduler"}}},
        {"status", {{"phase", "Pending"}}}};
    if (!size.empty()) pod["metadata"]["labels"][std::string(api::kGangSizeLabel)] = size;
    return pod;
  }

  void Gated(const std::string& name, const std::string& gang, const std::string& size) {
    json::Doc pod = Pod(name, gang, size);
    pod["spec"]["schedulingGates"] = json::Doc::array({{{"name", api::kGangGate}}});
    engine.See(kube::kPods, pod);
  }

  void Ours(const std::string& name, const std::string& gang, const std::string& size) {
    json::Doc pod = Pod(name, gang, size);
    pod["spec"]["schedulerName"] = api::kSchedulerName;
    engine.See(kube::kPods, pod);
  }

  // The other scheduler binds a pod to where it is steered.
  void BoundToSeat(const std::string& name) {
    engine.Edit(kube::kPods, "pods/default/" + name,
                {{"spec", {{"nodeName", Mark(name).seat}}}, {"status", {{"phase", "Running"}}}});
  }

  const cluster::GangState& Gang(const std::string& name) { return engine.Gang(name, "podsets"); }
  const api::GangStatus& Status(const std::string& name) { return Gang(name).status(); }
  const cluster::PodRecord& Record(const std::string& pod) { return *engine.world.pods.at("default/" + pod); }
  const cluster::GroupMark& Mark(const std::string& pod) { return *Record(pod).group; }

  HandDriven engine;
};

TEST_F(Groups, GatedPodsAreSteeredAndThenAllGatesAreLifted) {
  engine.Nodes(2, 1);
  Gated("a-0", "a", "2");
  engine.Settle();
  EXPECT_EQ(Status("a").reason.code, "PodsMissing");
  EXPECT_EQ(Status("a").reason.message, "1 of 2 pods exist");
  Gated("a-1", "a", "2");
  std::optional<Action> first = engine.RunUntil(ActionKind::kPatchPod, "a-0");
  ASSERT_TRUE(first);
  EXPECT_EQ(Gang("a").gang->status.phase, GangPhase::kPlacing) << "the record comes first";
  EXPECT_EQ(Gang("a").gang->status.way, Way::kSteer);
  EXPECT_THAT(first->request.body, AllOf(HasSubstr("metadata.name"), HasSubstr("node-0"),
                                         Not(HasSubstr("schedulingGates")), HasSubstr("resourceVersion")));
  EXPECT_FALSE(engine.RunUntil(ActionKind::kPatchPod, "a-1")) << "steered already, and no gate lifted";
  EXPECT_TRUE(Mark("a-1").gated);
  engine.Applied(*first);
  std::vector<Action> lifted = engine.Step();
  ASSERT_THAT(lifted, SizeIs(2));
  for (const Action& action : lifted) {
    EXPECT_THAT(action.request.body, HasSubstr("\"schedulingGates\":[]"));
    engine.Applied(action);
  }
  engine.Settle();
  EXPECT_EQ(Status("a").phase, GangPhase::kPlacing);
  BoundToSeat("a-0");
  BoundToSeat("a-1");
  engine.Settle();
  EXPECT_EQ(Status("a").phase, GangPhase::kRunning);
  EXPECT_THAT(engine.Step(), IsEmpty());
}

TEST_F(Groups, OursAreBoundTogetherAndSayMeanwhileThatTheyWait) {
  Ours("a-0", "a", "2");
  Ours("a-1", "a", "2");
  engine.Settle();
  EXPECT_TRUE(Record("a-0").unschedulable);
  EXPECT_TRUE(Record("a-1").unschedulable);
  EXPECT_THAT(Gang("a").held, IsEmpty());
  engine.Nodes(1, 2);
  std::optional<Action> binding = engine.RunUntil(ActionKind::kBindPod, "a-0");
  ASSERT_TRUE(binding);
  engine.Applied(*binding);
  engine.Settle();
  EXPECT_EQ(Record("a-0").node, "node-0");
  EXPECT_EQ(Record("a-1").node, "node-0");
  EXPECT_EQ(Status("a").way, Way::kBind);
}

TEST_F(Groups, SteeredPodsHoldTheirSeats) {
  engine.Nodes(1, 2);
  Gated("a-0", "a", "2");
  Gated("a-1", "a", "2");
  engine.Settle();
  engine.Job("b", 1);
  engine.Settle();
  EXPECT_EQ(engine.Gang("b").status().reason.code, "InsufficientResources");
  BoundToSeat("a-0");
  BoundToSeat("a-1");
  engine.Settle();
  EXPECT_THAT(Gang("a").held, IsEmpty()) << "the pods themselves are counted now";
  EXPECT_EQ(engine.Gang("b").status().phase, GangPhase::kQueued);
}

TEST_F(Groups, AReplacementGetsThePlaceThatWasKeptForIt) {
  engine.Nodes(1, 2);
  Ours("a-0", "a", "2");
  Ours("a-1", "a", "2");
  engine.Settle();
  engine.PodIs("a-0", "Running");
  engine.PodIs("a-1", "Running");
  engine.Settle();
  ASSERT_EQ(Status("a").phase, GangPhase::kRunning);
  engine.PodIs("a-1", "Failed");
  engine.Job("b", 1);
  engine.Settle();
  EXPECT_EQ(engine.Gang("b").status().phase, GangPhase::kQueued) << "the seat is kept";
  Ours("a-2", "a", "2");
  engine.Settle();
  EXPECT_EQ(Record("a-2").node, "node-0");
  EXPECT_EQ(Status("a").attempt, 2);
  EXPECT_EQ(engine.Gang("b").status().phase, GangPhase::kQueued);
}

TEST_F(Groups, ASeatThatNobodyComesForIsGivenToOthers) {
  engine.Nodes(1, 2);
  Ours("a-0", "a", "2");
  Ours("a-1", "a", "2");
  engine.Settle();
  engine.PodIs("a-0", "Running");
  engine.PodIs("a-1", "Running");
  engine.Settle();
  engine.PodIs("a-1", "Failed");
  engine.Job("b", 1);
  engine.Settle();
  engine.now.mono += minutes(2);
  engine.now.wall += minutes(2);
  engine.Settle();
  EXPECT_TRUE(engine.Gang("b").has_seats());
}

TEST_F(Groups, OneMoreThanTheSizeIsToldSo) {
  engine.Nodes(1, 4);
  for (const char* name : {"a-0", "a-1"}) Ours(name, "a", "2");
  engine.Settle();
  for (const char* name : {"a-0", "a-1"}) engine.PodIs(name, "Running");
  Ours("a-2", "a", "2");
  engine.Settle();
  EXPECT_EQ(Status("a").reason.code, "MorePodsThanSize");
  EXPECT_THAT(Status("a").reason.message, HasSubstr("pod a-2 is one more"));
  EXPECT_EQ(Record("a-2").node, "");
  EXPECT_EQ(Status("a").phase, GangPhase::kRunning);
}

TEST_F(Groups, WhatNobodyUnderstandsIsTold) {
  engine.Nodes(1, 4);
  Gated("none", "none", "");
  Gated("zero", "zero", "0");
  Gated("huge", "huge", "20001");
  Gated("text", "text", "four");
  Gated("one", "differ", "2");
  Gated("two", "differ", "3");
  engine.See(kube::kPods, Pod("loose", "loose", "1"));
  engine.Settle();
  for (auto [gang, code] : {std::pair("none", "SizeMissing"), std::pair("zero", "SizeInvalid"),
                            std::pair("huge", "SizeInvalid"), std::pair("text", "SizeInvalid"),
                            std::pair("differ", "SizesDiffer"), std::pair("loose", "GateMissing")}) {
    EXPECT_EQ(Status(gang).reason.code, code) << gang;
    EXPECT_EQ(Status(gang).attempt, 0) << gang;
  }
}

TEST_F(Groups, APodGroupTellsTheSizeAndAnothersIsLeftAlone) {
  engine.Nodes(1, 4);
  json::Doc ours = Pod("a-0", "", ""), theirs = Pod("b-0", "b", "1");
  for (json::Doc* pod : {&ours, &theirs}) {
    (*pod)["metadata"]["labels"] = {{api::kPodGroupLabel, "ring"}};
  }
  ours["spec"]["schedulerName"] = api::kSchedulerName;
  theirs["spec"]["schedulingGates"] = json::Doc::array({{{"name", api::kGangGate}}});
  engine.See(kube::kPods, ours);
  engine.See(kube::kPods, theirs);
  engine.Settle();
  EXPECT_EQ(Status("podgroup.ring").reason.code, "PodGroupMissing");
  EXPECT_THAT(Gang("podgroup.ring").pods, SizeIs(1));
  engine.See(kube::kPodGroups,
             {{"metadata", {{"name", "ring"}, {"namespace", "default"}}}, {"spec", {{"minMember", 1}}}});
  engine.Settle();
  EXPECT_EQ(Record("a-0").node, "node-0");
  EXPECT_EQ(Record("b-0").group, nullptr);
}

TEST_F(Groups, ALostRecordIsMadeAnewFromThePods) {
  engine.Nodes(1, 2);
  Gated("a-0", "a", "2");
  Gated("a-1", "a", "2");
  engine.Settle();
  BoundToSeat("a-0");
  engine.Settle();
  std::string seat = Mark("a-1").seat;
  engine.Gone(kube::kGangs, "gangs/default/podset-a");
  engine.Settle();
  EXPECT_EQ(Status("a").phase, GangPhase::kPlacing);
  EXPECT_EQ(Mark("a-1").seat, seat);
  BoundToSeat("a-1");
  engine.Settle();
  EXPECT_EQ(Status("a").phase, GangPhase::kRunning);
}

TEST_F(Groups, ASchedulerThatDoesNotWantASeatIsAskedForAnother) {
  engine.Nodes(2, 1);
  Gated("a-0", "a", "1");
  engine.Settle();
  std::string seat = Mark("a-0").seat;
  json::Doc condition = {{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", "I do not like it"}};
  engine.Edit(kube::kPods, "pods/default/a-0", {{"status", {{"conditions", json::Doc::array({condition})}}}});
  engine.Settle();
  engine.now.mono += minutes(1);
  engine.now.wall += minutes(1);
  std::optional<Action> deleted = engine.RunUntil(ActionKind::kDeletePod, "a-0");
  ASSERT_TRUE(deleted) << "its owner makes it anew";
  engine.Gone(kube::kPods, "pods/default/a-0");
  Gated("a-1", "a", "1");
  engine.Settle();
  EXPECT_NE(Mark("a-1").seat, seat);
  EXPECT_THAT(Status("a").barred, SizeIs(1));
}

TEST_F(Groups, HandWrittenRecordsAndOwnersOfNoKindAreHarmless) {
  json::Doc pod = Pod("x", "", "");
  pod["metadata"].erase("labels");
  pod["metadata"]["ownerReferences"][0]["kind"] = "PodSet";
  pod["spec"]["containers"][0]["env"] = json::Doc::array({{{"name", api::kAttemptEnv}, {"value", "1"}}});
  engine.See(kube::kPods, pod);
  api::GangSpec spec;
  spec.job = {"lockstep.dev/v1alpha1", "PodSet", "nobody", "u"};
  spec.queued_at = engine.now.wall;
  spec.roles = {{"pods", 1, 1}};
  engine.See(kube::kGangs, api::NewGangDoc("default", spec));
  EXPECT_TRUE(engine.RunUntil(ActionKind::kDeleteGang, "podset-nobody"));
}

}  // namespace
}  // namespace lockstep::engine
