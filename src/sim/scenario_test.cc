#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/source_dir.h"

namespace lockstep::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Scenario Parse(const std::string& text) {
  Result<Scenario> scenario = ParseScenario("# A story.\n" + text, "tests/scenarios/story.scenario");
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  return scenario.ok() ? *scenario : Scenario{};
}

std::string ErrorOf(const std::string& text) {
  Result<Scenario> scenario = ParseScenario("# A story.\n" + text, "tests/scenarios/story.scenario");
  return scenario.ok() ? "no error" : scenario.error().message;
}

template <class T>
const T& Only(const Scenario& scenario) {
  EXPECT_EQ(scenario.statements.size(), 1u);
  return std::get<T>(scenario.statements.at(0).deed);
}

TEST(Scenario, KeepsNameStoryAndTimes) {
  Scenario scenario = Parse(
      "# told in two lines\ncluster nodes=1\nat 1s wait 1s\nat +2s wait 1s  # why\nby 90s expect running "
      "a\n");

  EXPECT_EQ(scenario.name, "story");
  EXPECT_EQ(scenario.story, "A story. told in two lines");
  ASSERT_EQ(scenario.statements.size(), 4u);
  EXPECT_EQ(scenario.statements[2].time, seconds(3));
  EXPECT_EQ(scenario.statements[2].line, 5);
  EXPECT_EQ(scenario.statements[2].text, "wait 1s");
  EXPECT_EQ(scenario.statements[3].when, Statement::When::kBy);
  EXPECT_EQ(scenario.length(), seconds(90));
}

TEST(Scenario, CountsNodesOverSeveralGroups) {
  Scenario scenario = Parse("cluster nodes=2 gpu=8\ncluster nodes=1 taint=team=x:NoSchedule label=a=b\n");

  const auto& first = std::get<AddNodes>(scenario.statements.at(0).deed);
  const auto& second = std::get<AddNodes>(scenario.statements.at(1).deed);
  EXPECT_THAT(first.names, ElementsAre("node-0", "node-1"));
  EXPECT_EQ(first.capacity.at("nvidia.com/gpu"), 8000);
  EXPECT_EQ(first.capacity.at("pods"), 110'000);
  EXPECT_THAT(second.names, ElementsAre("node-2"));
  EXPECT_EQ(second.labels.at("a"), "b");
  EXPECT_EQ(second.taints.at(0), (kube::Taint{"team", "x", "NoSchedule"}));
  EXPECT_FALSE(second.capacity.contains("nvidia.com/gpu"));
}

TEST(Scenario, WritesAJobAsAUserWould) {
  Scenario scenario = Parse(
      "submit pytorchjob a,b-{1..2} workers=3 master=1 gpu=1 master.gpu=0 master.cpu=2 runtime=60s exit=1,0 "
      "restart=OnFailure backoff=3 clean=All tolerate=key select=k=v\n");

  const Submit& submit = Only<Submit>(scenario);
  EXPECT_THAT(submit.names, ElementsAre("a", "b-1", "b-2"));
  const json::Doc& roles = submit.manifest["spec"]["pytorchReplicaSpecs"];
  EXPECT_EQ(roles["Worker"]["replicas"], 3);
  EXPECT_EQ(roles["Worker"]["restartPolicy"], "OnFailure");
  const json::Doc& worker = roles["Worker"]["template"];
  EXPECT_EQ(worker["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "1");
  EXPECT_EQ(worker["metadata"]["annotations"]["hollow.lockstep.dev/run-time"], "60s");
  EXPECT_EQ(worker["metadata"]["annotations"]["hollow.lockstep.dev/exit-code"], "1,0");
  EXPECT_EQ(worker["spec"]["nodeSelector"]["k"], "v");
  EXPECT_EQ(worker["spec"]["tolerations"][0]["key"], "key");
  EXPECT_EQ(roles["Master"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "2");
  EXPECT_EQ(roles["Master"]["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"],
            "0");
  EXPECT_EQ(submit.manifest["spec"]["runPolicy"]["backoffLimit"], 3);
  EXPECT_EQ(submit.manifest["spec"]["runPolicy"]["cleanPodPolicy"], "All");
}

TEST(Scenario, WritesATFJobByItsOwnTypes) {
  Scenario scenario = Parse(
      "submit tfjob a chief=1 ps=2 workers=4 evaluator=1 gpu=1 ps.gpu=0 ps.memory=8Gi chief.runtime=60s "
      "success=AllWorkers dynamic=yes clean=Running\n");

  const json::Doc& spec = Only<Submit>(scenario).manifest["spec"];
  EXPECT_EQ(Only<Submit>(scenario).manifest["kind"], "TFJob");
  EXPECT_EQ(spec["successPolicy"], "AllWorkers");
  EXPECT_EQ(spec["enableDynamicWorker"], true);
  EXPECT_EQ(spec["runPolicy"]["cleanPodPolicy"], "Running");
  const json::Doc& roles = spec["tfReplicaSpecs"];
  EXPECT_EQ(roles.size(), 4u);
  EXPECT_EQ(roles["PS"]["replicas"], 2);
  const json::Doc& server = roles["PS"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(server["name"], "tensorflow");
  EXPECT_EQ(server["resources"]["requests"]["memory"], "8Gi");
  EXPECT_EQ(server["resources"]["limits"]["nvidia.com/gpu"], "0");
  EXPECT_EQ(roles["Evaluator"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"],
            "1");
  EXPECT_EQ(roles["Chief"]["template"]["metadata"]["annotations"]["hollow.lockstep.dev/run-time"], "60s");
  EXPECT_FALSE(roles["Worker"]["template"].contains("metadata"));
}

TEST(Scenario, ReadsExpectationsWithTheirReasons) {
  Scenario scenario = Parse("expect queued b because \"needs 8, a=b # not a comment\"  # a comment\n");

  const Expect& expect = Only<Expect>(scenario);
  EXPECT_EQ(expect.what, "queued");
  EXPECT_THAT(expect.names, ElementsAre("b"));
  EXPECT_EQ(expect.because, "needs 8, a=b # not a comment");
  EXPECT_EQ(scenario.statements[0].text, "expect queued b because \"needs 8, a=b # not a comment\"");
}

TEST(Scenario, ReadsFaults) {
  Scenario scenario = Parse("fault create pods fails 422 \"no\" for 2s count=3 name=a-\n");

  const Fault& fault = Only<Fault>(scenario);
  EXPECT_EQ(fault.effect, Fault::Effect::kFails);
  EXPECT_EQ(fault.code, 422);
  EXPECT_EQ(fault.message, "no");
  EXPECT_EQ(fault.lasts, std::optional<Duration>(seconds(2)));
  EXPECT_EQ(fault.count, 3);
  EXPECT_EQ(fault.name, "a-");
}

TEST(Scenario, SaysWhereAndWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf("cluster nodes=x\n"),
            "story.scenario:2: nodes: must be a number from 0 to 100000, is \"x\"");
  EXPECT_THAT(ErrorOf("\nwobble\n"),
              HasSubstr("story.scenario:3: unknown statement \"wobble\"; known are cluster"));
  EXPECT_THAT(ErrorOf("expect happy a\n"), HasSubstr("expect: must be one of running, queued"));
  EXPECT_THAT(ErrorOf("expect phase a\n"), HasSubstr("must have 1 words after the names, has 0"));
  EXPECT_THAT(ErrorOf("submit pytorchjob a workers=1 colour=red\n"),
              HasSubstr("does not know the option colour="));
  EXPECT_THAT(ErrorOf("submit pytorchjob a gpu=1\n"), HasSubstr("a job needs workers=N or master=1"));
  EXPECT_THAT(ErrorOf("submit tfjob a ps.gpu=1\n"), HasSubstr("a job needs workers=N or chief=1"));
  EXPECT_THAT(ErrorOf("submit tfjob a ps=1 worker.gpu=1\n"),
              HasSubstr("does not know the option worker.gpu="));
  EXPECT_THAT(ErrorOf("submit pytorchjob a workers=1 success=AllWorkers\n"),
              HasSubstr("does not know the option success="));
  EXPECT_THAT(ErrorOf("submit mpijob a workers=1\n"),
              HasSubstr("submit: must be pytorchjob or tfjob or manifest, is \"mpijob\""));
  EXPECT_THAT(ErrorOf("at 5s wait 1s\nat 4s wait 1s\n"), HasSubstr("is before 5s of an earlier line"));
  EXPECT_THAT(ErrorOf("by 4s crash operator\n"), HasSubstr("only an expectation can hold by a time"));
  EXPECT_THAT(ErrorOf("expect queued a because \"open\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(ErrorOf("fault watch pods lost\n"), HasSubstr("lost is not for the verb watch"));
  EXPECT_THAT(ErrorOf("virtual-only\n"), HasSubstr("must say why"));
  EXPECT_THAT(ErrorOf("submit pytorchjob j-{3..1} workers=1\n"), HasSubstr("must be like job-{1..20}"));
  EXPECT_THAT(ErrorOf("at 3s\n"), HasSubstr("a statement is missing"));
  EXPECT_THAT(ParseScenario("cluster nodes=1\n", "x.scenario").error().message, HasSubstr("tells the story"));
}

TEST(Scenario, EveryFileOfTheTreeIsReadable) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(kSourceDir) + "/tests/scenarios")) {
    if (entry.path().extension() != ".scenario") continue;
    ++count;
    Result<Scenario> scenario = LoadScenario(entry.path().string());
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  }
  EXPECT_GE(count, 25);
}

// Half lines and noise are errors or scenarios, never a crash.
TEST(Scenario, SurvivesEveryPrefixOfALine) {
  const std::string line =
      "at 3s submit pytorchjob a,b-{1..2} workers=3 master.gpu=0 memory=1e99 label=k=v taint=k=v:NoSchedule "
      "because \"x\" affinity=zone:a|b";
  for (size_t length = 0; length <= line.size(); ++length) {
    ErrorOf(line.substr(0, length) + "\n");
    ErrorOf("fault " + line.substr(0, length) + "\nexpect " + line.substr(length) + "\n");
  }
}

}  // namespace
}  // namespace lockstep::sim
