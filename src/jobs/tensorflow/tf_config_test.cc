#include "jobs/tensorflow/tf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ascii.h"
#include "jobs/pod.h"
#include "jobs/tensorflow/fixture.h"

namespace lockstep::jobs {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TfConfig, IsUpstreamsToTheByte) {
  Job job = ReadValid(TFJobDoc({{"PS", 1}, {"Worker", 2}}));
  const std::string cluster = R"({"cluster":{"ps":["bert-ps-0.ml.svc:2222"],)"
                              R"("worker":["bert-worker-0.ml.svc:2222","bert-worker-1.ml.svc:2222"]},)";
  EXPECT_EQ(ConfigOf(job, "Worker", 1),
            cluster + R"("task":{"type":"worker","index":1},"environment":"cloud"})");
  EXPECT_EQ(ConfigOf(job, "PS", 0), cluster + R"("task":{"type":"ps","index":0},"environment":"cloud"})");
}

// Go prints the keys of a map in the order of the letters, the fields of a struct in that of the source.
TEST(TfConfig, HasTheTypesInTheOrderOfTheLetters) {
  Job job = ReadValid(TFJobDoc({{"Worker", 1}, {"Chief", 1}, {"Evaluator", 1}, {"PS", 1}}));
  EXPECT_EQ(
      ConfigOf(job, "Chief", 0),
      R"({"cluster":{"chief":["bert-chief-0.ml.svc:2222"],"evaluator":["bert-evaluator-0.ml.svc:2222"],)"
      R"("ps":["bert-ps-0.ml.svc:2222"],"worker":["bert-worker-0.ml.svc:2222"]},)"
      R"("task":{"type":"chief","index":0},"environment":"cloud"})");
  Job older = ReadValid(TFJobDoc({{"Worker", 1}, {"Master", 1}}));
  EXPECT_EQ(ConfigOf(older, "Master", 0),
            R"({"cluster":{"master":["bert-master-0.ml.svc:2222"],"worker":["bert-worker-0.ml.svc:2222"]},)"
            R"("task":{"type":"master","index":0},"environment":"cloud"})");
}

TEST(TfConfig, NamesThePortOfEachTypesOwnTemplate) {
  json::Doc object = TFJobDoc({{"PS", 1}, {"Worker", 1}});
  object["spec"]["tfReplicaSpecs"]["PS"]["template"]["spec"]["containers"][0]["ports"] =
      json::Doc::array({{{"containerPort", 6006}}, {{"name", "tfjob-port"}, {"containerPort", 3333}}});
  EXPECT_THAT(
      ConfigOf(ReadValid(object), "Worker", 0),
      StartsWith(R"({"cluster":{"ps":["bert-ps-0.ml.svc:3333"],"worker":["bert-worker-0.ml.svc:2222"]})"));
}

TEST(TfConfig, GivesNoneToAJobThatTrainsAlone) {
  for (const char* type : {"Worker", "Chief", "Master", "PS", "Evaluator"}) {
    Job job = ReadValid(TFJobDoc({{type, 1}}));
    EXPECT_FALSE(tensorflow::IsDistributed(job)) << type;
    EXPECT_EQ(ConfigOf(job, type, 0), "") << type;
    EXPECT_FALSE(TensorFlow().PodFor(job, 0, 0)["spec"]["containers"][0].contains("env")) << type;
  }
  EXPECT_TRUE(tensorflow::IsDistributed(ReadValid(TFJobDoc({{"Worker", 2}}))));
  EXPECT_TRUE(tensorflow::IsDistributed(ReadValid(TFJobDoc({{"Chief", 1}, {"Worker", 1}}))));
}

TEST(TfConfig, KeepsATypeWithoutReplicasAsAnEmptyList) {
  Job job = ReadValid(TFJobDoc({{"PS", 0}, {"Worker", 2}}));
  EXPECT_THAT(ConfigOf(job, "Worker", 0), StartsWith(R"({"cluster":{"ps":[],"worker":["bert-worker-0.)"));
  EXPECT_FALSE(tensorflow::IsDistributed(ReadValid(TFJobDoc({{"PS", 0}, {"Worker", 1}}))));
}

json::Doc Dynamic(const std::map<std::string, int32_t>& replicas) {
  return With(TFJobDoc(replicas), "/spec/enableDynamicWorker", true);
}

// The strings of upstream's test of its sparse cluster, here with two workers.
TEST(TfConfig, OfADynamicWorkerNamesItselfAndTheServers) {
  Job job = ReadValid(Dynamic({{"PS", 2}, {"Worker", 3}}));
  EXPECT_EQ(ConfigOf(job, "Worker", 2),
            R"({"cluster":{"worker":{"2":"bert-worker-2.ml.svc:2222"},)"
            R"("ps":["bert-ps-0.ml.svc:2222","bert-ps-1.ml.svc:2222"]},"task":{"type":"worker","index":2}})");
  EXPECT_EQ(ConfigOf(job, "PS", 1),
            R"({"cluster":{"worker":{},"ps":["bert-ps-1.ml.svc:2222"]},"task":{"type":"ps","index":1}})");
}

TEST(TfConfig, OfADynamicJobTellsOthersNothing) {
  Job job = ReadValid(Dynamic({{"Chief", 1}, {"Evaluator", 1}, {"Worker", 1}}));
  EXPECT_EQ(ConfigOf(job, "Chief", 0),
            R"({"cluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}})");
  EXPECT_EQ(ConfigOf(job, "Evaluator", 0),
            R"({"cluster":{"worker":{},"ps":[]},"task":{"type":"evaluator","index":0}})");
  EXPECT_EQ(ConfigOf(job, "Worker", 0), R"({"cluster":{"worker":{"0":"bert-worker-0.ml.svc:2222"},"ps":[]},)"
                                        R"("task":{"type":"worker","index":0}})");
}

TEST(TfConfig, IsJsonAndNamesEveryService) {
  Job job = ReadValid(TFJobDoc({{"Chief", 1}, {"PS", 3}, {"Worker", 12}}));
  json::Doc config = json::Parse(ConfigOf(job, "PS", 2)).value();
  for (size_t role = 0; role < job.roles.size(); ++role) {
    const json::Doc& hosts = config["cluster"][AsciiLower(job.roles[role].type)];
    ASSERT_EQ(hosts.size(), static_cast<size_t>(job.roles[role].replicas));
    for (int32_t i = 0; i < job.roles[role].replicas; ++i) {
      std::string service = ServiceFor(job, job.roles[role], i)["metadata"]["name"];
      EXPECT_EQ(hosts[static_cast<size_t>(i)], service + ".ml.svc:2222");
    }
  }
  EXPECT_EQ(config["task"], json::Doc({{"type", "ps"}, {"index", 2}}));
}

TEST(TfConfig, ShortensALongNameAsTheServiceDoes) {
  Job job = ReadValid(With(TFJobDoc({{"Worker", 2}}), "/metadata/name", std::string(63, 'j')));
  std::string service = ServiceFor(job, job.roles[0], 1)["metadata"]["name"];
  EXPECT_EQ(service.size(), 63u);
  EXPECT_THAT(ConfigOf(job, "Worker", 0), HasSubstr("\"" + service + ".ml.svc:2222\"]"));
}

TEST(TfConfig, GoesToTheTrainingContainerOnly) {
  json::Doc object = TFJobDoc({{"Worker", 2}});
  json::Doc& containers = object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"];
  containers[0]["env"] = json::Doc::array({{{"name", "TF_CONFIG"}, {"value", "mine"}}});
  const json::Doc board = {{"name", "board"}, {"image", "example.com/board:1"}};
  containers.insert(containers.begin(), board);
  json::Doc pod = TensorFlow().PodFor(ReadValid(object), 0, 0);
  EXPECT_THAT(EnvOf(pod, 0), ::testing::IsEmpty());
  EXPECT_THAT(EnvOf(pod, 1), ::testing::ElementsAre("TF_CONFIG=mine", EndsWith(R"("environment":"cloud"})")))
      << "of a name that comes twice the last one wins";
}

TEST(TFJobLookedUp, IsEveryReplicaOfADistributedJob) {
  Job job = ReadValid(TFJobDoc({{"PS", 1}, {"Worker", 2}}));
  EXPECT_TRUE(TensorFlow().LookedUp(job, At(job, "PS"), 0));
  EXPECT_TRUE(TensorFlow().LookedUp(job, At(job, "Worker"), 1));
  EXPECT_FALSE(TensorFlow().LookedUp(job, At(job, "Worker"), 2));
  EXPECT_FALSE(TensorFlow().LookedUp(job, At(job, "Worker"), -1));
  EXPECT_FALSE(TensorFlow().LookedUp(job, 9, 0));
  EXPECT_FALSE(TensorFlow().LookedUp(ReadValid(TFJobDoc({{"Worker", 1}})), 0, 0));
}

// Who has the label job-role=master.
TEST(TFJobMasterLabel, IsTheChiefsOrWorkerZeros) {
  auto masters = [](const json::Doc& object) {
    Job job = ReadValid(object);
    std::vector<std::string> names;
    for (size_t role = 0; role < job.roles.size(); ++role) {
      for (int32_t i = 0; i < job.roles[role].replicas; ++i) {
        json::Doc metadata = TensorFlow().PodFor(job, role, i)["metadata"];
        if (metadata["labels"].value("training.kubeflow.org/job-role", "") == "master")
          names.push_back(metadata["name"]);
      }
    }
    return names;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(masters(TFJobDoc({{"Chief", 1}, {"PS", 1}, {"Worker", 2}})), ElementsAre("bert-chief-0"));
  EXPECT_THAT(masters(TFJobDoc({{"Master", 1}, {"Worker", 2}})), ElementsAre("bert-master-0"));
  EXPECT_THAT(masters(TFJobDoc({{"Evaluator", 1}, {"PS", 1}, {"Worker", 2}})), ElementsAre("bert-worker-0"));
  EXPECT_THAT(masters(TFJobDoc({{"PS", 2}})), ElementsAre());
}

TEST(TFJobPods, ExitCodeIsJudgedByUsNotByTheKubelet) {
  const std::pair<const char*, const char*> rows[] = {{"", "Never"},
                                                      {"Never", "Never"},
                                                      {"ExitCode", "Never"},
                                                      {"OnFailure", "OnFailure"},
                                                      {"Always", "Always"}};
  for (const auto& [policy, of_the_pod] : rows) {
    json::Doc object = TFJobDoc({{"Worker", 1}}, policy);
    object["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["restartPolicy"] = "Always";
    EXPECT_EQ(TensorFlow().PodFor(ReadValid(object), 0, 0)["spec"]["restartPolicy"], of_the_pod) << policy;
  }
}

}  // namespace
}  // namespace lockstep::jobs
