#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jobs/pytorch/fixture.h"

namespace lockstep::jobs {
namespace {

using kube::PodPhase;

RoleCounts Counts(int32_t active, int32_t succeeded, int32_t failed) {
  return {.active = active, .succeeded = succeeded, .failed = failed};
}

RoleCounts Retryable(RoleCounts counts) {
  counts.retryable_failure = true;
  return counts;
}

RoleCounts Permanent(RoleCounts counts) {
  counts.permanent_failure = true;
  return counts;
}

struct Row {
  const char* story;
  RoleCounts master, workers;  // of three workers
  Verdict verdict;
  size_t role = 99;
};

TEST(Judge, WithAMaster) {
  Job job = ReadValid(JobDoc(3));
  const Row rows[] = {
      {"nothing runs yet", Counts(0, 0, 0), Counts(0, 0, 0), Verdict::kGoesOn},
      {"all run", Counts(1, 0, 0), Counts(3, 0, 0), Verdict::kGoesOn},
      {"workers are done, the master is not", Counts(1, 0, 0), Counts(0, 3, 0), Verdict::kGoesOn},
      {"the master is done", Counts(0, 1, 0), Counts(3, 0, 0), Verdict::kSucceeded},
      {"all are done", Counts(0, 1, 0), Counts(0, 3, 0), Verdict::kSucceeded},
      {"the master is done, a worker failed for good", Counts(0, 1, 0), Permanent(Counts(2, 0, 1)),
       Verdict::kSucceeded},
      {"the master is done, a worker failed", Counts(0, 1, 0), Retryable(Counts(2, 0, 1)),
       Verdict::kSucceeded},
      {"a worker failed", Counts(1, 0, 0), Retryable(Counts(2, 0, 1)), Verdict::kRestart, 1},
      {"a worker failed for good", Counts(1, 0, 0), Permanent(Counts(2, 0, 1)), Verdict::kFailed, 1},
      {"the master failed", Retryable(Counts(0, 0, 1)), Counts(3, 0, 0), Verdict::kRestart, 0},
      {"the master failed for good", Permanent(Counts(0, 0, 1)), Counts(3, 0, 0), Verdict::kFailed, 0},
      {"the master may be replaced, a worker not", Retryable(Counts(0, 0, 1)), Permanent(Counts(2, 0, 1)),
       Verdict::kFailed, 1},
      {"both failed for good: the master is named", Permanent(Counts(0, 0, 1)), Permanent(Counts(2, 0, 1)),
       Verdict::kFailed, 0},
      {"one worker may be replaced, another not", Counts(1, 0, 0), Permanent(Retryable(Counts(1, 0, 2))),
       Verdict::kFailed, 1},
      {"a surplus failed pod beside a full role", Counts(1, 0, 0), Retryable(Counts(3, 0, 1)),
       Verdict::kGoesOn},
  };
  for (const Row& row : rows) {
    const RoleCounts counts[] = {row.master, row.workers};
    size_t role = 99;
    EXPECT_EQ(PyTorch().Judge(job, counts, &role), row.verdict) << row.story;
    EXPECT_EQ(role, row.role) << row.story;
  }
}

TEST(Judge, WithoutAMasterAllWorkersMustSucceed) {
  Job job = ReadValid(JobDoc(3, "", /*master=*/false));
  size_t role = 99;
  auto judge = [&](RoleCounts counts) { return PyTorch().Judge(job, {&counts, 1}, &role); };
  EXPECT_EQ(judge(Counts(3, 0, 0)), Verdict::kGoesOn);
  EXPECT_EQ(judge(Counts(1, 2, 0)), Verdict::kGoesOn);
  EXPECT_EQ(judge(Counts(0, 3, 0)), Verdict::kSucceeded);
  EXPECT_EQ(judge(Retryable(Counts(0, 2, 1))), Verdict::kRestart);
  EXPECT_EQ(judge(Permanent(Counts(0, 2, 1))), Verdict::kFailed);
}

TEST(Judge, WithAnElasticPolicyAnyWorkersSuccessEndsTheJob) {
  json::Doc object = JobDoc(3, "", /*master=*/false);
  object["spec"]["elasticPolicy"] = json::Doc::object();
  Job job = ReadValid(object);
  RoleCounts counts = Permanent(Counts(1, 1, 1));
  size_t role = 99;
  EXPECT_EQ(PyTorch().Judge(job, {&counts, 1}, &role), Verdict::kSucceeded);
}

TEST(Judge, AnElasticPolicyBesideAMasterChangesNothing) {
  json::Doc object = JobDoc(3);
  object["spec"]["elasticPolicy"] = json::Doc::object();
  const RoleCounts counts[] = {Counts(1, 0, 0), Counts(2, 1, 0)};
  EXPECT_EQ(PyTorch().Judge(ReadValid(object), counts, nullptr), Verdict::kGoesOn);
}

TEST(Judge, WithoutCountsKnowsNothing) {
  EXPECT_EQ(PyTorch().Judge(ReadValid(JobDoc(3)), {}, nullptr), Verdict::kGoesOn);
}

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

RC_GTEST_PROP(Judge, NeverTakesBackASuccessOfTheMaster, ()) {
  Job job = ReadValid(JobDoc(3));
  RoleCounts workers = Counts(*rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4));
  workers.permanent_failure = *rc::gen::arbitrary<bool>();
  workers.retryable_failure = *rc::gen::arbitrary<bool>();
  const RoleCounts counts[] = {Counts(0, 1, 0), workers};
  RC_ASSERT(PyTorch().Judge(job, counts, nullptr) == Verdict::kSucceeded);
}

TEST(Frameworks, AreFoundByTheirResource) {
  EXPECT_EQ(FrameworkOf(kube::kPyTorchJobs), AllFrameworks()[0]);
  EXPECT_EQ(FrameworkOf(kube::kPods), nullptr);
  EXPECT_EQ(PyTorch().container(), "pytorch");
}

}  // namespace
}  // namespace lockstep::jobs
