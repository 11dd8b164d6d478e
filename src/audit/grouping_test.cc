#include "audit/grouping.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace lockstep::audit {

namespace {

Membership Of(const std::string& text, const Grouping& grouping = {}) {
  json::Doc pod = json::Parse(text).value();
  return GangOf(kube::ParseMeta(pod), pod, grouping);
}

std::optional<int64_t> SizeOf(std::string_view resource, const std::string& spec) {
  return SizeOfOwner(resource, {{"spec", json::Parse(spec).value()}});
}

TEST(Grouping, PodGroupsOfEverySystemMakeGangs) {
  for (const char* mark :
       {R"("labels": {"scheduling.x-k8s.io/pod-group": "g"})",
        R"("labels": {"pod-group.scheduling.sigs.k8s.io": "g"})",
        R"("annotations": {"scheduling.k8s.io/group-name": "g"})",
        R"("annotations": {"scheduling.volcano.sh/group-name": "g"})",
        R"("annotations": {"gang.scheduling.koordinator.sh/name": "g"})",
        R"("labels": {"kueue.x-k8s.io/pod-group-name": "g"})", R"("labels": {"lockstep.dev/gang": "g"})"}) {
    Membership gang = Of(std::string(R"({"metadata": {"name": "p", "namespace": "ns", )") + mark + "}}");
    EXPECT_EQ(gang.key, "group ns/g") << mark;
    EXPECT_EQ(gang.name, "ns/g") << mark;
    EXPECT_FALSE(gang.size) << mark;
  }
  EXPECT_EQ(
      Of(R"({"metadata": {"namespace": "ns"}, "spec": {"schedulingGroup": {"podGroupName": "g"}}})").key,
      "group ns/g");
}

TEST(Grouping, APodMaySayTheSizeItself) {
  Membership gang = Of(R"({"metadata": {"namespace": "ns", "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                           "annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"}}})");
  EXPECT_EQ(gang.size, 4);
  for (const char* bad : {"", "x", "-1", "0", "4 "}) {
    std::string text = R"({"metadata": {"labels": {"lockstep.dev/gang": "g"},
                           "annotations": {"lockstep.dev/gang-size": ")";
    EXPECT_FALSE(Of(text + bad + "\"}}}").size) << bad;
  }
}

TEST(Grouping, AControllerThatIsSomeJobMakesAGang) {
  std::string owner = R"({"metadata": {"namespace": "ns", "ownerReferences":
      [{"kind": "KIND", "name": "o", "uid": "u", "controller": true}]LABELS}})";
  auto of = [&](const std::string& kind, const std::string& labels = "") {
    std::string text = owner;
    text.replace(text.find("KIND"), 4, kind).replace(text.find("LABELS"), 6, labels);
    return Of(text).key;
  };
  EXPECT_EQ(of("Job"), "u");
  EXPECT_EQ(of("PyTorchJob"), "u");
  EXPECT_EQ(of("ReplicaSet"), "");
  EXPECT_EQ(of("Anything", R"(, "labels": {"training.kubeflow.org/job-name": "j"})"), "u");
  // Several Jobs of one pod group are one gang; a pod of Lockstep's is its job's whatever its template says.
  EXPECT_EQ(of("Job", R"(, "labels": {"scheduling.x-k8s.io/pod-group": "g"})"), "group ns/g");
  EXPECT_EQ(
      of("PyTorchJob", R"(, "labels": {"scheduling.x-k8s.io/pod-group": "g", "lockstep.dev/attempt": "1"})"),
      "u");
}

TEST(Grouping, OwnersSayHowManyMustStartTogether) {
  EXPECT_EQ(SizeOf("pytorchjobs", R"({"pytorchReplicaSpecs": {"Master": {}, "Worker": {"replicas": 3}}})"),
            4);
  EXPECT_EQ(SizeOf("jobs", R"({"parallelism": 4, "completions": 2})"), 2);
  EXPECT_EQ(SizeOf("jobs", R"({"parallelism": 4})"), 4);
  EXPECT_EQ(SizeOf("jobs", R"({})"), 1);
  EXPECT_EQ(SizeOf("jobs", R"({"minAvailable": 3, "tasks": [{"replicas": 5}]})"), 3);  // Volcano's
  EXPECT_EQ(SizeOf("podgroups", R"({"minMember": 5})"), 5);
  EXPECT_EQ(SizeOf("podgroups", R"({"schedulingPolicy": {"gang": {"minCount": 6}}})"), 6);
  EXPECT_EQ(SizeOf("gangs", R"({"roles": [{"count": 4, "minCount": 2}, {"count": 1}]})"), 3);
  EXPECT_EQ(SizeOf("podgroups", R"({"minMember": -5})"), std::nullopt);
  EXPECT_EQ(SizeOf("pytorchjobs", R"({"xReplicaSpecs": {"A": {"replicas": 9223372036854775807}}})"),
            1'000'000);
}

TEST(Grouping, TheCompletionIndexOfAJobIsAnIndex) {
  json::Doc pod =
      json::Parse(R"({"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "3"}}})")
          .value();
  EXPECT_EQ(IndexOf(kube::ParseMeta(pod), {}), "3");
}

}  // namespace

}  // namespace lockstep::audit
