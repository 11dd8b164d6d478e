#include "audit/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "audit/report.h"
#include "audit/testing.h"
#include "base/source_dir.h"

namespace lockstep::audit {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Rule> Rules(const Report& report) {
  std::vector<Rule> rules;
  for (const Violation& violation : report.violations) rules.push_back(violation.rule);
  return rules;
}

TEST(Judge, TwoGangsOneAfterTheOtherOnTheSameNodesAreInOrder) {
  TestLog log;
  log.Node(0, "n0", 1).Node(0, "n1", 1).Job(100, "a", 2).Job(150, "b", 2);
  for (int start : {200, 5000}) {
    std::string job = start == 200 ? "a" : "b";
    for (int i : {0, 1}) log.Create(start + i, Worker(job, i, "n" + std::to_string(i)));
    for (int i : {0, 1}) log.Phase(start + 100 + i, Worker(job, i, ""), "Running");
    for (int i : {0, 1}) log.Phase(start + 1000 + i, Worker(job, i, ""), "Succeeded");
  }
  Report report = log.Judged();

  EXPECT_THAT(report.violations, IsEmpty());
  ASSERT_THAT(report.gangs, SizeIs(2));
  EXPECT_EQ(report.gangs[0].job, "default/a");
  EXPECT_TRUE(report.gangs[0].whole);
  EXPECT_EQ(report.gangs[1].size, 2);
  EXPECT_EQ(report.gangs[1].last_assigned - *report.gangs[1].submitted, milliseconds(4861));
  EXPECT_EQ(*report.gangs[1].all_running - *report.gangs[1].submitted, milliseconds(4961));
  EXPECT_NEAR(report.gpu_seconds_waiting, 0.002, 1e-9);
  EXPECT_EQ(report.never_whole, 0);
}

TEST(Judge, APodThatNeverHadANodeMayBeMadeAnew) {
  TestPod first = Worker("a", 0, ""), second = first;
  second.uid = "another";
  TestLog log;
  log.Node(0, "n0", 1).Create(100, first).Delete(200, first, 0).Create(300, second).Bind(400, second, "n0");
  EXPECT_THAT(Rules(log.Judged()), ElementsAre());
}

TEST(Judge, ASecondCreateOfARankInOneAttemptIsAViolationEvenWhenTheFirstIsGone) {
  TestPod first = Worker("a", 0, "n0"), second = first;
  second.uid = "another";
  Report report =
      TestLog().Node(0, "n0", 1).Create(100, first).Delete(200, first, 0).Create(300, second).Judged();

  ASSERT_THAT(Rules(report), ElementsAre(Rule::kDoubledCreate));
  EXPECT_THAT(report.violations[0].message, HasSubstr("default/a: worker 0 created again in attempt 1"));
}

TEST(Judge, ARefusedAndATriedCreateAreNone) {
  TestPod pod = Worker("a", 0, "n0");
  Report report =
      TestLog().Create(100, pod, 409).Create(200, pod, 201, "&dryRun=All").Create(300, pod).Judged();

  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.creates, 1);
  EXPECT_EQ(report.writes.dry_run, 1);
  EXPECT_EQ(report.writes.refused, 1);
}

TEST(Judge, TwoAttemptsAliveAtOnceAreAViolation) {
  TestPod first = Worker("a", 0, "n0"), second = Worker("a", 0, "n1");
  second.attempt = "2";
  TestLog log;
  log.Create(100, first).Delete(200, first, 30).Create(300, second).Phase(400, first, "Failed");

  Report report = log.Judged();
  ASSERT_THAT(Rules(report), ElementsAre(Rule::kDoubledPod));
  EXPECT_THAT(report.violations[0].message, HasSubstr("worker 0 lives twice: a-worker-0 and a-worker-0-r2"));
}

TEST(Judge, ATerminatingPodLivesUntilItsEndIsReported) {
  TestPod first = Worker("a", 0, "n0"), second = Worker("a", 0, "n1");
  second.attempt = "2";
  TestLog log;
  log.Create(100, first).Delete(200, first, 30).Phase(300, first, "Failed").Create(400, second);
  EXPECT_THAT(log.Judged().violations, IsEmpty());
}

TEST(Judge, AnEndThatMayHaveComeBeforeTheCreateIsNoProof) {
  // Both requests were under way at the same time: the log can't say which was applied first.
  TestPod first = Worker("a", 0, "n0"), second = Worker("a", 0, "n1");
  second.attempt = "2";
  TestLog log;
  log.Create(100, first).Create(300, second).Phase(305, first, "Failed");
  EXPECT_THAT(log.Judged().violations, IsEmpty());
}

TEST(Judge, AThirdPodIsComparedWithTheOneThatStillLives) {
  TestPod one = Worker("a", 0, "n0"), two = Worker("a", 0, "n1"), three = Worker("a", 0, "n2");
  two.attempt = "2";
  three.attempt = "3";
  TestLog log;
  log.Create(100, one)
      .Create(200, two)
      .Phase(300, two, "Failed")
      .Create(400, three)
      .Phase(500, one, "Failed");
  EXPECT_THAT(Rules(log.Judged()), ElementsAre(Rule::kDoubledPod, Rule::kDoubledPod));
}

TEST(Judge, ThePodThatOvercommitsANodeIsNamed) {
  TestLog log;
  log.Node(0, "n0", 1).Create(100, Worker("a", 0, "n0")).Create(200, Worker("b", 0, "n0"));
  Report report = log.Judged();
  ASSERT_THAT(Rules(report), ElementsAre(Rule::kOverCommit));
  EXPECT_EQ(report.violations[0].message,
            "node n0: 2 nvidia.com/gpu requested of 1 with pod default/b-worker-0");
}

TEST(Judge, SeatsOfEndedPodsAreFree) {
  TestLog log;
  log.Node(0, "n0", 1).Create(100, Worker("a", 0, "n0")).Phase(200, Worker("a", 0, ""), "Succeeded");
  log.Create(300, Worker("b", 0, "n0"));
  EXPECT_THAT(log.Judged().violations, IsEmpty());
}

TEST(Judge, ANodeThatShrinksIsNobodysFaultUntilAnotherPodComes) {
  TestLog log;
  log.Node(0, "n0", 4)
      .Create(100, Worker("a", 0, "n0"))
      .Create(110, Worker("a", 1, "n0"))
      .NodeGpus(200, "n0", 1);
  EXPECT_THAT(log.Judged().violations, IsEmpty());
  log.Create(300, Worker("b", 0, "n0"));
  EXPECT_THAT(Rules(log.Judged()), ElementsAre(Rule::kOverCommit));
}

TEST(Judge, APodThatAsksForNothingScarceIsNoOverCommit) {
  TestLog log;
  TestPod cpu_only = Worker("b", 0, "n0");
  cpu_only.gpu = 0;
  log.Node(0, "n0", 2)
      .Create(100, Worker("a", 0, "n0"))
      .Create(110, Worker("a", 1, "n0"))
      .NodeGpus(200, "n0", 1);
  log.Create(300, cpu_only);
  EXPECT_THAT(log.Judged().violations, IsEmpty());
}

TEST(Judge, ARaisedCapacityCountsFromTheMomentItMayHaveBeenThere) {
  TestLog log;
  log.Node(0, "n0", 1)
      .Create(100, Worker("a", 0, "n0"))
      .NodeGpus(200, "n0", 2)
      .Create(205, Worker("a", 1, "n0"));
  EXPECT_THAT(log.Judged().violations, IsEmpty());
}

TEST(Judge, NodesOfUnknownCapacityAreCountedNotJudged) {
  TestLog log;
  for (int i = 0; i < 200; ++i) log.Create(100, Worker("a", i, "before-the-log"));
  Report report = log.Judged();
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.unknown_nodes, 1);
}

TEST(Judge, PlainPodsBoundOneByOneDeadlockAndItIsSeen) {
  // The default scheduler with two gangs of two, round-robin on two GPUs: each has one, neither starts.
  TestLog log;
  log.agent = "kube-scheduler/v1.34.4";
  log.Node(0, "n0", 1).Node(0, "n1", 1);
  for (int i : {0, 1}) {
    for (const std::string job : {"a", "b"}) {
      TestPod pod = Worker(job, i, "");
      pod.attempt = "";
      log.Create(100 + i, pod);
      if (i == 0) log.Bind(200, pod, job == "a" ? "n0" : "n1");
    }
  }
  log.Phase(90'000, {.job = "a", .attempt = ""}, "Running");

  Report report = log.Judged();
  EXPECT_THAT(Rules(report), ElementsAre(Rule::kStuckPart, Rule::kStuckPart));
  EXPECT_THAT(report.violations[0].message, HasSubstr("default/a: 1 of 2 pods held nodes"));
  EXPECT_EQ(report.never_whole, 2);
  EXPECT_NEAR(report.gpu_seconds_waiting, 2 * 89.8, 0.01);
}

TEST(Judge, APartThatIsTakenBackInTimeIsNotStuck) {
  TestLog log;
  log.Job(0, "a", 2).Create(100, Worker("a", 0, "n0")).Delete(20'000, Worker("a", 0, "n0"), 30);
  log.Phase(200'000, Worker("a", 0, ""), "Failed");
  Report report = log.Judged();
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.never_whole, 1);
  EXPECT_THAT(Rules(log.Judged({.stuck_after = seconds(10), .excess_after = {}})),
              ElementsAre(Rule::kStuckPart));
}

TEST(Judge, TheGangsMinimumIsItsSize) {
  TestLog log;
  json::Doc gang = {
      {"spec",
       {{"job", {{"uid", "uid-a"}}}, {"roles", {{{"name", "Worker"}, {"count", 4}, {"minCount", 2}}}}}}};
  log.Job(0, "a", 4).Add(10, "create", "lockstep.dev/gangs", "pytorchjob-a", 201, gang);
  for (int i : {0, 1}) log.Create(100, Worker("a", i, "n0"));
  Report report = log.Judged();
  ASSERT_THAT(report.gangs, SizeIs(1));
  EXPECT_EQ(report.gangs[0].size, 2);
  EXPECT_TRUE(report.gangs[0].whole);
  log.Add(200, "patch", "lockstep.dev/gangs", "pytorchjob-a", 200,
          {{"spec", {{"roles", {{{"name", "Worker"}, {"count", 3}}}}}}});
  EXPECT_EQ(log.Judged().gangs[0].size, 3) << "the job was scaled";
}

TEST(Judge, WritesAreCountedByWhoOwesThem) {
  TestLog log;
  TestPod pod = Worker("a", 0, "n0");
  log.agent = "kubectl/v1.34.4";
  log.Job(0, "a", 1);
  log.agent = "lockstep/0.1.0";
  log.Create(100, pod).Phase(200, pod, "Running").Phase(300, pod, "Succeeded");
  log.Add(400, "patch", "lockstep.dev/gangs", "pytorchjob-a", 200, {})
      .Add(410, "create", "events", "e", 201, {});
  Report report = log.Judged();
  EXPECT_EQ(report.writes.controllers(), 3);  // pod, gang, event; not the user's job
  EXPECT_EQ(report.writes.kubelet, 2);
  EXPECT_EQ(report.writes.others.at("patch gangs"), 1);
}

TEST(Judge, ARecordedLogOfKubeApiserverIsUnderstood) {
  // kube-apiserver 1.34.4 with tools/kube/audit-policy.yaml: a master and a worker that fail and are cleaned
  // up.
  std::ifstream log(std::string(kSourceDir) + "/tests/fuzz/corpus/log_reader/recorded.jsonl");
  Record record;
  ReadCounts read = ReadLog(log, record);
  EXPECT_EQ(read.events, 26);
  EXPECT_EQ(read.skipped, 0);
  Report report = Judge(record, {});
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.nodes, 4);
  EXPECT_EQ(report.creates, 2);
  EXPECT_EQ(report.writes.dry_run, 2);
  EXPECT_EQ(report.writes.kubelet, 4);
  ASSERT_THAT(report.gangs, SizeIs(1));
  EXPECT_TRUE(report.gangs[0].whole);
  EXPECT_EQ(report.gangs[0].job, "default/fails");
  EXPECT_TRUE(report.gangs[0].all_running);
  for (const PodRecord& pod : record.pods()) {
    EXPECT_TRUE(pod.ended) << pod.name;
    EXPECT_EQ(pod.requests.at("nvidia.com/gpu"), 1000);
  }
}

TEST(Report, SaysTheSameInBothForms) {
  TestLog log;
  log.Node(0, "n0", 1).Job(0, "a", 1).Create(100, Worker("a", 0, "n0")).Create(200, Worker("b", 0, "n0"));
  Report report = log.Judged();
  std::string text = ReportText(report, log.counts, /*gangs=*/true);
  EXPECT_THAT(text, HasSubstr("violations   1"));
  EXPECT_THAT(text, HasSubstr("OverCommit node n0"));
  EXPECT_THAT(text, HasSubstr("default/a  1        1 of 1  yes    0.11 s"));
  json::Doc doc = ReportDoc(report, log.counts);
  EXPECT_EQ(doc["violations"][0]["rule"], "OverCommit");
  EXPECT_EQ(doc["gangs"].size(), 2);
  EXPECT_EQ(doc["writes"]["perPod"], 1.0);
  EXPECT_NEAR(doc["secondsToAssigned"]["p50"].get<double>(), 0.11, 1e-9);
}

}  // namespace

}  // namespace lockstep::audit
