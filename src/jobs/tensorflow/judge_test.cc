#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "jobs/conditions.h"
#include "jobs/status.h"
#include "jobs/tensorflow/fixture.h"

namespace lockstep::jobs {
namespace {

using ::testing::ElementsAre;

// Failed, succeeded and active, in upstream's order.
RoleCounts Upstream(int32_t failed, int32_t succeeded, int32_t active) {
  return {.active = active, .succeeded = succeeded, .failed = failed};
}

struct UpstreamRow {
  const char* story;
  std::map<std::string, int32_t> replicas;
  const char* success_policy;
  RoleCounts ps, worker, chief;
  bool restart;  // restartPolicy ExitCode and exit code 130, else Never
  bool worker0_completed;
  const char* expected_type;  // upstream asks only that a condition of this type exists
  Verdict verdict;            // ours, and upstream's but where it says so
};

const std::map<std::string, int32_t> kOneWorker = {{"Worker", 1}}, kFourWorkers = {{"Worker", 4}},
                                     kServers = {{"Worker", 4}, {"PS", 2}},
                                     kSmallChief = {{"Chief", 1}, {"Worker", 1}},
                                     kChief = {{"Chief", 1}, {"Worker", 4}, {"PS", 2}};

// pkg/controller.v1/tensorflow/status_test.go, row by row.
std::vector<UpstreamRow> UpstreamRows() {
  const RoleCounts none = Upstream(0, 0, 0), both = Upstream(0, 0, 2);
  return {
      {"chief is succeeded", kSmallChief, "", none, Upstream(0, 1, 0), Upstream(0, 1, 0), false, false,
       "Succeeded", Verdict::kSucceeded},
      {"chief is running", kSmallChief, "", none, none, Upstream(0, 0, 1), false, false, "Running",
       Verdict::kGoesOn},
      {"chief is failed", kSmallChief, "", none, none, Upstream(1, 0, 0), false, false, "Failed",
       Verdict::kFailed},
      {"worker is failed", kOneWorker, "", none, Upstream(1, 0, 0), none, false, false, "Failed",
       Verdict::kFailed},
      {"worker is succeeded", kOneWorker, "", none, Upstream(0, 1, 0), none, false, false, "Succeeded",
       Verdict::kSucceeded},
      {"worker is running", kOneWorker, "", none, Upstream(0, 0, 1), none, false, false, "Running",
       Verdict::kGoesOn},
      {"2 workers are succeeded, 2 are active", kServers, "", both, Upstream(0, 2, 2), none, false, false,
       "Running", Verdict::kGoesOn},
      {"2 workers are running, 2 are failed", kServers, "", both, Upstream(2, 0, 2), none, false, false,
       "Failed", Verdict::kFailed},
      {"2 workers are succeeded, 2 are failed", kServers, "", both, Upstream(2, 2, 0), none, false, false,
       "Failed", Verdict::kFailed},
      {"worker 0 is succeeded, 3 are active", kServers, "", both, Upstream(0, 1, 3), none, false, true,
       "Succeeded", Verdict::kSucceeded},
      {"AllWorkers: worker 0 is succeeded, 3 are active", kFourWorkers, "AllWorkers", none, Upstream(0, 1, 3),
       none, false, true, "Running", Verdict::kGoesOn},
      {"AllWorkers: 4 are succeeded", kFourWorkers, "AllWorkers", none, Upstream(0, 4, 0), none, false, true,
       "Succeeded", Verdict::kSucceeded},
      {"AllWorkers: worker 0 is succeeded, 2 are running, 1 is failed", kFourWorkers, "AllWorkers", none,
       Upstream(1, 1, 2), none, false, true, "Failed", Verdict::kFailed},
      // Upstream's Running is False by then, and Failed is True.
      {"chief is running, workers are failed", kChief, "", both, Upstream(4, 0, 0), Upstream(0, 0, 1), false,
       false, "Running", Verdict::kFailed},
      {"chief is running, workers are succeeded", kChief, "", both, Upstream(0, 4, 0), Upstream(0, 0, 1),
       false, false, "Running", Verdict::kGoesOn},
      {"chief is running, a PS is failed", kChief, "", Upstream(1, 0, 1), Upstream(0, 4, 0),
       Upstream(0, 0, 1), false, false, "Failed", Verdict::kFailed},
      {"chief is failed, workers are succeeded", kChief, "", both, Upstream(0, 4, 0), Upstream(1, 0, 0),
       false, false, "Failed", Verdict::kFailed},
      // Upstream writes Failed too.
      {"chief is succeeded, workers are failed", kChief, "", both, Upstream(4, 0, 0), Upstream(0, 1, 0),
       false, false, "Succeeded", Verdict::kSucceeded},
      {"chief is failed and restarting", kChief, "", both, Upstream(4, 0, 0), Upstream(1, 0, 0), true, false,
       "Restarting", Verdict::kRestart},
  };
}

class UpstreamTable : public ::testing::TestWithParam<UpstreamRow> {
 protected:
  UpstreamTable() {
    const UpstreamRow& row = GetParam();
    object_ = TFJobDoc(row.replicas, row.restart ? "ExitCode" : "");
    if (*row.success_policy != '\0') object_["spec"]["successPolicy"] = row.success_policy;
  }

  std::vector<RoleCounts> CountsOfRow(const Job& job) const {
    const UpstreamRow& row = GetParam();
    std::vector<RoleCounts> counts;
    for (const Role& role : job.roles) {
      RoleCounts count = role.type == "PS" ? row.ps : role.type == "Worker" ? row.worker : row.chief;
      if (count.failed > 0) (row.restart ? count.retryable_failure : count.permanent_failure) = true;
      if (role.type == "Worker" && row.worker0_completed) count.first_succeeded = true;
      counts.push_back(count);
    }
    return counts;
  }

  // The status after `counts`, a second after the last.
  const json::Doc& Write(const std::vector<RoleCounts>& counts) {
    Job job = ReadValid(object_);
    api::GangStatus gang;
    gang.phase = api::GangPhase::kRunning;
    JobFacts facts{.gang = &gang, .counts = counts};
    facts.verdict = TensorFlow().Judge(job, counts, &facts.failed_role);
    verdict_ = facts.verdict;
    now_ += seconds(1);
    object_["status"] = NextStatus(job, facts, now_);
    return object_["status"];
  }

  json::Doc object_;
  Verdict verdict_ = Verdict::kGoesOn;
  WallTime now_ = *ParseTime("2026-03-01T12:00:00Z");
};

TEST_P(UpstreamTable, EndsAsUpstreams) {
  Job job = ReadValid(object_);
  std::vector<RoleCounts> all_run;
  for (const Role& role : job.roles) all_run.push_back(Counts(role.replicas, 0, 0));
  Write(all_run);
  const json::Doc& conditions = Write(CountsOfRow(job))["conditions"];
  EXPECT_EQ(verdict_, GetParam().verdict);
  EXPECT_NE(FindCondition(conditions, GetParam().expected_type), nullptr) << conditions;
  EXPECT_FALSE(IsTrue(conditions, "Succeeded") && IsTrue(conditions, "Failed"));
  EXPECT_EQ(IsTrue(conditions, "Running"), verdict_ == Verdict::kGoesOn);
}

INSTANTIATE_TEST_SUITE_P(StatusTest, UpstreamTable, ::testing::ValuesIn(UpstreamRows()),
                         [](const auto& info) { return "Row" + std::to_string(info.index + 1); });

// One job whose counts are written down by type; all pods that are not named run.
class Judged {
 public:
  explicit Judged(const json::Doc& object) : job(ReadValid(object)) {
    for (const Role& role : job.roles) counts.push_back(Counts(role.replicas, 0, 0));
  }
  RoleCounts& operator[](std::string_view type) { return counts[At(job, type)]; }
  Verdict verdict() { return TensorFlow().Judge(job, counts, &failed_role); }

  Job job;
  std::vector<RoleCounts> counts;
  size_t failed_role = 99;
};

json::Doc Full() { return TFJobDoc({{"Chief", 1}, {"Evaluator", 1}, {"PS", 2}, {"Worker", 3}}); }

TEST(TFJobJudge, EvaluatorsAndServersDecideNoSuccess) {
  Judged full(Full());
  full["Evaluator"] = Counts(0, 1, 0);
  full["PS"] = Counts(0, 2, 0);
  full["Worker"] = Counts(0, 3, 0);
  EXPECT_EQ(full.verdict(), Verdict::kGoesOn) << "the chief still works";
  full["Chief"] = Counts(0, 1, 0);
  EXPECT_EQ(full.verdict(), Verdict::kSucceeded);

  Judged no_chief(TFJobDoc({{"Evaluator", 1}, {"PS", 2}, {"Worker", 3}}));
  no_chief["Evaluator"] = Counts(0, 1, 0);
  no_chief["PS"] = Counts(0, 2, 0);
  EXPECT_EQ(no_chief.verdict(), Verdict::kGoesOn);
  no_chief["Worker"].first_succeeded = true;
  EXPECT_EQ(no_chief.verdict(), Verdict::kSucceeded) << "servers may run on: cleanPodPolicy ends them";
}

TEST(TFJobJudge, AFailedPodOfAnyTypeIsTheJobs) {
  for (const char* type : {"Chief", "Evaluator", "PS", "Worker"}) {
    Judged full(Full());
    full[type].active -= 1;
    full[type].failed = 1;
    full[type].retryable_failure = true;
    EXPECT_EQ(full.verdict(), Verdict::kRestart) << type;
    EXPECT_EQ(full.failed_role, At(full.job, type));
    full[type].permanent_failure = true;
    EXPECT_EQ(full.verdict(), Verdict::kFailed) << type;
  }
}

TEST(TFJobJudge, OfSeveralFailedTypesTheFirstInUpstreamsOrderIsNamed) {
  Judged full(Full());
  for (const char* type : {"Worker", "PS", "Evaluator"}) full[type] = Permanent(Counts(0, 0, 1));
  EXPECT_EQ(full.verdict(), Verdict::kFailed);
  EXPECT_EQ(full.job.roles[full.failed_role].type, "Evaluator");
}

TEST(TFJobJudge, AMasterIsAChiefByAnotherName) {
  Judged job(TFJobDoc({{"Master", 1}, {"Worker", 2}}));
  job["Worker"].first_succeeded = true;
  EXPECT_EQ(job.verdict(), Verdict::kGoesOn);
  job["Master"] = Counts(0, 1, 0);
  EXPECT_EQ(job.verdict(), Verdict::kSucceeded);
}

TEST(TFJobJudge, WithoutChiefAndWorkerAllPodsMustSucceed) {
  Judged servers(TFJobDoc({{"PS", 2}, {"Evaluator", 1}}));
  EXPECT_EQ(servers.verdict(), Verdict::kGoesOn);
  servers["Evaluator"] = Counts(0, 1, 0);
  EXPECT_EQ(servers.verdict(), Verdict::kGoesOn);
  servers["PS"] = Counts(0, 2, 0);
  EXPECT_EQ(servers.verdict(), Verdict::kSucceeded);
}

TEST(TFJobJudge, WithoutCountsKnowsNothing) {
  EXPECT_EQ(TensorFlow().Judge(ReadValid(Full()), {}, nullptr), Verdict::kGoesOn);
}

struct DynamicRow {
  const char* story;
  bool chief;
  const char* success_policy;
  RoleCounts workers;  // of three
  std::optional<bool> first_succeeded;
  Verdict verdict;
};

TEST(TFJobJudge, ADynamicJobGoesOnWhileItCanSucceed) {
  const RoleCounts lost = Permanent(Counts(2, 0, 1)), retry = Retryable(Counts(2, 0, 1));
  const DynamicRow rows[] = {
      {"worker 2 is lost", false, "", lost, {}, Verdict::kGoesOn},
      {"worker 0 is lost, which decides", false, "", lost, false, Verdict::kFailed},
      {"any worker is lost and all must succeed", false, "AllWorkers", lost, {}, Verdict::kFailed},
      {"worker 0 is lost, a chief decides", true, "", lost, false, Verdict::kGoesOn},
      {"a chief decides, whatever the policy", true, "AllWorkers", lost, false, Verdict::kGoesOn},
      {"all workers are lost, a chief decides", true, "", Permanent(Counts(0, 0, 3)), false,
       Verdict::kGoesOn},
      {"worker 0 is done, worker 1 lost", false, "", Permanent(Counts(1, 1, 1)), true, Verdict::kSucceeded},
      {"a worker that may be replaced", false, "", retry, {}, Verdict::kRestart},
      {"one that may and one that may not",
       true,
       "",
       Permanent(Retryable(Counts(1, 0, 2))),
       {},
       Verdict::kRestart},
  };
  for (const DynamicRow& row : rows) {
    json::Doc object = row.chief ? Full() : TFJobDoc({{"PS", 2}, {"Worker", 3}});
    object["spec"]["enableDynamicWorker"] = true;
    object["spec"]["successPolicy"] = row.success_policy;
    Judged job(object);
    job["Worker"] = row.workers;
    job["Worker"].first_succeeded = row.first_succeeded;
    EXPECT_EQ(job.verdict(), row.verdict) << row.story;
  }
}

TEST(TFJobJudge, ADynamicJobDoesNotGoOnWithoutAServer) {
  Judged job(With(Full(), "/spec/enableDynamicWorker", true));
  job["Worker"] = Permanent(Counts(2, 0, 1));
  job["PS"] = Permanent(Counts(1, 0, 1));
  EXPECT_EQ(job.verdict(), Verdict::kFailed);
  EXPECT_EQ(job.job.roles[job.failed_role].type, "PS");
}

RC_GTEST_PROP(TFJobJudge, NeverTakesBackASuccessOfTheChief, ()) {
  Judged full(Full());
  for (RoleCounts& count : full.counts) {
    count = Counts(*rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4));
    count.permanent_failure = *rc::gen::arbitrary<bool>();
    count.retryable_failure = *rc::gen::arbitrary<bool>();
  }
  full["Chief"] = Counts(0, 1, 0);
  RC_ASSERT(full.verdict() == Verdict::kSucceeded);
}

std::string MessageAfter(const json::Doc& object, const char* type, RoleCounts failed) {
  Judged job(object);
  job[type] = failed;
  JobFacts facts{.counts = job.counts};
  facts.verdict = TensorFlow().Judge(job.job, job.counts, &facts.failed_role);
  json::Doc status = NextStatus(job.job, facts, *ParseTime("2026-03-01T12:00:00Z"));
  return json::GetString(status["conditions"].back(), "message");
}

TEST(TFJobMessages, AreUpstreams) {
  Job job = ReadValid(Full());
  EXPECT_EQ(TensorFlow().RunningMessage(job), "TFJob ml/bert is running.");
  EXPECT_EQ(TensorFlow().SucceededMessage(job), "TFJob ml/bert successfully completed.");
  EXPECT_EQ(MessageAfter(Full(), "PS", Permanent(Counts(0, 0, 2))),
            "TFJob ml/bert has failed because 2 PS replica(s) failed.");
  json::Doc by_code = TFJobDoc({{"PS", 1}, {"Worker", 2}}, "ExitCode");
  EXPECT_EQ(MessageAfter(by_code, "Worker", Permanent(Counts(1, 0, 1))),
            "job \"bert\" is failing because \"Worker\" replica(s) failed.");
  EXPECT_EQ(MessageAfter(by_code, "Worker", Retryable(Counts(1, 0, 1))),
            "job bert is restarting because Worker replica(s) failed.");
}

TEST(TFJobStatus, CountsByTypeWithoutASelector) {
  Judged job(With(TFJobDoc({{"chief", 1}, {"Worker", 2}}), "/metadata/name", "bert"));
  job["Worker"] = Counts(1, 1, 0);
  api::GangStatus gang;
  gang.phase = api::GangPhase::kRunning;
  json::Doc status =
      NextStatus(job.job, {.gang = &gang, .counts = job.counts}, *ParseTime("2026-03-01T12:00:00Z"));
  EXPECT_EQ(status["replicaStatuses"],
            json::Doc({{"Chief", {{"active", 1}}}, {"Worker", {{"active", 1}, {"succeeded", 1}}}}));
  std::vector<std::string> reasons;
  for (const json::Doc& one : status["conditions"]) reasons.push_back(one["reason"]);
  EXPECT_THAT(reasons, ElementsAre("Placed", "TFJobCreated", "TFJobRunning"));
}

}  // namespace
}  // namespace lockstep::jobs
