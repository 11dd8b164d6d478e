#include "kubelet/pod_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubelet/test_kubelet.h"

namespace lockstep::kubelet {
namespace {

using json::Doc;
using State = PodLife::State;

// ---- running ----

TEST(PodLife, OnePatchToRunningAndOneToSucceeded) {
  Kubelet kubelet(PodDoc({{"run-time", "10s"}, {"start-delay", "2s"}}));
  EXPECT_EQ(kubelet.patches, 0);
  kubelet.RunTo(milliseconds(1999));
  EXPECT_EQ(kubelet.patches, 0);

  kubelet.RunTo(seconds(2));
  EXPECT_EQ(kubelet.patches, 1);
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.Get("status.podIP"), "10.128.0.1");
  EXPECT_EQ(kubelet.Get("status.podIPs.0.ip"), "10.128.0.1");
  EXPECT_EQ(kubelet.Get("status.hostIP"), "10.0.0.1");
  EXPECT_EQ(kubelet.Get("status.startTime"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.running.startedAt"), "2026-01-01T00:00:02Z");
  EXPECT_TRUE(json::GetBool(kubelet.object, "status.containerStatuses.0.ready"));
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    EXPECT_EQ(kubelet.Condition(type), "True") << type;
    EXPECT_EQ(kubelet.Condition(type, "lastTransitionTime"), "2026-01-01T00:00:02Z") << type;
  }

  kubelet.RunTo(seconds(12) - Duration(1));
  EXPECT_EQ(kubelet.patches, 1);
  kubelet.RunTo(seconds(60));
  EXPECT_EQ(kubelet.patches, 2);
  EXPECT_EQ(kubelet.patched_at, seconds(12));
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.reason"), "Completed");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 0);
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.finishedAt"), "2026-01-01T00:00:12Z");
  EXPECT_EQ(kubelet.Condition("Ready"), "False");
  EXPECT_EQ(kubelet.Condition("Ready", "reason"), "PodCompleted");
  EXPECT_EQ(kubelet.Condition("PodScheduled", "lastTransitionTime"), "2026-01-01T00:00:02Z") << "unchanged";
  EXPECT_TRUE(kube::AllContainersEnded(kubelet.pod()));
  EXPECT_FALSE(kubelet.wake.has_value());
}

TEST(PodLife, AFailureOfAPodThatNeverRestartsFailsIt) {
  Kubelet kubelet(PodDoc({{"run-time", "5s"}, {"exit-code", "3"}}));
  kubelet.RunTo(seconds(5));
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.terminated.reason"), "Error");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.state.terminated.exitCode"), 3);
  EXPECT_EQ(kubelet.Condition("Ready", "reason"), "PodFailed");
}

TEST(PodLife, ForeverIsForever) {
  Kubelet kubelet(PodDoc({{"run-time", "forever"}}));
  kubelet.RunTo(hours(24 * 365));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.patches, 1);
}

TEST(PodLife, ConditionsOfOthersSurvive) {
  Doc pod = PodDoc();
  pod["status"]["conditions"] = Doc::array(
      {Doc{{"type", "PodScheduled"}, {"status", "True"}, {"lastTransitionTime", "2025-12-31T23:00:00Z"}},
       Doc{{"type", "example.com/gate"}, {"status", "True"}}});
  Kubelet kubelet(std::move(pod));
  EXPECT_EQ(kubelet.Condition("example.com/gate"), "True");
  EXPECT_EQ(kubelet.Condition("PodScheduled", "lastTransitionTime"), "2025-12-31T23:00:00Z");
}

TEST(PodLife, ThePatchNamesTheUidItIsMeantFor) {
  PodLife life(PodDoc(), {}, {}, VirtualLoop().now());
  life.Admit(VirtualLoop().now());
  EXPECT_EQ(json::GetString(*life.Advance(VirtualLoop().now()).status_patch, "metadata.uid"), "u1");
}

TEST(PodLife, InitContainersAreDoneAndSidecarsLiveAsLongAsThePod) {
  Doc pod = PodDoc({{"run-time", "5s"}});
  pod["spec"]["initContainers"] =
      Doc::array({Doc{{"name", "prepare"}, {"image", "i"}},
                  Doc{{"name", "proxy"}, {"image", "s"}, {"restartPolicy", "Always"}}});
  Kubelet kubelet(std::move(pod));
  EXPECT_EQ(kubelet.Get("status.initContainerStatuses.0.state.terminated.reason"), "Completed");
  EXPECT_NE(json::Find(kubelet.object, "status.initContainerStatuses.1.state.running"), nullptr);
  EXPECT_FALSE(kube::AllContainersEnded(kubelet.pod()));

  kubelet.RunTo(seconds(5));
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
  EXPECT_TRUE(kube::AllContainersEnded(kubelet.pod()));
}

TEST(PodLife, APodOnTheHostsNetworkHasTheHostsAddress) {
  Doc pod = PodDoc();
  pod["spec"]["hostNetwork"] = true;
  Kubelet kubelet(std::move(pod));
  EXPECT_EQ(kubelet.Get("status.podIP"), "10.0.0.1");
}

// ---- never starting ----

TEST(PodLife, AStartErrorStaysPendingWithItsReason) {
  Kubelet kubelet(PodDoc({{"start-error", "ImagePullBackOff"}}));
  kubelet.RunTo(minutes(60));
  EXPECT_EQ(kubelet.Get("status.phase"), "Pending");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.waiting.reason"), "ImagePullBackOff");
  EXPECT_EQ(kubelet.Condition("Ready", "message"), "containers with unready status: [main]");
  EXPECT_EQ(kubelet.patches, 1);
  EXPECT_TRUE(kubelet.life->counts_in_admission());

  kubelet.Delete(30);
  kubelet.RunTo(minutes(61));
  EXPECT_EQ(*kubelet.removed_at, minutes(60) + kRemovalDelay);
}

TEST(PodLife, AWrongAnnotationIsAStartErrorThatNamesIt) {
  Kubelet kubelet(PodDoc({{"run-time", "soon"}}));
  EXPECT_EQ(kubelet.Get("status.phase"), "Pending");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.waiting.reason"), "CreateContainerConfigError");
  EXPECT_THAT(kubelet.Get("status.containerStatuses.0.state.waiting.message"),
              ::testing::HasSubstr("hollow.lockstep.dev/run-time"));
}

TEST(PodLife, ARefusedPodFailsWithoutAContainer) {
  Kubelet kubelet(PodDoc(), /*admit=*/false);
  kubelet.life->Refuse({"OutOfcpu", "Pod was rejected: too little"}, kubelet.now());
  kubelet.Step();
  EXPECT_EQ(kubelet.Get("status.phase"), "Failed");
  EXPECT_EQ(kubelet.Get("status.reason"), "OutOfcpu");
  EXPECT_EQ(kubelet.Get("status.message"), "Pod was rejected: too little");
  EXPECT_EQ(json::Find(kubelet.object, "status.containerStatuses"), nullptr);
  EXPECT_FALSE(kube::HoldsResources(kubelet.pod()));
  EXPECT_FALSE(kubelet.life->counts_in_admission());
}

// ---- restarts ----

TEST(PodLife, OnFailureRestartsInPlaceAtOnceThenAfter10sThen20s) {
  Kubelet kubelet(PodDoc({{"run-time", "1s"}, {"exit-code", "1,1,1,0"}}, "OnFailure"));
  kubelet.RunTo(seconds(1));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.restartCount"), 1)
      << "the first restart waits for nothing";
  EXPECT_EQ(kubelet.patches, 2);
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.lastState.terminated.exitCode"), 1);

  kubelet.RunTo(seconds(2));
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.waiting.reason"), "CrashLoopBackOff");
  EXPECT_EQ(kubelet.Get("status.containerStatuses.0.state.waiting.message"),
            "back-off 10s restarting failed container, pod=p_ns(u1)");
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.Condition("Ready", "reason"), "ContainersNotReady");
  EXPECT_TRUE(kubelet.life->counts_in_admission());

  kubelet.RunTo(seconds(12));
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.restartCount"), 2);
  kubelet.RunTo(seconds(13 + 20));
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.restartCount"), 3);
  EXPECT_EQ(kubelet.Condition("Ready"), "True");
  kubelet.RunTo(seconds(34));
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
}

TEST(PodLife, TheBackOffEndsAtFiveMinutesAndIsForgottenAfterALongRun) {
  Kubelet kubelet(PodDoc({{"run-time", "1s"}, {"exit-code", "1"}}, "Always"));
  std::vector<int64_t> starts;
  for (int64_t restarts = 0; kubelet.loop.elapsed() < hours(1);) {
    kubelet.RunTo(kubelet.loop.elapsed() + seconds(1));
    int64_t seen = kubelet.Number("status.containerStatuses.0.restartCount");
    if (seen == restarts) continue;
    restarts = seen;
    starts.push_back(kubelet.loop.elapsed() / seconds(1));
  }
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < starts.size(); ++i) gaps.push_back(starts[i] - starts[i - 1] - 1);
  EXPECT_THAT(std::vector(gaps.begin(), gaps.begin() + 8),
              ::testing::ElementsAre(10, 20, 40, 80, 160, 300, 300, 300));

  Kubelet patient(PodDoc({{"run-time", "11m"}, {"exit-code", "1"}}, "Always"));
  patient.RunTo(minutes(11 * 3));
  EXPECT_EQ(patient.Number("status.containerStatuses.0.restartCount"), 3)
      << "each run was long enough to forget";
}

TEST(PodLife, AlwaysRestartsAlsoAfterSuccess) {
  Kubelet kubelet(PodDoc({{"run-time", "1s"}}, "Always"));
  kubelet.RunTo(seconds(1));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  EXPECT_EQ(kubelet.Number("status.containerStatuses.0.restartCount"), 1);
}

// ---- rendezvous ----

TEST(PodLife, RunTimeCountsFromTheMeeting) {
  Kubelet kubelet(PodDoc({{"run-time", "10s"}, {"rendezvous", "g/2"}}));
  EXPECT_TRUE(kubelet.life->awaits_meeting());
  kubelet.RunTo(minutes(5));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  kubelet.life->Meet(kubelet.now().mono);
  kubelet.life->Meet(kubelet.now().mono + hours(1));
  kubelet.Step();
  kubelet.RunTo(minutes(5) + seconds(10) - Duration(1));
  EXPECT_EQ(kubelet.Get("status.phase"), "Running");
  kubelet.RunTo(minutes(5) + seconds(10));
  EXPECT_EQ(kubelet.Get("status.phase"), "Succeeded");
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
