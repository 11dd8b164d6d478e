#include "jobs/pytorch/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/pytorch/fixture.h"

namespace lockstep::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

// ml/bert, Master and 2 workers, with one JSON pointer changed; null removes.
json::Doc Changed(const std::string& pointer, const json::Doc& value) {
  return With(JobDoc(2), pointer, value);
}

const std::string kSpecs = "/spec/pytorchReplicaSpecs";
const std::string kWorkerPod = kSpecs + "/Worker/template/spec";
const std::string kWorkerMain = kWorkerPod + "/containers/0";
const std::string kWorkerMainPath = "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0]";

struct Row {
  std::string pointer;
  json::Doc value;
  std::string error;  // the whole error
};

std::vector<Row> BrokenJobs() {
  const std::string name_rule =
      "must be a DNS-1035 label (a-z, 0-9, '-', first a letter, at most 63 characters)";
  const std::string roles = "spec.pytorchReplicaSpecs";
  return {
      {"/metadata/name", "Bert", "metadata.name: " + name_rule + ", is \"Bert\""},
      {"/metadata/name", "7b", "metadata.name: " + name_rule + ", is \"7b\""},
      {"/metadata/name", "b.c", "metadata.name: " + name_rule + ", is \"b.c\""},
      {"/metadata/name", "b-", "metadata.name: " + name_rule + ", is \"b-\""},
      {"/metadata/name", std::string(64, 'a'),
       "metadata.name: " + name_rule + ", is \"" + std::string(64, 'a') + "\""},
      {kSpecs, nullptr, roles + ": must be set"},
      {kSpecs, json::Doc::object(), roles + ": must be set"},
      {kSpecs, "many", roles + ": must be an object, is \"many\""},
      {kSpecs + "/Master/replicas", 2, roles + ".Master.replicas: must be 1, is 2"},
      {kSpecs + "/Master/replicas", 0, roles + ".Master.replicas: must be at least 1, is 0"},
      {kSpecs + "/Master/replicas", nullptr, roles + ".Master.replicas: must be 1, is not set"},
      {kSpecs + "/Worker/replicas", 0, roles + ".Worker.replicas: must be at least 1, is 0"},
      {kSpecs + "/Worker/replicas", -3, roles + ".Worker.replicas: must be at least 1, is -3"},
      {kWorkerMain + "/resources",
       {{"requests", {{"cpu", "1e3000000000"}}}},
       kWorkerMainPath + ".resources.requests.cpu: must have an exponent between -999 and 999, is "
                         "\"1e3000000000\""},
      {kWorkerPod + "/volumes", json::Doc::array({{{"name", "v"}, {"emptyDir", {{"sizeLimit", "1E-1000"}}}}}),
       "spec.pytorchReplicaSpecs.Worker.template.spec.volumes[0].emptyDir.sizeLimit: must have an exponent "
       "between -999 and 999, is \"1E-1000\""},
      {kSpecs + "/Worker/replicas", 1.5, roles + ".Worker.replicas: must be a whole number, is 1.5"},
      {kSpecs + "/Worker/replicas", "2", roles + ".Worker.replicas: must be a whole number, is \"2\""},
      {kSpecs + "/Worker/replicas", 20000, roles + ": must have at most 20000 pods in all, has 20001"},
      {kSpecs + "/Worker/replicas", 2147483647,
       roles + ": must have at most 20000 pods in all, has 2147483648"},
      {kSpecs + "/Worker/replicas", 2147483648,
       roles + ".Worker.replicas: must be at most 2147483647, is 2147483648"},
      {kSpecs + "/Worker/replicas", 18446744073709551615u,
       roles + ".Worker.replicas: must be at most 2147483647, is 18446744073709551615"},
      {kSpecs + "/worker", ReplicaSpec(1, ""),
       roles + ": replica type must be Master or Worker, is \"worker\""},
      {kSpecs + "/Worker", 3, roles + ".Worker: must be an object, is 3"},
      {kSpecs + "/Worker/restartPolicy", "Sometimes",
       roles + ".Worker.restartPolicy: must be one of Always, OnFailure, Never, ExitCode, is \"Sometimes\""},
      {kSpecs + "/Worker/template", nullptr,
       roles + ".Worker.template.spec.containers: must have at least one container"},
      {kSpecs + "/Worker/template", json::Doc::array(),
       roles + ".Worker.template: must be an object, is a list"},
      {kSpecs + "/Worker/template/metadata",
       {{"labels", {{"a", 1}}}},
       roles + ".Worker.template.metadata.labels.a: must be a string, is 1"},
      {kWorkerPod + "/containers", json::Doc::array(),
       roles + ".Worker.template.spec.containers: must have at least one container"},
      {kWorkerPod + "/containers", "x", roles + ".Worker.template.spec.containers: must be a list, is \"x\""},
      {kWorkerMain, 4, kWorkerMainPath + ": must be an object, is 4"},
      {kWorkerMain + "/name", "train",
       roles + ".Worker.template.spec.containers: must have a container named pytorch"},
      {kWorkerMain + "/name", nullptr, kWorkerMainPath + ".name: must be set"},
      {kWorkerMain + "/name", "Py_Torch",
       kWorkerMainPath + ".name: must be a DNS label of at most 63 characters, is \"Py_Torch\""},
      {kWorkerMain + "/image", nullptr, kWorkerMainPath + ".image: must be set"},
      {kWorkerMain + "/image", 5, kWorkerMainPath + ".image: must be a string, is 5"},
      {kWorkerPod + "/initContainers", json::Doc::array({{{"name", "pytorch"}, {"image", "x"}}}),
       roles + ".Worker.template.spec.initContainers[0].name: must be unique in the pod, is \"pytorch\""},
      {kWorkerMain + "/env", json::Doc::array({{{"value", "x"}}}),
       kWorkerMainPath + ".env[0].name: must be set"},
      {kWorkerMain + "/env", {{"A", "b"}}, kWorkerMainPath + ".env: must be a list, is an object"},
      {kWorkerMain + "/ports", json::Doc::array({{{"name", "pytorchjob-port"}}}),
       kWorkerMainPath + ".ports[0].containerPort: must be set"},
      {kWorkerMain + "/ports", json::Doc::array({{{"containerPort", 70000}}}),
       kWorkerMainPath + ".ports[0].containerPort: must be at most 65535, is 70000"},
      {kWorkerMain + "/ports", json::Doc::array({{{"containerPort", 1}, {"name", "A name"}}}),
       kWorkerMainPath +
           ".ports[0].name: must be at most 15 lower-case letters, digits or '-', is \"A name\""},
      {kWorkerMain + "/resources",
       {{"limits", {{"nvidia.com/gpu", "lots"}}}},
       kWorkerMainPath +
           ".resources.limits.nvidia.com/gpu: must be a quantity like 2, 500m or 8Gi, is \"lots\""},
      {kWorkerMain + "/resources",
       {{"limits", {{"nvidia.com/gpu", "0.5"}}}},
       kWorkerMainPath + ".resources.limits.nvidia.com/gpu: must be a whole number, is \"0.5\""},
      {kWorkerMain + "/resources",
       {{"requests", {{"cpu", -1}}}},
       kWorkerMainPath + ".resources.requests.cpu: must not be negative, is -1"},
      {kWorkerMain + "/resources",
       {{"requests", {{"cpu", {{"a", 1}}}}}},
       kWorkerMainPath + ".resources.requests.cpu: must be a quantity like 2, 500m or 8Gi, is an object"},
      {kWorkerMain + "/resources",
       {{"requests", {{"cpu", 3}}}, {"limits", {{"cpu", 2}}}},
       kWorkerMainPath + ".resources.requests.cpu: must be at most the limit 2, is 3"},
      {"/spec/runPolicy",
       {{"cleanPodPolicy", "Some"}},
       "spec.runPolicy.cleanPodPolicy: must be one of None, Running, All, is \"Some\""},
      {"/spec/runPolicy", {{"backoffLimit", -1}}, "spec.runPolicy.backoffLimit: must be at least 0, is -1"},
      {"/spec/runPolicy",
       {{"activeDeadlineSeconds", 0}},
       "spec.runPolicy.activeDeadlineSeconds: must be at least 1, is 0"},
      {"/spec/runPolicy",
       {{"ttlSecondsAfterFinished", "5"}},
       "spec.runPolicy.ttlSecondsAfterFinished: must be a whole number, is \"5\""},
      {"/spec/runPolicy", {{"suspend", "yes"}}, "spec.runPolicy.suspend: must be true or false, is \"yes\""},
      {"/spec/runPolicy", {{"managedBy", 3}}, "spec.runPolicy.managedBy: must be a string, is 3"},
      {"/spec/runPolicy",
       {{"schedulingPolicy", {{"minAvailable", "all"}}}},
       "spec.runPolicy.schedulingPolicy.minAvailable: must be a whole number, is \"all\""},
      {"/spec/runPolicy",
       {{"schedulingPolicy", {{"minResources", {{"cpu", "x"}}}}}},
       "spec.runPolicy.schedulingPolicy.minResources.cpu: must be a quantity, is \"x\""},
      {"/spec/nprocPerNode", 2, "spec.nprocPerNode: must be a string, is 2"},
      {"/spec/nprocPerNode", "0",
       "spec.nprocPerNode: must be auto, cpu, gpu or a number from 1 to 1000000, is \"0\""},
      {"/spec/nprocPerNode", "99999999999999999999",
       "spec.nprocPerNode: must be auto, cpu, gpu or a number from 1 to 1000000, is "
       "\"99999999999999999999\""},
      {"/spec/elasticPolicy", "on", "spec.elasticPolicy: must be an object, is \"on\""},
      {"/spec/elasticPolicy",
       {{"minReplicas", 5}, {"maxReplicas", 4}},
       "spec.elasticPolicy.minReplicas: must be at most maxReplicas 4, is 5"},
      {"/spec/elasticPolicy", {{"rdzvPort", 0}}, "spec.elasticPolicy.rdzvPort: must be at least 1, is 0"},
      {"/spec/elasticPolicy",
       {{"rdzvConf", json::Doc::array({"a=b"})}},
       "spec.elasticPolicy.rdzvConf[0]: must be an object, is \"a=b\""},
      {"/spec/elasticPolicy",
       {{"rdzvConf", json::Doc::array({{{"key", 1}}})}},
       "spec.elasticPolicy.rdzvConf[0].key: must be a string, is 1"},
      {"/spec/elasticPolicy",
       {{"standalone", 1}},
       "spec.elasticPolicy.standalone: must be true or false, is 1"},
  };
}

TEST(Validation, NamesTheOneBrokenField) {
  std::vector<Row> rows = BrokenJobs();
  ASSERT_GE(rows.size(), 40u);
  for (const Row& row : rows) {
    EXPECT_THAT(ErrorsOf(Changed(row.pointer, row.value)), ElementsAre(row.error))
        << row.pointer << " " << row.value;
  }
}

TEST(Validation, ListsEveryBrokenField) {
  json::Doc object = JobDoc(2);
  object["metadata"]["name"] = "B";
  object["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 2;
  object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0].erase("image");
  object["spec"]["runPolicy"]["backoffLimit"] = -1;
  EXPECT_THAT(ErrorsOf(object),
              ::testing::UnorderedElementsAre(
                  HasSubstr("metadata.name"), "spec.pytorchReplicaSpecs.Master.replicas: must be 1, is 2",
                  "spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].image: must be set",
                  "spec.runPolicy.backoffLimit: must be at least 0, is -1"));
}

TEST(Validation, ElasticPolicyNeedsWorkers) {
  json::Doc object = JobDoc(0);
  object["spec"]["elasticPolicy"] = json::Doc::object();
  EXPECT_THAT(ErrorsOf(object), ElementsAre("spec.elasticPolicy: needs spec.pytorchReplicaSpecs.Worker"));
}

TEST(Validation, OldAndNewNprocExcludeEachOther) {
  json::Doc object = JobDoc(2);
  object["spec"]["elasticPolicy"]["nProcPerNode"] = 4;
  EXPECT_THAT(ErrorsOf(object), IsEmpty());
  object["spec"]["nprocPerNode"] = "4";
  EXPECT_THAT(ErrorsOf(object), ElementsAre(HasSubstr("spec.elasticPolicy.nProcPerNode: is deprecated")));
}

TEST(Validation, SchedulingFieldsOfTheTemplateAreCheckedToo) {
  json::Doc object = Changed(kWorkerPod + "/tolerations", "all");
  EXPECT_THAT(ErrorsOf(object),
              ElementsAre(HasSubstr("spec.pytorchReplicaSpecs.Worker.template.spec.tolerations")));
}

struct FineRow {
  std::string pointer;
  json::Doc value;
};

TEST(Validation, LetsThroughWhatKubernetesLetsThrough) {
  const FineRow rows[] = {
      {kWorkerMain + "/resources", {{"limits", {{"nvidia.com/gpu", "1e99"}}}}},
      {kWorkerMain + "/resources", {{"limits", {{"memory", "0.1"}, {"cpu", 1e3}}}}},
      {kWorkerMain + "/resources", json::Doc::object()},
      {kWorkerMain + "/futureField", {{"x", json::Doc::array({1, nullptr})}}},
      {kWorkerPod + "/unknown", "kept"},
      {kWorkerMain + "/env", json::Doc::array({{{"name", "A"}}, {{"name", "A"}, {"value", "2"}}})},
      {kSpecs + "/Worker/restartPolicy", ""},
      {kSpecs + "/Worker/replicas", 19999},
      {"/spec/nprocPerNode", "xpu"},
      {"/spec/runPolicy", {{"cleanPodPolicy", ""}, {"managedBy", "kubeflow.org/training-operator"}}},
      {"/spec/runPolicy", {{"schedulingPolicy", {{"minAvailable", 10}, {"queue", "q"}}}}},
      {"/spec/unknown", 1},
      {"/status", "garbage"},
  };
  for (const FineRow& row : rows) {
    EXPECT_THAT(ErrorsOf(Changed(row.pointer, row.value)), IsEmpty()) << row.pointer << " " << row.value;
  }
  json::Doc nulls = JobDoc(2);
  nulls["spec"]["runPolicy"] = nullptr;
  nulls["spec"]["elasticPolicy"] = nullptr;
  nulls["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = nullptr;
  EXPECT_THAT(ErrorsOf(nulls), IsEmpty());
}

TEST(Validation, ExamplesAreValid) {
  for (const char* name : {"first", "gpu-8", "elastic"}) {
    for (json::Doc object : YamlFile("examples/pytorch/" + std::string(name) + ".yaml")) {
      std::string prefix = json::GetString(object, "metadata.generateName");
      if (!prefix.empty()) object["metadata"]["name"] = prefix + "x7k2p";
      EXPECT_THAT(ErrorsOf(object), IsEmpty()) << name;
    }
  }
}

TEST(Read, AppliesUpstreamsDefaults) {
  json::Doc object = JobDoc(1);
  object["spec"]["pytorchReplicaSpecs"]["Worker"].erase("replicas");
  Job job = ReadValid(object);
  ASSERT_THAT(job.roles, SizeIs(2));
  EXPECT_EQ(job.roles[0].type, "Master");
  EXPECT_EQ(job.roles[1].type, "Worker");
  EXPECT_EQ(job.roles[1].replicas, 1);
  EXPECT_EQ(job.roles[1].restart_policy, "OnFailure");
  EXPECT_EQ(job.run_policy.clean_pods, CleanPodPolicy::kNone);
  EXPECT_EQ(job.run_policy.backoff_limit, std::nullopt);
  EXPECT_FALSE(job.run_policy.suspend);
  EXPECT_TRUE(job.ours());
  EXPECT_EQ(job.pods(), 2);
}

TEST(Read, TakesTheRunPolicy) {
  Job job = ReadValid(Submitted("pytorch/cpu.yaml"));
  EXPECT_EQ(job.run_policy.clean_pods, CleanPodPolicy::kRunning);
  EXPECT_EQ(job.run_policy.backoff_limit, 3);
  EXPECT_EQ(job.roles[0].restart_policy, "Never");
}

TEST(Read, LeavesAJobOfAnotherControllerAlone) {
  json::Doc object = JobDoc(2);
  object["spec"]["runPolicy"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  object["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 5;
  auto read = PyTorch().Read(object);
  ASSERT_TRUE(std::holds_alternative<Job>(read)) << "a job that is not ours is never judged";
  EXPECT_FALSE(std::get<Job>(read).ours());
}

TEST(Read, BoundsTheListOfErrors) {
  json::Doc object = JobDoc(2);
  json::Doc& containers = object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"];
  for (int i = 0; i < 1000; ++i) containers.push_back({{"name", std::string(100'000, 'x')}});
  std::vector<std::string> errors = ErrorsOf(object);
  EXPECT_THAT(errors, SizeIs(51));
  EXPECT_THAT(errors.back(), HasSubstr("more"));
  for (const std::string& error : errors) EXPECT_THAT(error.size(), Le(512u));
}

TEST(Read, NeverCutsACharacterInTwo) {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "ü";
  std::vector<std::string> errors = ErrorsOf(Changed("/metadata/name", name));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_NO_THROW((void)json::Doc(errors[0]).dump());
}

}  // namespace
}  // namespace lockstep::jobs
