// The kubelet or its node goes, and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/pod_life.h"
#include "kubelet/testing.h"

namespace lockstep::kubelet {
namespace {

using State = PodLife::State;

TEST(PodOnFrozenKubelet, TheGraceBeginsWhenTheKubeletIsBack) {
  Kubelet kubelet = Stubborn();
  kubelet.frozen = true;
  kubelet.RunTo(seconds(15));  // deleted at 0 with grace 1; measured: 18.2 / 19.1
  kubelet.frozen = false;
  kubelet.Delete(1);
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(17100));
  kubelet.RunTo(seconds(30));
  EXPECT_EQ(*kubelet.removed_at, milliseconds(17750));
}

TEST(PodOnFrozenKubelet, AProcessThatEndedMeanwhileIsReportedWithItsOwnTime) {
  Kubelet kubelet(PodDoc({{"run-time", "5s"}}));
  kubelet.frozen = true;
  kubelet.RunTo(seconds(60));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  kubelet.frozen = false;
  kubelet.Step();
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.finishedAt"), "2026-01-01T00:00:05Z");
}

TEST(PodOnRestartedKubelet, TheGracePeriodStartsOver) {
  Kubelet kubelet = Stubborn();
  kubelet.Delete(30);
  kubelet.RunTo(seconds(10));
  kubelet.frozen = true;  // killed at 10, back at 12; measured: 43.1 / 44.3
  kubelet.RunTo(seconds(12));
  kubelet.frozen = false;
  kubelet.life->RestartKubelet(kubelet.now());
  kubelet.Step();
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(42100));
}

TEST(PodOnRestartedKubelet, AnOrphanEndsWithTheShortestGrace) {
  Kubelet kubelet = Stubborn();  // default, then 0, while no kubelet runs; back at 15; measured: 17.3
  kubelet.Delete(30);
  kubelet.frozen = true;
  kubelet.RunTo(seconds(15));
  kubelet.life->SeeVanished(kubelet.now());
  kubelet.life->RestartKubelet(kubelet.now());
  kubelet.frozen = false;
  kubelet.Step();
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(17100));
}

TEST(PodOnCrashedNode, IsReportedAs255UnknownSoonAfterTheBoot) {
  Kubelet kubelet = Stubborn();
  kubelet.RunTo(seconds(3));
  kubelet.life->Crash(kubelet.now());
  EXPECT_FALSE(kubelet.life->process_runs());
  kubelet.frozen = true;
  kubelet.RunTo(seconds(20));
  kubelet.frozen = false;
  kubelet.life->Boot(kubelet.now());
  kubelet.Step();
  EXPECT_EQ(kubelet.Get("status.phase"), "Running") << "not yet";
  kubelet.RunTo(seconds(60));
  EXPECT_EQ(kubelet.patched_at, seconds(20) + kBootReport);
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 255);
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.reason"), "Unknown");
  EXPECT_FALSE(kubelet.removed_at.has_value()) << "nobody deleted it";
}

TEST(PodOnCrashedNode, ADeletedOneIsGoneTwoSecondsAfterTheBoot) {
  Kubelet kubelet = Stubborn();
  kubelet.life->Crash(kubelet.now());
  kubelet.frozen = true;
  kubelet.RunTo(seconds(15));  // measured: booted at 15, gone at 16.9
  kubelet.life->SeeDeletion(30, kubelet.now());
  kubelet.life->Boot(kubelet.now());
  kubelet.frozen = false;
  kubelet.Step();
  kubelet.RunTo(seconds(60));
  EXPECT_EQ(*kubelet.removed_at, milliseconds(16900));
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 255);
}

TEST(PodOnCrashedNode, OneThatMayRestartRunsAgainAfterTheBoot) {
  Kubelet kubelet(PodDoc({{"run-time", "forever"}}, "OnFailure"));
  kubelet.RunTo(seconds(3));
  kubelet.life->Crash(kubelet.now());
  kubelet.frozen = true;
  kubelet.RunTo(seconds(10));
  kubelet.frozen = false;
  kubelet.life->Boot(kubelet.now());
  kubelet.Step();
  kubelet.RunTo(seconds(20));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.restartCount"), 1);
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.lastState.terminated.exitCode"), 255);
}

TEST(PodOnCrashedNode, AForceDeletedOneDiesWithTheNode) {
  Kubelet kubelet = Stubborn();
  kubelet.life->Crash(kubelet.now());
  kubelet.life->SeeVanished(kubelet.now());
  kubelet.life->Boot(kubelet.now());
  kubelet.Step();
  EXPECT_TRUE(kubelet.life->over());
}

// ---- this program is restarted ----

TEST(AdoptedPod, RunsOnFromWhereTheStatusSaysItStarted) {
  Kubelet first(PodDoc({{"run-time", "60s"}}));
  Doc object = first.object;

  Kubelet second(PodDoc());
  second.loop.RunUntil(MonoTime{} + seconds(20));
  second.object = object;
  second.patches = 0;
  second.life.emplace(object, Programme{}, NodeAddresses{"10.0.0.1", "10.128.0.77"}, second.now());
  EXPECT_EQ(second.life->state(), State::kRunning);
  second.Step();
  EXPECT_EQ(second.patches, 0) << "nothing changed";
  second.RunTo(seconds(60));
  EXPECT_EQ(second.Get("status.phase"), "Succeeded");
  EXPECT_EQ(second.Get("status.podIP"), "10.128.0.1") << "it keeps its address";
}

TEST(AdoptedPod, AnEndedOneIsLeftAloneUntilItIsDeleted) {
  Kubelet first(PodDoc({{"run-time", "1s"}}));
  first.RunTo(seconds(1));
  Kubelet second(first.object);
  EXPECT_EQ(second.patches, 0);
  second.Delete(30);
  second.RunTo(seconds(10));
  EXPECT_EQ(second.patches, 0);
  EXPECT_TRUE(second.removed_at.has_value());
}

}  // namespace
}  // namespace lockstep::kubelet
