#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/test_kubelet.h"

namespace lockstep::kubelet {
namespace {

using State = PodLife::State;

// ---- deletion: the rows of the measured table. The process ignores SIGTERM unless noted. ----

struct DeletionRow {
  const char* name;
  int64_t grace;
  Duration process_gone, object_gone;  // measured
};

class HealthyDeletion : public ::testing::TestWithParam<DeletionRow> {};

TEST_P(HealthyDeletion, TakesAsLongAsMeasured) {
  Kubelet kubelet = Stubborn();
  kubelet.Delete(GetParam().grace);
  EXPECT_EQ(ProcessGone(kubelet), GetParam().process_gone);
  EXPECT_EQ(kubelet.patched_at, GetParam().process_gone);
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 137);
  EXPECT_TRUE(kube::AllContainersEnded(kubelet.pod()))
      << "terminated is an earlier proof than the disappearance";
  EXPECT_FALSE(kubelet.removed_at.has_value());

  kubelet.RunTo(minutes(5));
  if (GetParam().object_gone == Duration::zero()) {
    EXPECT_FALSE(kubelet.removed_at.has_value()) << "deleted with grace 0: only a finalizer holds the object";
  } else {
    EXPECT_LE(abs(*kubelet.removed_at - GetParam().object_gone), milliseconds(200));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, HealthyDeletion,
                         ::testing::Values(DeletionRow{"default", 30, milliseconds(30100),
                                                       milliseconds(30900)},
                                           DeletionRow{"grace1", 1, milliseconds(2100), milliseconds(2800)},
                                           DeletionRow{"finalizer_grace0", 0, milliseconds(2100), {}}),
                         [](const auto& row_info) { return row_info.param.name; });

TEST(PodDeletion, AProcessThatObeysIsGoneAtOnceAndThePodSucceeds) {
  Kubelet kubelet(PodDoc({{"run-time", "forever"}}, "Always"));
  kubelet.Delete(30);
  kubelet.RunTo(minutes(1));
  EXPECT_EQ(kubelet.patched_at, milliseconds(100));
  EXPECT_EQ(*kubelet.removed_at, milliseconds(750));
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded") << "whatever its restartPolicy";
}

TEST(PodDeletion, AProcessThatDiesOfTheSignalFailsThePod) {
  Kubelet kubelet(PodDoc({{"run-time", "forever"}, {"term-exit-code", "143"}}));
  kubelet.Delete(30);
  kubelet.RunTo(seconds(1));
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 143);
}

TEST(PodDeletion, AGraceOnceBegunIsNotShortened) {
  Kubelet kubelet = Stubborn();
  kubelet.Delete(30);
  kubelet.RunTo(seconds(3));
  kubelet.Delete(1);
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(30100));
}

TEST(PodDeletion, ForceProvesNothing) {
  Kubelet kubelet = Stubborn();
  kubelet.DeleteByForce();
  EXPECT_TRUE(kubelet.life->process_runs());
  EXPECT_FALSE(kubelet.life->counts_in_admission()) << "the kubelet admits a new pod onto the same device";
  EXPECT_FALSE(kubelet.life->over());
  int before = kubelet.patches;
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(2100));
  EXPECT_TRUE(kubelet.life->over());
  EXPECT_EQ(kubelet.patches, before) << "there is no object to write to";
  EXPECT_FALSE(kubelet.removed_at.has_value());
}

TEST(PodDeletion, DefaultThenForceLeavesTheProcessItsWholeGrace) {
  Kubelet kubelet = Stubborn();
  kubelet.Delete(30);
  kubelet.RunTo(seconds(3));
  kubelet.DeleteByForce();
  EXPECT_EQ(ProcessGone(kubelet), milliseconds(30100));
}

TEST(PodDeletion, AProcessThatEndsOfItselfMeanwhileKeepsItsOwnExit) {
  Kubelet kubelet(PodDoc({{"run-time", "5s"}, {"ignore-term", "true"}, {"exit-code", "7"}}, "OnFailure"));
  kubelet.RunTo(seconds(1));
  kubelet.Delete(30);
  kubelet.RunTo(minutes(1));
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 7);
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed") << "no restart while it is being deleted";
  EXPECT_EQ(*kubelet.removed_at, seconds(5) + kRemovalDelay);
}

TEST(PodDeletion, AnEndedPodIsRemovedSoon) {
  Kubelet kubelet(PodDoc({{"run-time", "1s"}}));
  kubelet.RunTo(seconds(10));
  kubelet.Delete(30);
  kubelet.RunTo(seconds(20));
  EXPECT_EQ(*kubelet.removed_at, seconds(10) + kRemovalDelay);
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
}

TEST(PodDeletion, APodThatNeverStartedSaysThatNoContainerWasFound) {
  Kubelet kubelet(PodDoc({{"start-delay", "1m"}}));
  kubelet.RunTo(seconds(1));
  kubelet.Delete(30);
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 137);
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.reason"), "ContainerStatusUnknown");
  EXPECT_TRUE(kube::AllContainersEnded(kubelet.pod()));
  kubelet.RunTo(minutes(2));
  EXPECT_EQ(*kubelet.removed_at, seconds(1) + kRemovalDelay);
}

TEST(PodDeletion, ABackOffEndsWithTheLastExit) {
  Kubelet kubelet(PodDoc({{"run-time", "1s"}, {"exit-code", "9"}}, "OnFailure"));
  kubelet.RunTo(seconds(3));
  ASSERT_EQ(kubelet.life->state(), State::kBackOff);
  kubelet.Delete(30);
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 9);
}

TEST(PodDeletion, AHangingProcessOutlivesTheKillUntilItsNodeCrashes) {
  Kubelet kubelet = Stubborn({{"hang-terminating", "true"}});
  kubelet.Delete(1);
  kubelet.RunTo(hours(1));
  EXPECT_TRUE(kubelet.life->process_runs());
  EXPECT_FALSE(kubelet.removed_at.has_value());
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");

  kubelet.life->Crash(kubelet.now());
  EXPECT_FALSE(kubelet.life->process_runs());
  kubelet.life->Boot(kubelet.now());
  kubelet.Step();
  kubelet.RunTo(hours(2));
  EXPECT_TRUE(kubelet.removed_at.has_value());
}

// ---- the kubelet or the node goes ----

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

}  // namespace
}  // namespace lockstep::kubelet
