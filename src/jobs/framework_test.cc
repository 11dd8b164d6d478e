#include "jobs/framework.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ascii.h"
#include "jobs/pod.h"
#include "jobs/testing.h"

namespace lockstep::jobs {
namespace {

using kube::PodPhase;
using ::testing::NotNull;

struct CountRow {
  const char* policy;
  PodPhase phase;
  bool deleting;
  std::optional<int32_t> exit_code;
  RoleCounts counts;
};

TEST(CountPod, FollowsUpstream) {
  const RoleCounts retry = Retryable(Counts(0, 0, 1)), never = Permanent(Counts(0, 0, 1));
  const CountRow rows[] = {
      {"OnFailure", PodPhase::kPending, false, {}, Counts(0, 0, 0)},
      {"OnFailure", PodPhase::kPending, true, {}, Counts(0, 0, 0)},
      {"OnFailure", PodPhase::kUnknown, false, {}, Counts(0, 0, 0)},
      {"OnFailure", PodPhase::kRunning, false, {}, Counts(1, 0, 0)},
      {"OnFailure", PodPhase::kSucceeded, false, 0, Counts(0, 1, 0)},
      {"OnFailure", PodPhase::kSucceeded, true, 0, Counts(0, 1, 0)},
      {"OnFailure", PodPhase::kRunning, true, {}, retry},
      {"Never", PodPhase::kRunning, true, {}, never},
      {"Always", PodPhase::kFailed, false, 1, retry},
      {"OnFailure", PodPhase::kFailed, false, 1, retry},
      {"Never", PodPhase::kFailed, false, 137, never},
      {"Never", PodPhase::kFailed, false, {}, never},
      {"ExitCode", PodPhase::kFailed, false, 1, never},
      {"ExitCode", PodPhase::kFailed, false, 127, never},
      {"ExitCode", PodPhase::kFailed, false, 0, never},
      {"ExitCode", PodPhase::kFailed, false, 128, retry},
      {"ExitCode", PodPhase::kFailed, false, 137, retry},
      {"ExitCode", PodPhase::kFailed, false, {}, retry},
      {"ExitCode", PodPhase::kRunning, true, 1, retry},
  };
  for (const CountRow& row : rows) {
    RoleCounts counts;
    CountPod(counts, row.policy, row.phase, row.deleting, row.exit_code);
    EXPECT_EQ(counts, row.counts) << row.policy << " " << kube::PhaseText(row.phase) << " " << row.deleting
                                  << " " << row.exit_code.value_or(-1);
  }
}

TEST(Frameworks, AreFoundByTheirResourceAndByTheirNames) {
  EXPECT_EQ(FrameworkOf(kube::kPyTorchJobs), AllFrameworks()[0]);
  EXPECT_EQ(FrameworkOf(kube::kTFJobs), AllFrameworks()[1]);
  EXPECT_EQ(FrameworkOf(kube::kPods), nullptr);
  for (const char* word : {"tfjob", "TFJob", "tfjobs", "TFJOBS"}) {
    EXPECT_EQ(FrameworkNamed(word), FrameworkOf(kube::kTFJobs)) << word;
  }
  EXPECT_EQ(FrameworkNamed("pytorchjobs"), FrameworkOf(kube::kPyTorchJobs));
  for (const char* word : {"", "job", "tf", "tfjobss", "mpijob"})
    EXPECT_EQ(FrameworkNamed(word), nullptr) << word;
  EXPECT_EQ(FrameworkNames(), "pytorchjob or tfjob");
}

TEST(Kinds, NameEveryTypeInItsOwnSpelling) {
  for (const Framework* framework : AllFrameworks()) {
    const Kind& kind = framework->kind();
    for (std::string_view type : kind.types) {
      EXPECT_EQ(TypeOf(kind, type), type);
      EXPECT_EQ(TypeOf(kind, AsciiLower(type)), kind.any_case ? type : "") << type;
    }
    EXPECT_EQ(TypeOf(kind, ""), "");
    EXPECT_EQ(TypeOf(kind, "Worke"), "");
    EXPECT_EQ(TypeOf(kind, "Workers"), "");
    EXPECT_EQ(OperatorName(*framework), AsciiLower(kind.resource.kind) + "-controller");
  }
}

TEST(Kinds, FindTheRoleSpecsOrNothing) {
  const Kind& kind = FrameworkOf(kube::kTFJobs)->kind();
  json::Doc roles = {{"Worker", json::Doc::object()}};
  json::Doc object = {{"spec", {{"tfReplicaSpecs", roles}}}};
  ASSERT_THAT(RoleSpecs(kind, object), NotNull());
  EXPECT_EQ(*RoleSpecs(kind, object), roles);
  for (const char* text : {"{}", "[]", R"({"spec":3})", R"({"spec":[]})", R"({"spec":{"tfReplicaSpecs":[]}})",
                           R"({"spec":{"pytorchReplicaSpecs":{}}})"}) {
    EXPECT_EQ(RoleSpecs(kind, json::Doc::parse(text)), nullptr) << text;
  }
}

// Two roles of two pods each, whatever their kind.
Job TwoRoles() {
  Job job;
  job.roles = {{.type = "A", .replicas = 2}, {.type = "B", .replicas = 2}};
  return job;
}

struct FailureRow {
  RoleCounts a, b;
  Verdict verdict;
  size_t role = 99;
};

TEST(JudgeFailures, PutsTheFinalOnesFirst) {
  const RoleCounts fine = Counts(2, 0, 0), retry = Retryable(Counts(1, 0, 1)),
                   final = Permanent(Counts(1, 0, 1));
  const FailureRow rows[] = {
      {fine, fine, Verdict::kGoesOn},
      {Counts(1, 1, 0), Counts(0, 0, 0), Verdict::kGoesOn},
      {fine, retry, Verdict::kRestart, 1},
      {retry, retry, Verdict::kRestart, 0},
      {fine, final, Verdict::kFailed, 1},
      {retry, final, Verdict::kFailed, 1},
      {final, final, Verdict::kFailed, 0},
      {Permanent(retry), fine, Verdict::kFailed, 0},
      {Permanent(Counts(2, 0, 1)), fine, Verdict::kGoesOn},  // a surplus pod beside a full role
  };
  Job job = TwoRoles();
  for (const FailureRow& row : rows) {
    const RoleCounts counts[] = {row.a, row.b};
    size_t role = 99;
    EXPECT_EQ(JudgeFailures(job, counts, &role), row.verdict);
    EXPECT_EQ(role, row.role);
    EXPECT_EQ(JudgeFailures(job, counts, nullptr), row.verdict);
  }
}

TEST(Counts, AreFoundByType) {
  Job job = TwoRoles();
  const RoleCounts counts[] = {Counts(0, 2, 0), Counts(1, 1, 0)};
  EXPECT_EQ(CountsOf(job, counts, "B"), &counts[1]);
  EXPECT_EQ(CountsOf(job, counts, "C"), nullptr);
  EXPECT_TRUE(AllSucceeded(job, counts, "A"));
  EXPECT_FALSE(AllSucceeded(job, counts, "B"));
  EXPECT_FALSE(AllSucceeded(job, counts, "C"));
}

// What an edit adds to a running job comes with its next start.
TEST(Counts, OfARoleWithoutAPodAreNone) {
  Job job = TwoRoles();
  job.roles[0].replicas = 0;
  const RoleCounts counts[] = {Counts(0, 0, 0), Counts(2, 0, 0)};
  EXPECT_EQ(CountsOf(job, counts, "A"), nullptr);
  EXPECT_FALSE(AllSucceeded(job, counts, "A"));
}

TEST(Judge, IsNotToldBySuchARole) {
  for (const auto& [kind, chief] :
       {std::pair(&kube::kPyTorchJobs, "Master"), std::pair(&kube::kTFJobs, "Chief")}) {
    Job job = TwoRoles();
    job.framework = FrameworkOf(*kind);
    job.spec = std::make_shared<json::Doc>(json::Doc::object());
    job.roles[0] = {.type = chief, .replicas = 0};
    job.roles[1].type = "Worker";
    const RoleCounts counts[] = {Counts(0, 0, 0), Counts(2, 0, 0)};
    EXPECT_EQ(job.framework->Judge(job, counts, nullptr), Verdict::kGoesOn) << kind->kind;
  }
}

}  // namespace
}  // namespace lockstep::jobs
