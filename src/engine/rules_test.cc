// Jobs whose pods have rules about other pods, through whole steps.
#include <gmock/gmock.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using cluster::Action;
using cluster::ActionKind;
using ::testing::ElementsAre;
using testing::HandDriven;
using ::testing::HasSubstr;

constexpr std::string_view kJobName = "training.kubeflow.org/job-name";

class RulesTest : public ::testing::Test {
 protected:
  void Nodes(int count, int gpus) {
    for (int i = 0; i < count; ++i) {
      std::string name = "node-" + std::to_string(i);
      engine.See(
          kube::kNodes,
          {{"metadata", {{"name", name}, {"labels", {{"host", name}}}}},
           {"status", {{"allocatable", {{"nvidia.com/gpu", std::to_string(gpus)}, {"pods", "110"}}}}}});
    }
  }

  // `workers` one-GPU pods with a term of anti-affinity by host.
  void Job(const std::string& name, int workers, json::Doc term,
           const json::Doc& labels = json::Doc::object()) {
    term["topologyKey"] = "host";
    json::Doc container = {
        {"name", "pytorch"}, {"image", "i"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}};
    json::Doc spec = {{"containers", json::Doc::array({container})}};
    if (term.contains("labelSelector")) {
      spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
          json::Doc::array({term});
    }
    json::Doc worker = {{"replicas", workers},
                        {"restartPolicy", "OnFailure"},
                        {"template", {{"metadata", {{"labels", labels}}}, {"spec", spec}}}};
    engine.See(kube::kPyTorchJobs, {{"apiVersion", "kubeflow.org/v1"},
                                    {"kind", "PyTorchJob"},
                                    {"metadata",
                                     {{"name", name},
                                      {"namespace", "default"},
                                      {"uid", "uid-" + name},
                                      {"generation", 1},
                                      {"creationTimestamp", FormatTime(engine.now.wall)}}},
                                    {"spec", {{"pytorchReplicaSpecs", {{"Worker", worker}}}}}});
  }

  std::vector<std::string> NodesOf(const std::string& job) {
    std::vector<std::string> nodes;
    for (const api::NodeSeats& seats : engine.Gang(job).status().placement) nodes.push_back(seats.node);
    return nodes;
  }
  const api::GangReason& ReasonOf(const std::string& job) { return engine.Gang(job).status().reason; }

  HandDriven engine;
  json::Doc apart_from_own_job = {{"labelSelector", json::Doc::object()},
                                  {"matchLabelKeys", json::Doc::array({kJobName})}};
  json::Doc none = json::Doc::object();
};

TEST_F(RulesTest, EqualTemplatesOfTwoJobsSpeakOfTheirOwnPods) {
  Nodes(2, 2);
  Job("a", 2, apart_from_own_job);
  Job("b", 2, apart_from_own_job);
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0", "node-1"));
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0", "node-1"));
}

TEST_F(RulesTest, SeatsOnRecordCountBeforeTheirPodsExist) {
  Nodes(2, 8);
  json::Doc apart_from_team = {{"labelSelector", {{"matchLabels", {{"team", "a"}}}}}};
  Job("a", 1, apart_from_team, {{"team", "a"}});
  std::optional<Action> placing = engine.RunUntil(ActionKind::kWriteGang);
  ASSERT_TRUE(placing);
  Job("b", 2, none, {{"team", "a"}});
  Job("c", 2, none, {{"team", "c"}});
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-1"));
  EXPECT_THAT(NodesOf("c"), ElementsAre("node-1"));
}

TEST_F(RulesTest, WhoKeepsItAwayIsNamedAndItStartsWhenTheyAreGone) {
  Nodes(1, 8);
  Job("a", 1, {{"labelSelector", {{"matchLabels", {{"team", "a"}}}}}});
  engine.Settle();
  engine.PodIs("a-worker-0", "Running");
  Job("b", 2, none, {{"team", "a"}});
  engine.Settle();
  EXPECT_EQ(ReasonOf("b").code, "AntiAffinity");
  EXPECT_THAT(ReasonOf("b").message, HasSubstr("1 node is excluded by anti-affinity with a"));

  engine.PodIs("a-worker-0", "Succeeded");
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0"));
}

TEST_F(RulesTest, WhoIsKeptAwayHoldsUpNobodyWhoIsAlikeButForItsLabels) {
  Nodes(1, 8);
  Job("a", 1, {{"labelSelector", {{"matchLabels", {{"team", "a"}}}}}});
  engine.Settle();
  Job("b", 2, none, {{"team", "a"}});
  engine.Settle();
  Job("c", 2, none, {{"team", "c"}});
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre());
  EXPECT_THAT(NodesOf("c"), ElementsAre("node-0"));
}

TEST_F(RulesTest, ARuleAboutALabelOfEachPodIsRefusedByName) {
  Nodes(2, 8);
  json::Doc term = apart_from_own_job;
  term["matchLabelKeys"] = json::Doc::array({"training.kubeflow.org/replica-index"});
  Job("a", 2, term);
  engine.Settle();
  EXPECT_EQ(ReasonOf("a").code, "Unsupported");
  EXPECT_THAT(ReasonOf("a").message, HasSubstr("training.kubeflow.org/replica-index"));
}

TEST_F(RulesTest, RulesThatAdmissionWritesAreCheckedForEachJob) {
  Nodes(2, 8);
  Job("a", 2, none);
  Job("b", 2, none);
  // A webhook keeps the pods of a job apart: its answers speak of the job that was asked about.
  int checks = 0;
  for (int round = 0; round < 20; ++round) {
    for (Action& action : engine.Step()) {
      if (action.kind == ActionKind::kCheckTemplate) {
        ++checks;
        json::Doc pod = json::Parse(action.request.body).value();
        json::Doc term = {
            {"topologyKey", "host"},
            {"labelSelector", {{"matchLabels", {{kJobName, pod["metadata"]["labels"][kJobName]}}}}}};
        pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
            json::Doc::array({term});
        action.request.body = json::Dump(pod);
      }
      engine.Applied(action);
    }
  }
  EXPECT_EQ(checks, 3);  // one for both, then one for each
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0", "node-1"));
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0", "node-1"));
}

}  // namespace
}  // namespace lockstep::engine
