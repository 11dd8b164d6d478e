#include "kube/model/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::Doc PodOf(const char* spec) {
  return {{"metadata", {{"name", "a"}, {"namespace", "n"}}}, {"spec", *json::Parse(spec)}};
}

Resources RequestsOf(const char* spec) {
  Result<PodNeed> need = ParsePodNeed(PodOf(spec));
  EXPECT_TRUE(need.ok()) << need.error().message;
  return need.ok() ? need->requests : Resources{};
}

Resources Cpu(Amount thousandths) { return {{"cpu", thousandths}}; }

// Source of the expected sums: PodRequests of k8s.io/component-helpers/resource.
TEST(PodRequests, MainContainersAdd) {
  EXPECT_EQ(RequestsOf(R"({"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Ki"}}},
                                          {"resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": 8}}}, {}]})"),
            (Resources{{"cpu", 1500}, {"memory", 1024'000}, {"nvidia.com/gpu", 8000}}));
}

TEST(PodRequests, ALimitStandsInForAMissingRequest) {
  EXPECT_EQ(RequestsOf(R"({"containers": [{"resources": {"limits": {"cpu": "4", "nvidia.com/gpu": 8},
                                                         "requests": {"cpu": "1"}}}]})"),
            (Resources{{"cpu", 1000}, {"nvidia.com/gpu", 8000}}));
  EXPECT_EQ(
      RequestsOf(R"({"containers": [{"resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "0"}}}]})"),
      Resources{});  // zero was asked for
}

TEST(PodRequests, InitContainersRunOneByOneBeforeTheMainOnes) {
  EXPECT_EQ(
      RequestsOf(
          R"({"initContainers": [{"resources": {"requests": {"cpu": 3}}}, {"resources": {"limits": {"cpu": 5}}}],
                           "containers": [{"resources": {"requests": {"cpu": 1}}}, {"resources": {"requests": {"cpu": 1}}}]})"),
      Cpu(5000));
  EXPECT_EQ(RequestsOf(R"({"initContainers": [{"resources": {"requests": {"cpu": 1, "memory": 7}}}],
                           "containers": [{"resources": {"requests": {"cpu": 2}}}]})"),
            (Resources{{"cpu", 2000}, {"memory", 7000}}));
}

TEST(PodRequests, SidecarsRunBesideTheMainContainers) {
  EXPECT_EQ(
      RequestsOf(R"({"initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"cpu": 1}}}],
                           "containers": [{"resources": {"requests": {"cpu": 2}}}]})"),
      Cpu(3000));
}

// A sidecar counts beside the init containers that start after it, not beside those before.
TEST(PodRequests, TheOrderOfSidecarsMatters) {
  const char* sidecar = R"({"restartPolicy": "Always", "resources": {"requests": {"cpu": 2}}})";
  const char* init = R"({"resources": {"requests": {"cpu": 5}}})";
  auto with = [](const std::string& init_containers) {
    return RequestsOf((R"({"initContainers": [)" + init_containers +
                       R"(], "containers": [{"resources": {"requests": {"cpu": 1}}}]})")
                          .c_str());
  };
  std::string s = sidecar, i = init;
  EXPECT_EQ(with(i + "," + s), Cpu(5000));            // 5, then 2 + 1
  EXPECT_EQ(with(s + "," + i), Cpu(7000));            // 2 + 5
  EXPECT_EQ(with(s + "," + i + "," + s), Cpu(7000));  // 2 + 5, then 2 + 2 + 1
  EXPECT_EQ(with(s + "," + s + "," + i), Cpu(9000));  // 2 + 2 + 5
  EXPECT_EQ(with(s + "," + s + "," + s), Cpu(7000));  // 3 x 2 + 1
}

TEST(PodRequests, OtherRestartPoliciesMakeNoSidecar) {
  EXPECT_EQ(RequestsOf(
                R"({"initContainers": [{"restartPolicy": "OnFailure", "resources": {"requests": {"cpu": 1}}}],
                           "containers": [{"resources": {"requests": {"cpu": 2}}}]})"),
            Cpu(2000));
}

TEST(PodRequests, OverheadComesOnTop) {
  EXPECT_EQ(
      RequestsOf(
          R"({"overhead": {"cpu": "250m", "memory": "120Mi"}, "containers": [{"resources": {"requests": {"cpu": 1}}}]})"),
      (Resources{{"cpu", 1250}, {"memory", 120LL * 1024 * 1024 * 1000}}));
}

TEST(PodRequests, PodLevelResourcesReplaceTheSumForWhatTheyName) {
  EXPECT_EQ(RequestsOf(R"({"resources": {"requests": {"cpu": 4}}, "overhead": {"cpu": 1},
                           "containers": [{"resources": {"requests": {"cpu": 9, "memory": 5, "nvidia.com/gpu": 1}}}]})"),
            (Resources{{"cpu", 5000}, {"memory", 5000}, {"nvidia.com/gpu", 1000}}));
  EXPECT_EQ(
      RequestsOf(
          R"({"resources": {"requests": {"cpu": 4}}, "containers": [{"resources": {"requests": {"cpu": 1}}}],
                           "initContainers": [{"resources": {"requests": {"cpu": 9}}}]})"),
      Cpu(4000));
}

TEST(PodRequests, APodLevelLimitStandsInOnlyWhereNobodyRequests) {
  EXPECT_EQ(RequestsOf(R"({"resources": {"limits": {"cpu": 4, "memory": 6}},
                           "containers": [{"resources": {"requests": {"cpu": 1}}}]})"),
            (Resources{{"cpu", 1000}, {"memory", 6000}}));
}

TEST(PodRequests, PodLevelResourcesAreForCpuMemoryAndHugepages) {
  EXPECT_EQ(RequestsOf(R"({"resources": {"requests": {"nvidia.com/gpu": 4, "hugepages-2Mi": 2, "memory": 3}},
                           "containers": [{"resources": {"requests": {"nvidia.com/gpu": 1}}}]})"),
            (Resources{{"hugepages-2Mi", 2000}, {"memory", 3000}, {"nvidia.com/gpu", 1000}}));
}

TEST(PodRequests, SaturateInsteadOfWrapping) {
  EXPECT_EQ(RequestsOf(R"({"containers": [{"resources": {"requests": {"cpu": "1e99"}}},
                                          {"resources": {"requests": {"cpu": "1e99"}}}], "overhead": {"cpu": 1}})"),
            Cpu(kMaxAmount));
}

TEST(HostPorts, OfMainContainersAndSidecars) {
  json::Doc pod = PodOf(R"({"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080},
                                                      {"containerPort": 81}, {"containerPort": 53, "hostPort": 53,
                                                       "protocol": "UDP", "hostIP": "10.0.0.1"}]},
                                           {"ports": [{"containerPort": 90, "hostPort": 8080}]}],
                            "initContainers": [{"ports": [{"containerPort": 1, "hostPort": 1}]},
                                               {"restartPolicy": "Always", "ports": [{"containerPort": 2, "hostPort": 2}]}]})");
  EXPECT_THAT(ParsePodNeed(pod)->host_ports, ElementsAre(HostPort{"", "TCP", 2}, HostPort{"", "TCP", 8080},
                                                         HostPort{"10.0.0.1", "UDP", 53}));
  pod["spec"]["hostNetwork"] = true;  // now every container port is one of the host
  EXPECT_THAT(ParsePodNeed(pod)->host_ports,
              ElementsAre(HostPort{"", "TCP", 2}, HostPort{"", "TCP", 81}, HostPort{"", "TCP", 8080},
                          HostPort{"10.0.0.1", "UDP", 53}));
}

TEST(PodNeed, IsEqualForAlikePodsOnly) {
  const char* spec =
      R"({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}], "nodeSelector": {"a": "b"},
                         "tolerations": [{"key": "k"}], "nodeName": "x"})";
  json::Doc one = PodOf(spec), two = PodOf(spec);
  two["metadata"]["name"] = "b";
  two["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 8;
  two["spec"]["nodeName"] = "y";
  EXPECT_EQ(*ParsePodNeed(one), *ParsePodNeed(two));
  two["spec"]["nodeSelector"]["a"] = "c";
  EXPECT_NE(*ParsePodNeed(one), *ParsePodNeed(two));
}

TEST(ParsePod, ReadsWhatLockstepNeeds) {
  json::Doc doc = *json::Parse(R"({"metadata": {"name": "a", "namespace": "n"},
      "spec": {"nodeName": "node-a", "schedulerName": "s", "priorityClassName": "high", "priority": 1000,
               "restartPolicy": "Never", "hostNetwork": true, "initContainers": [{"name": "side", "restartPolicy": "Always"}]},
      "status": {"phase": "Running", "reason": "r", "message": "m", "startTime": "2026-03-01T12:00:00Z",
        "initContainerStatuses": [{"name": "side", "restartCount": 2, "state": {"running": {}}}],
        "containerStatuses": [
          {"name": "main", "restartCount": 1, "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
          {"name": "crash", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}},
          {"name": "fresh", "state": {"waiting": {"reason": "ContainerCreating"}}},
          {"name": "silent"}]}})");
  Pod pod = *ParsePod(doc);
  EXPECT_EQ(pod.meta.key(), "n/a");
  EXPECT_EQ(pod.node_name, "node-a");
  EXPECT_EQ(pod.scheduler_name, "s");
  EXPECT_EQ(pod.priority_class, "high");
  EXPECT_EQ(pod.priority, 1000);
  EXPECT_EQ(pod.restart_policy, "Never");
  EXPECT_TRUE(pod.host_network);
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_EQ(pod.reason + pod.message, "rm");
  EXPECT_EQ(FormatTime(*pod.started_at), "2026-03-01T12:00:00Z");
  ASSERT_EQ(pod.containers.size(), 5u);
  const ContainerState &side = pod.containers[0], &main = pod.containers[1], &crash = pod.containers[2],
                       &fresh = pod.containers[3], &silent = pod.containers[4];
  EXPECT_TRUE(side.init && side.sidecar && side.running && side.ever_started && !side.waiting);
  EXPECT_EQ(side.restarts, 2);
  EXPECT_TRUE(main.terminated && main.ever_started && !main.init && !main.sidecar && !main.running);
  EXPECT_EQ(main.exit_code, 137);
  EXPECT_EQ(main.reason, "OOMKilled");
  EXPECT_TRUE(crash.waiting && crash.ever_started && !crash.terminated);
  EXPECT_EQ(crash.reason, "CrashLoopBackOff");
  EXPECT_TRUE(fresh.waiting && !fresh.ever_started);
  EXPECT_TRUE(silent.waiting && !silent.ever_started);
}

TEST(ParsePod, APodOfATemplateHasDefaults) {
  Pod pod = *ParsePod({{"metadata", {{"name", "a"}}}});
  EXPECT_EQ(pod.phase, PodPhase::kPending);
  EXPECT_THAT(pod.containers, IsEmpty());
  EXPECT_FALSE(pod.started_at.has_value());
  EXPECT_TRUE(pod.need.requests.empty() && pod.need.nodes.empty());
}

TEST(ParsePod, Phases) {
  for (const char* phase : {"Pending", "Running", "Succeeded", "Failed", "Unknown", "Sleeping"}) {
    Pod pod = *ParsePod({{"metadata", {{"name", "a"}}}, {"status", {{"phase", phase}}}});
    EXPECT_EQ(PhaseText(pod.phase), std::string_view(phase) == "Sleeping" ? "Unknown" : phase);
    EXPECT_EQ(pod.terminal(), std::string_view(phase) == "Succeeded" || std::string_view(phase) == "Failed");
  }
}

// Every field that is read, with a value of a type that it can't have.
TEST(ParsePod, ErrorsNameThePath) {
  const json::Doc good = *json::Parse(R"({"metadata": {"name": "a"}, "spec": {
      "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}, "limits": {"cpu": 2}}, "ports": [{"hostPort": 1}]}],
      "initContainers": [{"name": "i", "resources": {"requests": {"cpu": 1}}}],
      "resources": {"requests": {"cpu": 1}}, "overhead": {"cpu": 1}, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "k"}],
      "affinity": {"nodeAffinity": {}}, "priority": 1}, "status": {}})");
  ASSERT_TRUE(ParsePod(good).ok());
  struct Case {
    const char* pointer;
    json::Doc value;
    const char* path;
  };
  const Case cases[] = {
      {"", 7, "pod: must be an object, is number"},
      {"/metadata", 7, "metadata.name: must be a name, is missing"},
      {"/spec", 7, "spec: must be an object, is number"},
      {"/spec/containers", "x", "spec.containers: must be an array, is string"},
      {"/spec/containers/0", "x", "spec.containers[0]: must be an object, is string"},
      {"/spec/containers/0/resources", 7, "spec.containers[0].resources: must be an object, is number"},
      {"/spec/containers/0/resources/requests", 7,
       "spec.containers[0].resources.requests: must be an object, is number"},
      {"/spec/containers/0/resources/limits/cpu", true,
       "spec.containers[0].resources.limits.cpu: not a quantity: must be a string or a number, is boolean"},
      {"/spec/containers/0/resources/requests/cpu", -1,
       "spec.containers[0].resources.requests.cpu: must not be negative, is -1"},
      {"/spec/containers/0/ports", 7, "spec.containers[0].ports: must be an array, is number"},
      {"/spec/containers/0/ports/0", 7, "spec.containers[0].ports[0]: must be an object, is number"},
      {"/spec/containers/0/ports/0/hostPort", "80",
       "spec.containers[0].ports[0].hostPort: must be an integer, is string"},
      {"/spec/containers/0/ports/0/hostPort", 65536,
       "spec.containers[0].ports[0].hostPort: must be a port, 1 to 65535"},
      {"/spec/containers/0/ports/0/hostPort", -1,
       "spec.containers[0].ports[0].hostPort: must be a port, 1 to 65535"},
      {"/spec/containers/0/ports/0/protocol", 6,
       "spec.containers[0].ports[0].protocol: must be a string, is number"},
      {"/spec/initContainers", json::Doc::object(), "spec.initContainers: must be an array, is object"},
      {"/spec/initContainers/0/resources/requests/cpu", "1x",
       "spec.initContainers[0].resources.requests.cpu: not a quantity: \"1x\": must be a number with a "
       "suffix like m, k, "
       "Mi or e3"},
      {"/spec/resources", "x", "spec.resources: must be an object, is string"},
      {"/spec/resources/requests/cpu", json::Doc::array(),
       "spec.resources.requests.cpu: not a quantity: must be a string or a number, is array"},
      {"/spec/overhead", "x", "spec.overhead: must be an object, is string"},
      {"/spec/nodeSelector/a", 7, "spec.nodeSelector.a: must be a string, is number"},
      {"/spec/affinity/nodeAffinity", 7, "spec.affinity.nodeAffinity: must be an object, is number"},
      {"/spec/tolerations", 7, "spec.tolerations: must be an array, is number"},
      {"/spec/tolerations/0/key", 7, "spec.tolerations[0].key: must be a string, is number"},
      {"/spec/nodeName", 7, "spec.nodeName: must be a string, is number"},
      {"/spec/schedulerName", 7, "spec.schedulerName: must be a string, is number"},
      {"/spec/priorityClassName", 7, "spec.priorityClassName: must be a string, is number"},
      {"/spec/priority", 1.5, "spec.priority: must be an integer, is 1.5"},
      {"/spec/priority", 1LL << 40, "spec.priority: must fit 32 bits"},
      {"/spec/restartPolicy", 7, "spec.restartPolicy: must be a string, is number"},
      {"/spec/hostNetwork", "yes", "spec.hostNetwork: must be true or false, is string"},
      {"/status", 7, "status: must be an object, is number"},
  };
  for (const Case& c : cases) {
    json::Doc doc = good;
    doc[json::Doc::json_pointer(c.pointer)] = c.value;
    Result<Pod> pod = ParsePod(doc);
    EXPECT_EQ(pod.ok() ? "read" : pod.error().message, c.path) << c.pointer;
  }
}

TEST(ParsePod, AStatusThatCannotBeReadIsLeftOut) {
  const char* statuses[] = {R"({"phase": 7, "reason": [], "startTime": "soon"})",
                            R"({"containerStatuses": {}})", R"({"containerStatuses": [7, null]})",
                            R"({"initContainerStatuses": "x"})"};
  for (const char* status : statuses) {
    Result<Pod> pod = ParsePod({{"metadata", {{"name", "a"}}}, {"status", *json::Parse(status)}});
    ASSERT_TRUE(pod.ok()) << status;
    EXPECT_EQ(pod->phase, PodPhase::kPending);
    EXPECT_THAT(pod->containers, IsEmpty());
    EXPECT_FALSE(pod->started_at.has_value());
  }
  Pod odd = *ParsePod(
      {{"metadata", {{"name", "a"}}},
       {"status",
        *json::Parse(R"({"containerStatuses": [{"name": 7, "state": {"running": 1}, "restartCount": "x"},
                                                                         {"state": [], "lastState": {"terminated": null}}]})")}});
  ASSERT_EQ(odd.containers.size(), 2u);
  for (const ContainerState& state : odd.containers) EXPECT_TRUE(state.waiting && !state.ever_started);
}

// What a status says about one container.
const ContainerState kNeverStarted{.waiting = true};
const ContainerState kRunning{.running = true, .ever_started = true};
const ContainerState kTerminated{.terminated = true, .ever_started = true};
const ContainerState kBetweenRestarts{.waiting = true, .ever_started = true};

TEST(AllContainersEnded, TruthTable) {
  struct Case {
    const char* what;
    std::vector<ContainerState> containers;
    bool ended;
  };
  const Case cases[] = {
      {"never scheduled, or refused by the kubelet", {}, true},
      {"never started", {kNeverStarted}, true},
      {"still creating beside another", {kNeverStarted, kNeverStarted}, true},
      {"running", {kRunning}, false},
      {"ended, with its exit", {kTerminated}, true},
      {"between restarts: the kubelet may start it before it hears of the end", {kBetweenRestarts}, false},
      {"one of two ended", {kTerminated, kRunning}, false},
      {"both ended", {kTerminated, kTerminated}, true},
      {"init container failed, the main one never started", {kTerminated, kNeverStarted}, true},
      {"init container ended, the main one runs", {kTerminated, kRunning}, false},
      {"sidecar runs on after the main container", {kRunning, kTerminated}, false},
  };
  for (const Case& c : cases) {
    Pod pod;
    pod.containers = c.containers;
    EXPECT_EQ(AllContainersEnded(pod), c.ended) << c.what;
    for (PodPhase phase : {PodPhase::kPending, PodPhase::kRunning, PodPhase::kUnknown}) {
      pod.phase = phase;
      EXPECT_TRUE(HoldsResources(pod)) << c.what << ", " << PhaseText(phase);
    }
    for (PodPhase phase : {PodPhase::kSucceeded, PodPhase::kFailed}) {
      pod.phase = phase;
      EXPECT_EQ(HoldsResources(pod), !c.ended) << c.what << ", " << PhaseText(phase);
    }
  }
}

// Pod GC writes Failed for a pod on a lost node while its process runs on.
TEST(HoldsResources, AFailedPodWithARunningContainerStillCounts) {
  json::Doc doc =
      *json::Parse(R"({"metadata": {"name": "a"}, "spec": {"nodeName": "lost"}, "status": {"phase": "Failed",
      "reason": "PodGC", "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": "2026-03-01T12:00:00Z"}}}]}})");
  EXPECT_TRUE(HoldsResources(*ParsePod(doc)));
  doc["status"]["containerStatuses"][0]["state"] = {
      {"terminated", {{"exitCode", 137}, {"reason", "ContainerStatusUnknown"}}}};
  EXPECT_FALSE(HoldsResources(*ParsePod(doc)));
}

RC_GTEST_PROP(ParsePod, NeverCrashes, ()) {
  json::DocShape shape{
      .keys = {"metadata",    "name",          "spec",        "containers",  "initContainers",    "resources",
               "requests",    "limits",        "cpu",         "ports",       "hostPort",          "overhead",
               "tolerations", "restartPolicy", "status",      "phase",       "containerStatuses", "state",
               "running",     "terminated",    "hostNetwork", "nodeSelector"},
      .values = {"x", true, "8", "500m", "1e99", 80, "Always", "Failed", json::Doc::object(),
                 json::Doc::array()}};
  json::Doc doc = {{"metadata", {{"name", "a"}}}};
  doc["spec"] = *json::ArbitraryDoc(shape, 5);
  doc["status"] = *json::ArbitraryDoc(shape, 4);
  for (const json::Doc& pod_doc : {doc, *json::ArbitraryDoc(shape, 5)}) {
    Result<Pod> pod = ParsePod(pod_doc);
    if (pod.ok()) {
      RC_ASSERT((pod->need == *ParsePodNeed(pod_doc)));
      RC_ASSERT(pod->terminal() || HoldsResources(*pod));
    } else {
      RC_ASSERT(!pod.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace lockstep::kube
