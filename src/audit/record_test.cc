#include "audit/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/testing.h"

namespace lockstep::audit {

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Record, AStatusMayBeLoggedBeforeTheCreateThatItFollows) {
  // A kubelet that is quick: the create's answer is still on its way.
  TestPod pod = Worker("a", 0, "n0");
  Record record = TestLog().Phase(105, pod, "Running").Create(100, pod).Read();
  ASSERT_THAT(record.pods(), SizeIs(1));
  EXPECT_TRUE(record.pods()[0].running);
  EXPECT_EQ(record.pods()[0].job, "uid-a");
}

TEST(Record, ANewPodOfTheSameNameEndsTheFormer) {
  TestPod first = Worker("a", 0, "n0"), second = first;
  second.uid = "another";
  Record record = TestLog().Create(100, first).Create(500, second).Read();
  ASSERT_THAT(record.pods(), SizeIs(2));
  EXPECT_TRUE(record.pods()[0].ended);
  EXPECT_FALSE(record.pods()[1].ended);
}

TEST(Record, AStatusOfTheFormerPodDoesNotTouchTheNewOne) {
  TestPod first = Worker("a", 0, "n0"), second = first;
  second.uid = "another";
  Record record = TestLog().Create(100, first).Create(500, second).Phase(510, first, "Failed").Read();
  EXPECT_FALSE(record.pods()[1].ended);
}

TEST(Record, WhatTheApiServerDeletesAtOnceHasEnded) {
  TestPod unassigned = Worker("a", 0, ""), forced = Worker("a", 1, "n0"), graceful = Worker("a", 2, "n0");
  TestLog log;
  for (const TestPod& pod : {unassigned, forced, graceful}) log.Create(100, pod);
  log.Delete(200, unassigned, 30)
      .Delete(210, forced, 30, {{"gracePeriodSeconds", 0}})
      .Delete(220, graceful, 30);
  Record record = log.Read();
  EXPECT_TRUE(record.pods()[0].ended);
  EXPECT_TRUE(record.pods()[1].ended);
  EXPECT_FALSE(record.pods()[2].ended);
  EXPECT_TRUE(record.pods()[2].leaving);
}

TEST(Record, ACreateWithoutAnAnswerIsKnownFromItsDelete) {
  TestPod pod = Worker("a", 0, "n0");
  Record record = TestLog().Create(100, pod, 504).Phase(200, pod, "Running").Delete(300, pod, 30).Read();
  ASSERT_THAT(record.pods(), SizeIs(1));
  EXPECT_EQ(record.pods()[0].job, "uid-a");
  EXPECT_FALSE(record.pods()[0].created);
}

TEST(Record, ACollectionIsDeletedItemByItem) {
  TestPod pod = Worker("a", 0, "n0");
  json::Doc item = {{"metadata", {{"name", pod.name()}, {"uid", pod.Uid()}}},
                    {"spec", {{"nodeName", "n0"}}},
                    {"status", {{"phase", "Succeeded"}}}};
  Record record =
      TestLog()
          .Create(100, pod)
          .Add(200, "deletecollection", "pods", "", 200, {}, {{"kind", "PodList"}, {"items", {item}}})
          .Read();
  ASSERT_THAT(record.pods(), SizeIs(1));
  EXPECT_TRUE(record.pods()[0].ended);
}

TEST(Record, OtherSystemsHaveTheirOwnLabels) {
  json::Doc pod = {{"kind", "Pod"},
                   {"metadata", {{"name", "p"}, {"labels", {{"volcano.sh/job-name", "v"}}}}}};
  TestLog log;
  log.Add(100, "create", "pods", "p", 201, pod, pod);
  EXPECT_EQ(log.Read().pods()[0].job, "");
  EXPECT_EQ(log.Read({.job_label = "volcano.sh/job-name"}).pods()[0].job, "default/v");
}

TEST(Record, RequestsOfInitContainersAndOverheadCount) {
  json::Doc pod = json::Parse(R"({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"overhead": {"cpu": "1"},
      "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "5"}}}],
      "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}})")
                      .value();
  EXPECT_EQ(TestLog().Add(0, "create", "pods", "p", 201, pod, pod).Read().pods()[0].requests.at("cpu"), 6000);
}

TEST(ReadLog, HostileLinesAreSkippedAndTheRestIsRead) {
  TestLog log;
  log.Raw("not JSON").Raw("{}").Raw("[1]").Raw("null").Raw("\"text\"").Raw("{\"kind\": \"Event\"");
  log.Raw(std::string(100'000, '[')).Raw("").Raw("   \r");
  log.Raw(
      R"({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete", "verb": "create"})");
  log.Create(100, Worker("a", 0, "n0"));
  Record record = log.Read();
  EXPECT_THAT(record.pods(), SizeIs(1));
  EXPECT_EQ(log.counts.events, 1);
  EXPECT_EQ(log.counts.skipped, 8);
  EXPECT_THAT(log.counts.first_error, HasSubstr("line 1: "));
}

TEST(ReadLog, FieldsOfTheWrongTypeAreAsIfAbsent) {
  TestLog log;
  for (const json::Doc& wrong :
       {json::Doc(1), json::Doc("x"), json::Doc::array(), json::Doc(true), json::Doc(-1e99)}) {
    log.Add(0, "create", "pods", "p", 201, wrong, wrong);
    log.Add(0, "create", "pods", "p", 201, {{"metadata", wrong}, {"spec", wrong}},
            {{"kind", "Pod"}, {"metadata", wrong}});
    log.Add(0, "patch", "pods/status", "p", 200, {{"metadata", wrong}, {"status", wrong}});
    log.Add(0, "delete", "pods", "p", 200, wrong, wrong);
    log.Add(0, "deletecollection", "pods", "", 200, wrong, {{"items", {wrong, wrong}}});
    log.Add(0, "create", "pods/binding", "p", 201, {{"target", wrong}});
    log.Add(0, "create", "nodes", "n", 201, {{"status", {{"allocatable", wrong}}}});
    log.Add(0, "patch", "nodes", "n", 200, {{"status", {{"allocatable", {{"cpu", wrong}}}}}});
    log.Add(0, "create", "kubeflow.org/pytorchjobs", "j", 201,
            {{"spec", {{"xReplicaSpecs", {{"Worker", wrong}}}}}});
    log.Add(0, "create", "kubeflow.org/pytorchjobs", "j", 201, {{"spec", wrong}}, wrong);
    log.Add(0, "create", "lockstep.dev/gangs", "g", 201,
            {{"spec", {{"job", {{"uid", "u"}}}, {"roles", {wrong}}}}});
  }
  Judge(log.Read(), {});
  EXPECT_EQ(log.counts.skipped, 0);
}

TEST(ReadLog, ALineThatIsTooLongIsNotKept) {
  TestLog log;
  log.Raw(std::string(5000, 'x')).Create(0, Worker("a", 0, "n0"));
  std::istringstream in(log.text);
  Record record;
  ReadCounts counts = ReadLog(in, record, /*max_line=*/4000);
  EXPECT_EQ(counts.skipped, 1);
  EXPECT_EQ(counts.first_error, "line 1: longer than 4000 bytes");
  EXPECT_THAT(record.pods(), SizeIs(1));
}

TEST(ReadLog, ALogThatIsBeingWrittenEndsInTheMiddleOfALine) {
  TestLog log;
  log.Create(0, Worker("a", 0, "n0")).Create(10, Worker("a", 1, "n0"));
  log.text.resize(log.text.size() - 40);
  EXPECT_THAT(log.Read().pods(), SizeIs(1));
  EXPECT_EQ(log.counts.skipped, 1);
}

TEST(ReadLog, AnEmptyLogHasNothing) {
  TestLog log;
  EXPECT_THAT(log.Read().pods(), IsEmpty());
  EXPECT_EQ(log.counts.events, 0);
}

TEST(Entry, ReadsAndEarlierStagesAreNoWrites) {
  std::string line =
      R"({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "STAGE", "verb": "VERB"})";
  for (auto [stage, verb] :
       {std::pair("RequestReceived", "create"), std::pair("ResponseComplete", "watch")}) {
    std::string text = line;
    text.replace(text.find("STAGE"), 5, stage).replace(text.find("VERB"), 4, verb);
    Result<std::optional<Entry>> entry = ParseEntry(text);
    ASSERT_TRUE(entry.ok()) << entry.error().message;
    EXPECT_FALSE(*entry);
  }
}

TEST(Entry, AKubeletIsKnownByItsUser) {
  Result<std::optional<Entry>> entry = ParseEntry(R"({"kind": "Event", "apiVersion": "audit.k8s.io/v1",
      "stage": "ResponseComplete", "verb": "delete", "userAgent": "anything/1", "user": {"groups": ["system:nodes"]},
      "objectRef": {"resource": "pods"}, "requestReceivedTimestamp": "2026-03-01T12:00:00Z",
      "stageTimestamp": "2026-03-01T12:00:01Z"})");
  ASSERT_TRUE(entry.ok() && *entry);
  EXPECT_EQ((*entry)->writer, Writer::kKubelet);
  EXPECT_EQ((*entry)->agent, "anything");
}

}  // namespace

}  // namespace lockstep::audit
