#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/pod.h"
#include "jobs/pytorch/fixture.h"

namespace lockstep::jobs {
namespace {

using ::testing::ElementsAre;

TEST(Environment, OfANumericNprocMultipliesTheWorld) {
  Job job = ReadValid(Submitted("pytorch/cpu.yaml"));
  EXPECT_THAT(EnvOf(PyTorch().PodFor(job, 1, 0)),
              ElementsAre("PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456",
                          "MASTER_ADDR=cpu-master-0", "PET_MASTER_ADDR=cpu-master-0", "WORLD_SIZE=4",
                          "RANK=1", "PET_NODE_RANK=1", "PET_NPROC_PER_NODE=2", "PET_NNODES=2"));
}

TEST(Environment, WithoutAMasterHasNoRank) {
  Job job = ReadValid(Submitted("pytorch/workers-only.yaml"));
  EXPECT_THAT(EnvOf(PyTorch().PodFor(job, 0, 1)),
              ElementsAre("PYTHONUNBUFFERED=1", "PET_NPROC_PER_NODE=gpu", "PET_NNODES=2"));
  EXPECT_FALSE(PyTorch().PodFor(job, 0, 1)["spec"].contains("initContainers"));
}

TEST(Environment, OfAnEmptyElasticPolicyMeetsAtWorkerZero) {
  Job job = ReadValid(Submitted("pytorch/elastic-defaults.yaml"));
  EXPECT_THAT(EnvOf(PyTorch().PodFor(job, 0, 2)), ElementsAre("PYTHONUNBUFFERED=1", "PET_NPROC_PER_NODE=auto",
                                                              "PET_RDZV_ENDPOINT=echo-worker-0:29400",
                                                              "PET_RDZV_BACKEND=c10d", "PET_NNODES=3:3"));
}

TEST(Environment, MasterAndElasticPolicyTogetherGiveBoth) {
  json::Doc object = JobDoc(2);
  object["spec"]["elasticPolicy"] = {{"maxReplicas", 4}};
  object["spec"]["nprocPerNode"] = "8";
  EXPECT_THAT(
      EnvOf(PyTorch().PodFor(ReadValid(object), 0, 0)),
      ElementsAre("PYTHONUNBUFFERED=1", "MASTER_PORT=23456", "PET_MASTER_PORT=23456",
                  "MASTER_ADDR=bert-master-0", "PET_MASTER_ADDR=bert-master-0", "WORLD_SIZE=24", "RANK=0",
                  "PET_NODE_RANK=0", "PET_NPROC_PER_NODE=8", "PET_RDZV_ENDPOINT=bert-worker-0:23456",
                  "PET_RDZV_BACKEND=c10d", "PET_NNODES=4:4"));
}

TEST(Environment, OneOfMinAndMaxStandsForTheOther) {
  json::Doc object = JobDoc(3, "", /*master=*/false);
  object["spec"]["elasticPolicy"] = {{"minReplicas", 2}};
  EXPECT_THAT(EnvOf(PyTorch().PodFor(ReadValid(object), 0, 0)), ::testing::Contains("PET_NNODES=2:2"));
}

TEST(Pods, ExitCodeIsJudgedByUsNotByTheKubelet) {
  Job job = ReadValid(Submitted("pytorch/cpu.yaml"));
  EXPECT_EQ(PyTorch().PodFor(job, 0, 0)["spec"]["restartPolicy"], "Never");
  EXPECT_EQ(job.roles[1].restart_policy, "ExitCode");
  EXPECT_EQ(PyTorch().PodFor(job, 1, 0)["spec"]["restartPolicy"], "Never");
}

TEST(Pods, RestartPolicyOfTheTemplateIsOverwritten) {
  json::Doc object = JobDoc(1);
  object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["restartPolicy"] = "Never";
  EXPECT_EQ(PyTorch().PodFor(ReadValid(object), 1, 0)["spec"]["restartPolicy"], "OnFailure");
}

TEST(Pods, NameAndNamespaceOfTheTemplateAreIgnored) {
  json::Doc object = JobDoc(1);
  object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {
      {"name", "mine"},
      {"namespace", "kube-system"},
      {"ownerReferences", json::Doc::array({{{"uid", "x"}}})}};
  json::Doc metadata = PyTorch().PodFor(ReadValid(object), 1, 0)["metadata"];
  EXPECT_EQ(metadata["name"], "bert-worker-0");
  EXPECT_EQ(metadata["namespace"], "ml");
  EXPECT_EQ(metadata["ownerReferences"].size(), 1u);
  EXPECT_EQ(metadata["ownerReferences"][0]["uid"], "uid-1");
}

TEST(LookedUp, IsTheMasterAndTheRendezvousOnly) {
  Job seed = ReadValid(Submitted("pytorch/seed.yaml"));
  EXPECT_TRUE(PyTorch().LookedUp(seed, 0, 0));
  EXPECT_FALSE(PyTorch().LookedUp(seed, 1, 0));
  EXPECT_FALSE(PyTorch().LookedUp(seed, 9, 0));
  Job own = ReadValid(Submitted("pytorch/elastic-defaults.yaml"));
  EXPECT_TRUE(PyTorch().LookedUp(own, 0, 0));
  EXPECT_FALSE(PyTorch().LookedUp(own, 0, 1));
  Job foreign = ReadValid(Submitted("pytorch/elastic.yaml"));
  EXPECT_FALSE(PyTorch().LookedUp(foreign, 0, 0)) << "the user named another host";
}

TEST(LookedUp, IsWorkerZeroWhenTheUserWritesItsNameOut) {
  json::Doc object = JobDoc(3, "", /*master=*/false);
  object["spec"]["elasticPolicy"]["rdzvHost"] = "bert-worker-0.ml.svc";
  EXPECT_TRUE(PyTorch().LookedUp(ReadValid(object), 0, 0));
}

// A name that fits 63 characters as a job, but whose pods and services do not.
TEST(LongNames, AreShortenedTheSameWayEverywhere) {
  json::Doc object = JobDoc(2);
  object["metadata"]["name"] = std::string(63, 'j');
  Job job = ReadValid(object);
  std::string service = ServiceFor(job, job.roles[0], 0)["metadata"]["name"];
  EXPECT_EQ(service.size(), 63u);
  json::Doc worker = PyTorch().PodFor(job, 1, 0);
  EXPECT_THAT(EnvOf(worker), ::testing::Contains("MASTER_ADDR=" + service));
  std::string wait = worker["spec"]["initContainers"][0]["command"][2];
  EXPECT_NE(wait.find("nslookup " + service + ";"), std::string::npos) << wait;
  json::Doc master = PyTorch().PodFor(job, 0, 0);
  StampPod(master, 1);
  EXPECT_EQ(master["metadata"]["name"], service) << "pod and service share upstream's name";
  EXPECT_EQ(master["metadata"]["labels"]["training.kubeflow.org/job-name"], std::string(63, 'j'));
}

}  // namespace
}  // namespace lockstep::jobs
