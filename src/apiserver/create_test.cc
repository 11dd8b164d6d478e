#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "apiserver/test_server.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Response;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Create, GivesTheObjectWhatOnlyAServerCanGive) {
  TestServer api;

  Response made = api.Create(kube::kPyTorchJobs, JobDoc("a"));

  EXPECT_EQ(made.status.code, 201);
  Doc job = *json::Parse(made.body);
  EXPECT_EQ(job["apiVersion"], "kubeflow.org/v1");
  EXPECT_EQ(job["kind"], "PyTorchJob");
  EXPECT_EQ(job["metadata"]["namespace"], "ns");
  EXPECT_EQ(job["metadata"]["creationTimestamp"], FormatTime(api.now.wall));
  EXPECT_EQ(job["metadata"]["generation"], 1);
  EXPECT_EQ(job["metadata"]["resourceVersion"], std::to_string(api.server.revision()));
  EXPECT_EQ(job["metadata"]["uid"].get<std::string>().size(), 36u);
  EXPECT_EQ(*json::Parse(api.Get(kube::kPyTorchJobs, "a").body), job);
}

TEST(Create, WhatAClientSaysOfSystemFieldsIsForgotten) {
  TestServer api;
  Doc job = JobDoc("a");
  job["metadata"]["uid"] = "mine";
  job["metadata"]["generation"] = 9;
  job["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
  job["metadata"]["creationTimestamp"] = nullptr;
  job["status"] = {{"phase", "Done"}};

  api.Create(kube::kPyTorchJobs, job);

  Doc stored = api.Stored(kube::kPyTorchJobs, "a");
  EXPECT_NE(stored["metadata"]["uid"], "mine");
  EXPECT_EQ(stored["metadata"]["generation"], 1);
  EXPECT_FALSE(stored["metadata"].contains("deletionTimestamp"));
  EXPECT_FALSE(stored.contains("status"));
}

TEST(Create, TheSameNameTwiceIsAnAlreadyExistsWithDetails) {
  TestServer api;
  api.Create(kube::kPyTorchJobs, JobDoc("a"));

  Response again = api.Create(kube::kPyTorchJobs, JobDoc("a"));

  EXPECT_TRUE(again.status.already_exists());
  EXPECT_EQ(again.status.message, "pytorchjobs.kubeflow.org \"a\" already exists");
  kube::Status read = kube::ParseStatus(409, again.body);
  EXPECT_EQ(read.name, "a");
  EXPECT_EQ(read.group, "kubeflow.org");
  EXPECT_EQ(read.kind, "pytorchjobs");
  api.ns = "other";
  EXPECT_TRUE(api.Create(kube::kPyTorchJobs, JobDoc("a")).status.ok()) << "names are per namespace";
}

TEST(Create, GeneratedNamesDifferAndAreTheSameInEveryRun) {
  std::vector<std::string> first, second;
  for (auto* names : {&first, &second}) {
    TestServer api;
    for (int i = 0; i < 200; ++i) {
      Doc pod = PodDoc("");
      pod["metadata"] = {{"generateName", "run-"}};
      names->push_back(json::GetString(*json::Parse(api.Create(kube::kPods, pod).body), "metadata.name"));
    }
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()).size(), 200u);
  EXPECT_THAT(first[0], StartsWith("run-"));
  EXPECT_EQ(first[0].size(), 9u);
}

TEST(Create, UidsAreUnique) {
  TestServer api;
  std::set<std::string> uids;
  for (int i = 0; i < 2000; ++i) {
    uids.insert(
        json::GetString(*json::Parse(api.Create(kube::kConfigMaps, ConfigDoc("c" + std::to_string(i))).body),
                        "metadata.uid"));
  }
  EXPECT_EQ(uids.size(), 2000u);
}

TEST(Create, PodsGetTheirDefaults) {
  TestServer api;
  Doc pod = PodDoc("a");
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"nvidia.com/gpu", "2"}, {"cpu", "1"}};
  pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "500m"}};
  pod["spec"]["containers"][0]["ports"] = {{{"containerPort", 23456}}};

  api.Create(kube::kPods, pod);

  Doc stored = api.Stored(kube::kPods, "a");
  Doc& spec = stored["spec"];
  EXPECT_EQ(spec["restartPolicy"], "Always");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 30);
  EXPECT_EQ(spec["schedulerName"], "default-scheduler");
  EXPECT_EQ(spec["priority"], 0);
  EXPECT_EQ(spec["containers"][0]["imagePullPolicy"], "IfNotPresent");
  EXPECT_EQ(spec["containers"][0]["ports"][0]["protocol"], "TCP");
  EXPECT_EQ(spec["containers"][0]["resources"]["requests"], Doc({{"cpu", "500m"}, {"nvidia.com/gpu", "2"}}));
  ASSERT_EQ(spec["tolerations"].size(), 2u);
  EXPECT_EQ(spec["tolerations"][0]["tolerationSeconds"], 300);
  EXPECT_EQ(stored["status"]["phase"], "Pending");
  EXPECT_EQ(stored["status"]["qosClass"], "Burstable");
}

TEST(Create, APodsOwnTolerationReplacesTheDefaultOne) {
  TestServer api;
  Doc pod = PodDoc("a");
  pod["spec"]["tolerations"] = {
      {{"key", "node.kubernetes.io/unreachable"}, {"operator", "Exists"}, {"tolerationSeconds", 5}}};
  api.Create(kube::kPods, pod);
  EXPECT_EQ(api.Stored(kube::kPods, "a")["spec"]["tolerations"].size(), 2u);

  pod["metadata"]["name"] = "b";
  pod["spec"]["tolerations"] = {{{"operator", "Exists"}}};
  api.Create(kube::kPods, pod);
  EXPECT_EQ(api.Stored(kube::kPods, "b")["spec"]["tolerations"].size(), 1u);
}

TEST(Create, AnInvalidPodNamesEveryField) {
  TestServer api;
  Doc pod = PodDoc("Bad_Name");
  pod["metadata"]["labels"] = {{"app", std::string(64, 'x')}};
  pod["spec"]["restartPolicy"] = "Sometimes";
  pod["spec"]["containers"][0].erase("image");
  pod["spec"]["containers"].push_back({{"name", "c"}, {"image", "i"}});
  pod["spec"]["containers"][1]["resources"]["requests"] = {{"cpu", "-1"}, {"nvidia.com/gpu", "1"}};

  Response refused = api.Create(kube::kPods, pod);

  EXPECT_EQ(refused.status.code, 422);
  EXPECT_EQ(refused.status.reason, "Invalid");
  EXPECT_EQ(refused.status.kind, "Pod");
  EXPECT_THAT(refused.status.message, StartsWith("Pod \"Bad_Name\" is invalid: ["));
  std::set<std::string> fields;
  for (const auto& cause : refused.status.causes) fields.insert(cause.field);
  EXPECT_EQ(fields, (std::set<std::string>{"metadata.name", "metadata.labels", "spec.restartPolicy",
                                           "spec.containers[0].image", "spec.containers[1].name",
                                           "spec.containers[1].resources.requests[cpu]",
                                           "spec.containers[1].resources.limits"}));
  EXPECT_FALSE(api.Has(kube::kPods, "Bad_Name"));
}

TEST(Create, WhatDoesNotDecodeIsABadRequest) {
  TestServer api;
  Doc garbage = PodDoc("a");
  garbage["spec"]["containers"][0]["resources"]["limits"] = {{"cpu", "lots"}};
  EXPECT_THAT(api.Create(kube::kPods, garbage).status.message, HasSubstr("quantities must match"));

  Doc wrong = PodDoc("a");
  wrong["spec"]["containers"] = "c";
  Doc labels = PodDoc("a");
  labels["metadata"]["labels"] = {{"a", 1}};
  Doc version = PodDoc("a");
  version["apiVersion"] = "v2";
  for (const Doc& pod : {garbage, wrong, labels, version}) {
    EXPECT_EQ(api.Create(kube::kPods, pod).status.code, 400) << pod;
  }
  kube::Request half = api.Make(kube::Verb::kCreate, kube::kPods, "");
  half.body = R"({"apiVersion":"v1","kind":"Po)";
  EXPECT_EQ(api.Send(half).status.code, 400);
  half.body = std::string(4 << 20, ' ');
  EXPECT_EQ(api.Send(half).status.code, 413);
}

TEST(Create, NamesFollowTheirKind) {
  TestServer api;
  Doc service = {{"metadata", {{"name", "1a"}}}, {"spec", {{"ports", {{{"port", 80}}}}}}};
  EXPECT_THAT(api.Create(kube::kServices, service).status.message,
              HasSubstr("a DNS-1035 label must consist"));
  service["metadata"]["name"] = std::string(64, 'a');
  EXPECT_THAT(api.Create(kube::kServices, service).status.message,
              HasSubstr("must be no more than 63 bytes"));
  EXPECT_TRUE(api.Create(kube::kConfigMaps, ConfigDoc("1a.b")).status.ok());
  EXPECT_EQ(api.Create(kube::kConfigMaps, ConfigDoc(std::string(254, 'a'))).status.code, 422);
  EXPECT_EQ(api.Create(kube::kConfigMaps, ConfigDoc("")).status.causes.at(0).reason, "FieldValueRequired");
}

TEST(Create, ADryRunAnswersLikeACreateAndStoresNothing) {
  TestServer api;
  uint64_t before = api.server.revision();

  Response dry = api.Create(kube::kPods, PodDoc("a"), /*dry_run=*/true);

  EXPECT_EQ(dry.status.code, 201);
  EXPECT_EQ(json::GetString(*json::Parse(dry.body), "spec.restartPolicy"), "Always");
  EXPECT_EQ(api.server.revision(), before);
  EXPECT_FALSE(api.Has(kube::kPods, "a"));
  api.Create(kube::kPods, PodDoc("a"));
  EXPECT_TRUE(api.Create(kube::kPods, PodDoc("a"), true).status.already_exists());
}

TEST(Create, AWebhookChangesRefusesOrFails) {
  TestServer api;
  api.server.SetMutator(kube::kPods, [](Doc& pod, const kube::Request&) -> std::optional<kube::Status> {
    std::string name = json::GetString(pod, "metadata.name");
    if (name == "refused")
      return kube::ErrorStatus(403, "Forbidden", "admission webhook \"w\" denied the request: no");
    if (name == "broken") return InternalError("failed calling webhook \"w\": connection refused");
    pod["spec"]["containers"].push_back({{"name", "sidecar"}, {"image", "proxy"}});
    return std::nullopt;
  });

  api.Create(kube::kPods, PodDoc("a"));
  EXPECT_EQ(api.Stored(kube::kPods, "a")["spec"]["containers"][1]["terminationMessagePolicy"], "File")
      << "what a webhook adds is defaulted too";
  EXPECT_EQ(api.Create(kube::kPods, PodDoc("refused"), true).status.code, 403) << "dry runs call webhooks";
  kube::Status broken = api.Create(kube::kPods, PodDoc("broken")).status;
  EXPECT_EQ(broken.code, 500);
  EXPECT_TRUE(broken.transient());
}

TEST(Create, ASchemaRefusesACustomResource) {
  TestServer api;
  api.server.SetValidator(kube::kPyTorchJobs, [](const Doc& job) -> Causes {
    if (json::Find(job, "spec.pytorchReplicaSpecs") != nullptr) return {};
    return {Required("spec.pytorchReplicaSpecs")};
  });
  EXPECT_TRUE(api.Create(kube::kPyTorchJobs, JobDoc("a")).status.ok());
  Doc bad = JobDoc("b");
  bad["spec"] = Doc::object();
  Response refused = api.Create(kube::kPyTorchJobs, bad);
  EXPECT_EQ(refused.status.message,
            "PyTorchJob.kubeflow.org \"b\" is invalid: spec.pytorchReplicaSpecs: Required value");
}

TEST(Create, NamespacesMustExistOnlyWhereTheServerInsists) {
  TestServer lax;
  EXPECT_TRUE(lax.Create(kube::kPods, PodDoc("a")).status.ok());

  TestServer strict({.require_namespaces = true});
  Response refused = strict.Create(kube::kPods, PodDoc("a"));
  EXPECT_TRUE(refused.status.not_found());
  EXPECT_EQ(refused.status.message, "namespaces \"ns\" not found");
  strict.Create(kube::kNamespaces, {{"metadata", {{"name", "ns"}}}});
  EXPECT_TRUE(strict.Create(kube::kPods, PodDoc("a")).status.ok());
}

TEST(Create, PriorityComesFromTheClass) {
  TestServer api;
  api.Create(kube::kPriorityClasses, {{"metadata", {{"name", "high"}}}, {"value", 1000}});
  Doc pod = PodDoc("a");
  pod["spec"]["priorityClassName"] = "high";
  api.Create(kube::kPods, pod);
  EXPECT_EQ(api.Stored(kube::kPods, "a")["spec"]["priority"], 1000);

  pod["metadata"]["name"] = "b";
  pod["spec"]["priorityClassName"] = "none";
  EXPECT_EQ(api.Create(kube::kPods, pod).status.message,
            "pods \"b\" is forbidden: no PriorityClass with name none was found");
  pod["spec"]["priorityClassName"] = "high";
  pod["spec"]["priority"] = 7;
  EXPECT_EQ(api.Create(kube::kPods, pod).status.code, 403);
}

TEST(Create, ServicesGetPortsAndAnAddress) {
  TestServer api;
  api.Create(kube::kServices, {{"metadata", {{"name", "s"}}}, {"spec", {{"ports", {{{"port", 80}}}}}}});
  Doc service = api.Stored(kube::kServices, "s");
  EXPECT_EQ(service["spec"]["ports"][0]["protocol"], "TCP");
  EXPECT_EQ(service["spec"]["ports"][0]["targetPort"], 80);
  EXPECT_THAT(service["spec"]["clusterIP"].get<std::string>(), StartsWith("10.96."));

  api.Create(kube::kServices, {{"metadata", {{"name", "h"}}}, {"spec", {{"clusterIP", "None"}}}});
  EXPECT_EQ(api.Stored(kube::kServices, "h")["spec"]["clusterIPs"], Doc::array({"None"}));
  Response refused = api.Create(kube::kServices, {{"metadata", {{"name", "p"}}}, {"spec", Doc::object()}});
  EXPECT_EQ(refused.status.causes.at(0).field, "spec.ports");
}

}  // namespace
}  // namespace lockstep::apiserver
