#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jobs/pytorch/fixture.h"

namespace lockstep::jobs {
namespace {

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

RC_GTEST_PROP(Judge, NeverTakesBackASuccessOfTheMaster, ()) {
  Job job = ReadValid(JobDoc(3));
  RoleCounts workers = Counts(*rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4));
  workers.permanent_failure = *rc::gen::arbitrary<bool>();
  workers.retryable_failure = *rc::gen::arbitrary<bool>();
  const RoleCounts counts[] = {Counts(0, 1, 0), workers};
  RC_ASSERT(PyTorch().Judge(job, counts, nullptr) == Verdict::kSucceeded);
}

}  // namespace
}  // namespace lockstep::jobs
