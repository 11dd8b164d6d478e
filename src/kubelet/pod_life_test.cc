#include "kubelet/pod_life.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"
#include "json/patch.h"
#include "kube/model/pod.h"

namespace lockstep::kubelet {
namespace {

using json::Doc;
using State = PodLife::State;

// A pod document with one container; `annotations` without their prefix.
Doc PodDoc(std::map<std::string, std::string> annotations = {}, const std::string& policy = "Never") {
  Doc pod = {{"metadata", {{"namespace", "ns"}, {"name", "p"}, {"uid", "u1"}}},
             {"spec", {{"nodeName", "node-0"}, {"restartPolicy", policy}}},
             {"status", {{"phase", "Pending"}}}};
  pod["spec"]["containers"] = Doc::array({Doc{{"name", "main"}, {"image", "img"}}});
  pod["metadata"]["annotations"] = Doc::object();
  for (const auto& [name, value] : annotations) {
    pod["metadata"]["annotations"]["hollow.lockstep.dev/" + name] = value;
  }
  return pod;
}

// A kubelet with one pod and the object the API server would hold, in virtual time.
class Kubelet {
 public:
  explicit Kubelet(Doc pod, bool admit = true) : object(std::move(pod)) {
    life.emplace(object, Programme{}, NodeAddresses{"10.0.0.1", "10.128.0.1"}, now());
    if (admit && life->state() == State::kWaiting) life->Admit(now());
    Step();
  }

  Now now() const { return loop.now(); }
  // Advances now and at every wake until `until`.
  void RunTo(Duration until) {
    while (!frozen && wake && *wake <= MonoTime{} + until) {
      loop.RunUntil(*wake);
      Step();
    }
    loop.RunUntil(MonoTime{} + until);
    if (!frozen) Step();
  }
  void Step() {
    LifeStep step = life->Advance(now());
    wake = step.wake;
    if (step.status_patch) {
      ++patches;
      patched_at = loop.elapsed();
      Outcome error = json::StrategicMergePatch(object, *step.status_patch);
      EXPECT_FALSE(error.has_value()) << error->message;
    }
    if (step.remove) {
      EXPECT_FALSE(removed_at.has_value()) << "removed twice";
      removed_at = loop.elapsed();
    }
  }
  void Delete(int64_t grace) {
    life->SeeDeletion(grace, now());
    Step();
  }
  void DeleteByForce() {
    life->SeeVanished(now());
    Step();
  }

  std::string Get(std::string_view path) const { return json::GetString(object, path); }
  int64_t Number(std::string_view path) const { return json::GetInt(object, path, -1); }
  kube::Pod pod() const { return *kube::ParsePod(object); }
  std::string Condition(const std::string& type, const std::string& field = "status") const {
    for (const Doc& condition : object["status"]["conditions"]) {
      if (condition["type"] == type) return json::GetString(condition, field);
    }
    return "";
  }

  VirtualLoop loop;
  Doc object;
  std::optional<PodLife> life;
  std::optional<MonoTime> wake;
  int patches = 0;
  Duration patched_at{};
  std::optional<Duration> removed_at;
  bool frozen = false;
};

// When the process of an unreported pod was gone, to the tenth of a second.
Duration ProcessGone(Kubelet& kubelet, Duration limit = minutes(5)) {
  while (kubelet.life->process_runs() && kubelet.loop.elapsed() < limit) {
    kubelet.RunTo(kubelet.loop.elapsed() + milliseconds(100));
  }
  return kubelet.loop.elapsed();
}

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

// ---- deletion: the rows of the measured table. The process ignores SIGTERM unless noted. ----

Kubelet Stubborn(std::map<std::string, std::string> more = {}) {
  more.merge(std::map<std::string, std::string>{{"run-time", "forever"}, {"ignore-term", "true"}});
  return Kubelet(PodDoc(std::move(more)));
}

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
