#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/judge.h"
#include "audit/report.h"

namespace lockstep::audit {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a watch of a cluster shows, second by second since noon.
class TestWatch {
 public:
  TestWatch& Show(double at, const kube::Resource& resource, json::Doc object,
                  Sighting::What what = Sighting::What::kChanged) {
    record_.Take({&resource, what, std::make_shared<const json::Doc>(std::move(object)), Time(at)});
    return *this;
  }

  TestWatch& Node(double at, const std::string& name, int gpu) {
    json::Doc node = {{"metadata", {{"name", name}, {"uid", "uid-" + name}}}};
    node["status"]["allocatable"] = {{"nvidia.com/gpu", std::to_string(gpu)}, {"pods", "110"}};
    return Show(at, kube::kNodes, node, at == 0 ? Sighting::What::kListed : Sighting::What::kChanged);
  }

  Report JudgedAt(double at, Limits limits = {.excess_after = {}}) {
    record_.WatchedUntil(Time(at));
    return Judge(record_, limits);
  }

  static WallTime Time(double at) {
    return WallTime(seconds(1'772'366'400) + milliseconds(static_cast<int64_t>(at * 1000)));
  }

 private:
  Record record_;
};

json::Doc Pod(const std::string& name, const std::string& job, const std::string& node,
              const std::string& phase = "Pending") {
  json::Doc pod = {{"metadata",
                    {{"name", name},
                     {"namespace", "default"},
                     {"uid", "uid-" + name},
                     {"creationTimestamp", FormatTime(TestWatch::Time(-100))}}},
                   {"status", {{"phase", phase}}}};
  json::Doc container = {{"name", "main"}};
  container["resources"]["limits"]["nvidia.com/gpu"] = "1";
  pod["spec"]["containers"] = json::Doc::array({container});
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  if (!job.empty()) pod["metadata"]["labels"]["training.kubeflow.org/job-name"] = job;
  return pod;
}

std::vector<Rule> Rules(const Report& report) {
  std::vector<Rule> rules;
  for (const Violation& violation : report.violations) rules.push_back(violation.rule);
  return rules;
}

TEST(Watch, AGangThatStartsIsTimedFromItsFirstSight) {
  TestWatch watch;
  watch.Node(0, "n0", 2);
  for (const char* name : {"a-0", "a-1"}) watch.Show(1, kube::kPods, Pod(name, "a", ""));
  watch.Show(2, kube::kPods, Pod("a-0", "a", "n0")).Show(4, kube::kPods, Pod("a-1", "a", "n0"));
  for (const char* name : {"a-0", "a-1"}) watch.Show(5, kube::kPods, Pod(name, "a", "n0", "Running"));
  Report report = watch.JudgedAt(6);

  EXPECT_THAT(report.violations, IsEmpty());
  ASSERT_THAT(report.gangs, SizeIs(1));
  EXPECT_TRUE(report.gangs[0].whole);
  EXPECT_EQ(report.gangs[0].last_assigned - *report.gangs[0].submitted, seconds(3));
  EXPECT_EQ(*report.gangs[0].all_running - *report.gangs[0].submitted, seconds(4));
  EXPECT_DOUBLE_EQ(report.gpu_seconds_waiting, 2);
  // Two creates and two bindings are a controller's, the rest is the kubelet's.
  EXPECT_EQ(report.writes.others["create pods"], 2);
  EXPECT_EQ(report.writes.others["change pods"], 2);
  EXPECT_EQ(report.writes.kubelet, 2);
}

TEST(Watch, APartThatWasThereBeforeIsStuckSinceItsPodsWereScheduled) {
  TestWatch watch;
  watch.Node(0, "n0", 2);
  json::Doc held = Pod("a-0", "a", "n0", "Running");
  held["status"]["conditions"] = {{{"type", "PodScheduled"},
                                   {"status", "True"},
                                   {"lastTransitionTime", FormatTime(TestWatch::Time(-91))}}};
  watch.Show(0, kube::kPods, held, Sighting::What::kListed);
  watch.Show(0, kube::kPods, Pod("a-1", "a", ""), Sighting::What::kListed);
  Report report = watch.JudgedAt(10);

  EXPECT_THAT(Rules(report), ElementsAre(Rule::kStuckPart));
  EXPECT_THAT(report.violations[0].message, HasSubstr("default/a: 1 of 2 pods held nodes for 1m40s"));
  EXPECT_DOUBLE_EQ(report.gpu_seconds_waiting, 100);
  EXPECT_EQ(report.creates, 0);
  EXPECT_THAT(ReportText(report, {.watched = true}, false),
              HasSubstr("0 created for jobs, 2 were there before"));
}

TEST(Watch, AGangOfWhichAPodHadEndedBeforeIsNoPart) {
  TestWatch watch;
  json::Doc job = {{"metadata", {{"name", "j"}, {"namespace", "default"}, {"uid", "uid-j"}}},
                   {"spec", {{"parallelism", 8}}}};
  static const kube::Resource jobs{"batch", "v1", "jobs", "Job", true};
  watch.Show(0, jobs, job, Sighting::What::kListed);
  for (const char* phase : {"Running", "Succeeded"}) {
    json::Doc pod = Pod(phase, "", "n0", phase);
    pod["metadata"]["ownerReferences"] = {
        {{"kind", "Job"}, {"name", "j"}, {"uid", "uid-j"}, {"controller", true}}};
    watch.Show(0, kube::kPods, pod, Sighting::What::kListed);
  }
  Report report = watch.JudgedAt(1000);
  EXPECT_THAT(report.violations, IsEmpty());
  ASSERT_THAT(report.gangs, SizeIs(1));
  EXPECT_EQ(report.gangs[0].size, 8);
}

TEST(Watch, WhatANodeCarriedBeforeIsNobodysFaultUntilAPodComes) {
  TestWatch watch;
  watch.Node(0, "n0", 1);
  for (const char* name : {"a", "b"})
    watch.Show(0, kube::kPods, Pod(name, "", "n0"), Sighting::What::kListed);
  EXPECT_THAT(watch.JudgedAt(10).violations, IsEmpty());
  watch.Show(20, kube::kPods, Pod("c", "", "n0"));
  EXPECT_THAT(Rules(watch.JudgedAt(30)), ElementsAre(Rule::kOverCommit));
}

TEST(Watch, AnExcessThatTheKubeletEndsIsCountedAndNoViolation) {
  TestWatch watch;
  watch.Node(0, "n0", 1).Show(1, kube::kPods, Pod("a", "", "n0")).Show(2, kube::kPods, Pod("b", "", "n0"));
  watch.Show(3, kube::kPods, Pod("b", "", "n0", "Failed"));
  Report report = watch.JudgedAt(60, {.excess_after = seconds(5)});
  EXPECT_THAT(report.violations, IsEmpty());
  EXPECT_EQ(report.short_excesses, 1);
  EXPECT_EQ(report.longest_short_excess, seconds(1));
  EXPECT_THAT(Rules(watch.JudgedAt(60)), ElementsAre(Rule::kOverCommit));
}

TEST(Watch, ANodeThatGrowsEndsTheExcess) {
  TestWatch watch;
  watch.Node(0, "n0", 1).Show(10, kube::kPods, Pod("a", "", "n0")).Show(11, kube::kPods, Pod("b", "", "n0"));
  watch.Node(15, "n0", 2);
  EXPECT_THAT(watch.JudgedAt(60, {.excess_after = seconds(5)}).violations, IsEmpty());
  EXPECT_THAT(Rules(watch.JudgedAt(60, {.excess_after = seconds(2)})), ElementsAre(Rule::kOverCommit));
}

TEST(Watch, ANodeAndAPodAreSeenByTwoWatchesThatAreNotInStep) {
  TestWatch watch;
  watch.Node(0, "n0", 1).Show(10, kube::kPods, Pod("a", "", "n0")).Show(10, kube::kPods, Pod("b", "", "n0"));
  watch.Node(11, "n0", 2);  // it had grown before the second pod came, for all that one can know
  EXPECT_THAT(watch.JudgedAt(60).violations, IsEmpty());
}

TEST(Watch, TwoPodsOfOneRankAreSeen) {
  TestWatch watch;
  for (const char* name : {"a-0", "a-0-r2"}) {
    json::Doc pod = Pod(name, "a", "n0");
    pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] = "0";
    watch.Show(1, kube::kPods, pod);
  }
  EXPECT_THAT(Rules(watch.JudgedAt(2)), ElementsAre(Rule::kDoubledPod));
}

TEST(Watch, WhatWentWhileNobodyLookedEndedWhenItWasLastSeen) {
  TestWatch watch;
  watch.Node(0, "n0", 1).Show(1, kube::kPods, Pod("a", "", "n0"));
  json::Doc identity = {{"metadata", {{"name", "a"}, {"namespace", "default"}, {"uid", "uid-a"}}}};
  watch.Show(50, kube::kPods, Pod("b", "", "n0")).Show(50, kube::kPods, identity, Sighting::What::kVanished);
  EXPECT_THAT(watch.JudgedAt(60).violations, IsEmpty());
}

TEST(Watch, DeletionsAreCountedByWhoAskedForThem) {
  TestWatch watch;
  json::Doc pod = Pod("a", "a", "n0"), leaving = pod;
  leaving["metadata"]["deletionTimestamp"] = FormatTime(TestWatch::Time(2));
  watch.Show(1, kube::kPods, pod)
      .Show(2, kube::kPods, leaving)
      .Show(3, kube::kPods, leaving, Sighting::What::kGone);
  watch.Show(4, kube::kPods, Pod("b", "a", ""))
      .Show(5, kube::kPods, Pod("b", "a", ""), Sighting::What::kGone);
  Report report = watch.JudgedAt(6);
  EXPECT_EQ(report.writes.others["delete pods"], 2);
  EXPECT_EQ(report.writes.kubelet, 1);
}

TEST(Watch, TheReportSaysWhatAWatchCannotSee) {
  ReadCounts counts{.events = 3, .watched = true, .not_seen = {"jobs: forbidden"}};
  TestWatch watch;
  Report report = watch.Node(0, "n0", 1).JudgedAt(1);
  std::string text = ReportText(report, counts, /*gangs=*/false);
  EXPECT_THAT(text, HasSubstr("of watching"));
  EXPECT_THAT(text, HasSubstr("not seen     jobs: forbidden"));
  json::Doc doc = ReportDoc(report, counts);
  EXPECT_EQ(doc["source"], "watch");
  EXPECT_FALSE(doc["writes"].contains("refused"));
}

TEST(Watch, ObjectsOfTheWrongShapeAreAsIfEmpty) {
  TestWatch watch;
  for (const WatchedKind& kind : WatchedKinds()) {
    for (const json::Doc& wrong : {json::Doc(1), json::Doc("x"), json::Doc::array({1}), json::Doc(true)}) {
      for (auto what : {Sighting::What::kListed, Sighting::What::kChanged, Sighting::What::kGone,
                        Sighting::What::kVanished}) {
        watch.Show(1, *kind.resource, {{"metadata", wrong}, {"spec", wrong}, {"status", wrong}}, what);
        watch.Show(1, *kind.resource,
                   {{"metadata", {{"name", "x"}, {"uid", "u"}, {"labels", wrong}}},
                    {"spec", {{"roles", wrong}, {"xReplicaSpecs", wrong}}},
                    {"status", {{"allocatable", wrong}, {"conditions", wrong}}}},
                   what);
      }
    }
  }
  watch.JudgedAt(2);
}

}  // namespace

}  // namespace lockstep::audit
