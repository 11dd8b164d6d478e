#include "engine/counters.h"

#include <gmock/gmock.h>

#include "api/labels.h"
#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using cluster::Action;
using cluster::ActionKind;
using testing::HandDriven;
using ::testing::HasSubstr;

constexpr const char* kJob = "pytorchjobs/default/a";

void Annotate(HandDriven& engine, const std::string& text) {
  json::Doc annotations = {{std::string(api::kCountersAnnotation), text}};
  engine.Edit(kube::kPyTorchJobs, kJob, {{"metadata", {{"annotations", annotations}}}});
}

TEST(Counters, AFirstAttemptThatRunsCostsNoWrite) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  EXPECT_FALSE(engine.RunUntil(ActionKind::kMirrorCounters));
  for (const char* pod : {"a-worker-0", "a-worker-1"}) engine.PodIs(pod, "Running");
  EXPECT_FALSE(engine.RunUntil(ActionKind::kMirrorCounters));
  EXPECT_EQ(engine.Gang("a").status().attempt, 1);
}

TEST(Counters, ARestartIsMirroredIntoTheJob) {
  HandDriven engine;
  engine.RunPair();
  engine.Edit(kube::kPyTorchJobs, kJob,
              {{"spec", {{"runPolicy", {{"suspend", true}}}}}, {"metadata", {{"generation", 2}}}});
  std::optional<Action> mirror = engine.RunUntil(ActionKind::kMirrorCounters);
  ASSERT_TRUE(mirror);
  EXPECT_THAT(mirror->request.body, HasSubstr("\"1/0/0\""));
  EXPECT_THAT(mirror->request.body, HasSubstr("\"resourceVersion\""));
  EXPECT_EQ(mirror->request.subresource, "");
}

TEST(Counters, AGangMadeAnewGoesOnFromThem) {
  HandDriven engine;
  engine.Nodes(2, 1);
  engine.Job("a", 2);
  Annotate(engine, "7/2/1");
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().attempt, 8);
  EXPECT_EQ(engine.Gang("a").status().policy_restarts, 2);
  EXPECT_EQ(engine.Gang("a").status().fault_restarts, 1);
}

TEST(Counters, WhatIsNoSuchTextSaysNothing) {
  for (const char* text : {"", "x", "1/2", "1/2/3/4", "-1/0/0", "9999999999/0/0", "7/2/1 ", "7//1"}) {
    HandDriven engine;
    engine.Nodes(2, 1);
    engine.Job("a", 2);
    Annotate(engine, text);
    engine.Settle();
    EXPECT_EQ(engine.Gang("a").status().attempt, 1) << text;
    EXPECT_EQ(engine.Gang("a").status().policy_restarts, 0) << text;
  }
}

TEST(Counters, NumbersThatSomebodyMadeHugeAreNotMirroredForEver) {
  HandDriven engine;
  engine.RunPair();
  engine.Edit(kube::kGangs, "gangs/default/pytorchjob-a",
              {{"status", {{"restarts", {{"policy", 4'000'000'000}, {"fault", 0}}}}}});
  int mirrored = 0;
  for (int i = 0; i < 20; ++i) {
    std::optional<Action> write = engine.RunUntil(ActionKind::kMirrorCounters);
    if (!write) break;
    ++mirrored;
    engine.Applied(*write);
  }
  EXPECT_LE(mirrored, 1);
}

}  // namespace
}  // namespace lockstep::engine
