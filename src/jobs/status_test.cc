#include "jobs/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/conditions.h"
#include "jobs/pytorch/fixture.h"

namespace lockstep::jobs {
namespace {

using api::GangPhase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One job whose status is written again and again, a second apart, as its gang goes on.
class Story {
 public:
  explicit Story(json::Doc object) : object_(std::move(object)) {}

  Story& Gang(GangPhase phase, api::GangReason reason = {}) {
    gang_.phase = phase;
    gang_.reason = std::move(reason);
    has_gang_ = true;
    if (phase == GangPhase::kPlacing) ++gang_.attempt;
    return Write();
  }
  Story& Pods(RoleCounts master, RoleCounts workers) {
    counts_ = {master, workers};
    return Write();
  }
  Story& Suspend(bool suspend) {
    object_["spec"]["runPolicy"]["suspend"] = suspend;
    return Write();
  }
  Story& Fail(std::string message) {
    failure_ = std::move(message);
    return Write();
  }

  Story& Write() {
    now_ += seconds(1);
    json::Doc next = Next();
    object_["status"] = next;
    // Unchanged facts give an equal document, also later.
    now_ += seconds(1);
    EXPECT_EQ(Next(), next);
    return *this;
  }

  const json::Doc& status() const { return object_["status"]; }
  // "Type=Status Reason" of each condition.
  std::vector<std::string> Conditions() const {
    std::vector<std::string> list;
    for (const json::Doc& one : object_["status"]["conditions"]) {
      list.push_back(json::GetString(one, "type") + "=" + json::GetString(one, "status") + " " +
                     json::GetString(one, "reason"));
    }
    return list;
  }
  std::string Message(const std::string& type) const {
    return json::GetString(*FindCondition(object_["status"]["conditions"], type), "message");
  }
  std::string Time(const std::string& type, const char* field) const {
    return json::GetString(*FindCondition(object_["status"]["conditions"], type), field);
  }
  std::string State() const { return object_["status"]["conditions"].back()["type"]; }

 private:
  json::Doc Next() const {
    Job job = ReadValid(object_);
    JobFacts facts{.gang = has_gang_ ? &gang_ : nullptr, .counts = counts_};
    facts.verdict = PyTorch().Judge(job, counts_, &facts.failed_role);
    if (!failure_.empty()) {
      facts.verdict = Verdict::kFailed;
      facts.failure = failure_;
    }
    return NextStatus(job, facts, now_);
  }

  json::Doc object_;
  api::GangStatus gang_;
  bool has_gang_ = false;
  std::vector<RoleCounts> counts_;
  std::string failure_;
  WallTime now_ = *ParseTime("2026-03-01T12:00:00Z");
};

TEST(Status, OfAJobThatWaitsRunsAndSucceeds) {
  Story bert(JobDoc(3));
  bert.Write();
  EXPECT_THAT(bert.Conditions(), ElementsAre("Created=True PyTorchJobCreated"));
  EXPECT_EQ(bert.Message("Created"), "PyTorchJob bert is created.");

  bert.Gang(GangPhase::kQueued, {"NoSeats", "needs 8 nvidia.com/gpu, 0 free"});
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=False NoSeats", "Created=True PyTorchJobCreated"));
  EXPECT_EQ(bert.Message("Placed"), "needs 8 nvidia.com/gpu, 0 free");
  EXPECT_EQ(bert.State(), "Created") << "STATE stays as upstream's";
  EXPECT_FALSE(bert.status().contains("startTime")) << "a deadline must not run while the gang waits";

  bert.Gang(GangPhase::kPlacing);
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated"));
  EXPECT_EQ(bert.Message("Placed"), "4 pods, attempt 1");
  EXPECT_TRUE(bert.status().contains("startTime"));

  bert.Gang(GangPhase::kStarting).Pods({.active = 1}, {.active = 2});
  EXPECT_EQ(bert.State(), "Created") << "running means that the gang runs";
  bert.Gang(GangPhase::kRunning).Pods({.active = 1}, {.active = 3});
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                                             "Running=True PyTorchJobRunning"));
  EXPECT_EQ(bert.Message("Running"), "PyTorchJob bert is running.");
  EXPECT_EQ(bert.status()["replicaStatuses"]["Worker"]["active"], 3);
  EXPECT_FALSE(bert.status().contains("completionTime"));

  bert.Pods({.succeeded = 1}, {.active = 2, .succeeded = 1});
  EXPECT_THAT(bert.Conditions(),
              ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                          "Running=False PyTorchJobRunning", "Succeeded=True PyTorchJobSucceeded"));
  EXPECT_EQ(bert.Message("Succeeded"), "PyTorchJob bert is successfully completed.");
  EXPECT_TRUE(bert.status().contains("completionTime"));
  EXPECT_EQ(bert.status()["replicaStatuses"]["Worker"]["succeeded"], 3)
      << "active is folded in, as upstream does";
  EXPECT_FALSE(bert.status()["replicaStatuses"]["Worker"].contains("active"));

  json::Doc end = bert.status();
  bert.Pods({}, {.failed = 3}).Gang(GangPhase::kQueued);
  EXPECT_EQ(bert.status(), end) << "a success that was seen is final";
  EXPECT_FALSE(end.contains("lastReconcileTime"));
}

TEST(Status, OfAJobWithoutAMasterNamesItWithItsNamespace) {
  Story solo(JobDoc(2, "", /*master=*/false));
  solo.Gang(GangPhase::kRunning);
  EXPECT_EQ(solo.Message("Running"), "PyTorchJob ml/bert is running.");
}

TEST(Status, OfARestart) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning).Pods({.active = 1}, {.active = 3});
  bert.Pods({.active = 1}, {.active = 2, .failed = 1, .retryable_failure = true});
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                                             "Restarting=True PyTorchJobRestarting"))
      << "Restarting removes Running";
  EXPECT_EQ(bert.Message("Restarting"), "job bert is restarting because Worker replica(s) failed.");

  bert.Gang(GangPhase::kRestarting, {"Restarting", "waits for 3 old pods"}).Pods({}, {});
  EXPECT_EQ(bert.Message("Restarting"), "job bert is restarting because Worker replica(s) failed.")
      << "the first message stays";
  bert.Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning).Pods({.active = 1}, {.active = 3});
  EXPECT_EQ(bert.Message("Placed"), "4 pods, attempt 2");
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                                             "Running=True PyTorchJobRunning"))
      << "Running removes Restarting";
}

TEST(Status, OfARestartWhoseFailedPodIsGoneAlready) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning);
  bert.Gang(GangPhase::kRestarting, {"RankFailed", "Worker 2 failed with exit code 137"});
  EXPECT_EQ(bert.State(), "Restarting");
  EXPECT_THAT(bert.Message("Restarting"), HasSubstr("Worker 2 failed with exit code 137"));
}

TEST(Status, OfAJobThatSucceedsStraightAfterARestart) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kRunning).Pods({.active = 1}, {.failed = 1, .retryable_failure = true});
  bert.Pods({}, {}).Gang(GangPhase::kStarting).Pods({.succeeded = 1}, {.active = 3});
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                                             "Succeeded=True PyTorchJobSucceeded"));
}

TEST(Status, OfAFailure) {
  Story bert(JobDoc(3, "Never"));
  bert.Gang(GangPhase::kRunning);
  bert.Pods({.active = 1}, {.active = 1, .failed = 2, .permanent_failure = true});
  EXPECT_THAT(bert.Conditions(),
              ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                          "Running=False PyTorchJobRunning", "Failed=True PyTorchJobFailed"));
  EXPECT_EQ(bert.Message("Failed"), "PyTorchJob bert is failed because 2 Worker replica(s) failed.");
  EXPECT_TRUE(bert.status().contains("completionTime"));
  EXPECT_EQ(bert.status()["replicaStatuses"]["Worker"]["failed"], 2);
  EXPECT_EQ(bert.status()["replicaStatuses"]["Master"]["active"], 1);
  json::Doc end = bert.status();
  bert.Pods({.succeeded = 1}, {.succeeded = 3});
  EXPECT_EQ(bert.status(), end) << "never both";
}

TEST(Status, OfAPermanentExitCodeHasUpstreamsMessageAndACompletionTime) {
  Story bert(JobDoc(3, "ExitCode"));
  bert.Gang(GangPhase::kRunning).Pods({.active = 1}, {.active = 2, .failed = 1, .permanent_failure = true});
  EXPECT_EQ(bert.Message("Failed"), "job \"bert\" is failing because \"Worker\" replica(s) failed.");
  EXPECT_TRUE(bert.status().contains("completionTime"));
}

TEST(Status, OfAFailureForAnotherCause) {
  Story bert(JobDoc(3));
  bert.Fail("Job bert has failed because it has reached the specified backoff limit");
  EXPECT_EQ(bert.State(), "Failed");
  EXPECT_EQ(bert.Message("Failed"), "Job bert has failed because it has reached the specified backoff limit");
  EXPECT_TRUE(bert.status().contains("completionTime"));
  EXPECT_TRUE(bert.status().contains("startTime"));
}

TEST(Status, OfAStartThatWasUndoneIsNotRunning) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning);
  bert.Gang(GangPhase::kQueued, {"NoSeats", "waits"});
  EXPECT_THAT(bert.Conditions(), ElementsAre("Placed=False NoSeats", "Created=True PyTorchJobCreated"));
}

TEST(Status, KeepsTheReasonOfTheWaitTrue) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kQueued, {"NoSeats", "a holds 8"});
  std::string since = bert.Time("Placed", "lastTransitionTime"),
              updated = bert.Time("Placed", "lastUpdateTime");
  bert.Gang(GangPhase::kChecking, {"NoSeats", "b holds 8"});
  EXPECT_EQ(bert.Message("Placed"), "b holds 8");
  EXPECT_EQ(bert.Time("Placed", "lastTransitionTime"), since) << "still False";
  EXPECT_NE(bert.Time("Placed", "lastUpdateTime"), updated);
}

// The orders that upstream's suites assert, behind our Placed.
TEST(Status, OfAJobCreatedSuspended) {
  Story bert(JobDoc(3));
  bert.Suspend(true);
  EXPECT_THAT(bert.Conditions(),
              ElementsAre("Created=True PyTorchJobCreated", "Suspended=True PyTorchJobSuspended"));
  EXPECT_EQ(bert.Message("Suspended"), "PyTorchJob bert is suspended.");
  EXPECT_FALSE(bert.status().contains("startTime"));
}

TEST(Status, OfAJobSuspendedWhileRunningAndResumed) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning).Pods({.active = 1}, {.active = 3});
  std::string start = bert.status()["startTime"];
  bert.Suspend(true).Pods({}, {}).Gang(GangPhase::kQueued, {"Suspended", "the job is suspended"});
  EXPECT_THAT(bert.Conditions(),
              ElementsAre("Placed=False Suspended", "Created=True PyTorchJobCreated",
                          "Running=False PyTorchJobSuspended", "Suspended=True PyTorchJobSuspended"));
  EXPECT_EQ(bert.status()["startTime"], start) << "kept until the job is resumed";

  bert.Suspend(false).Gang(GangPhase::kPlacing).Gang(GangPhase::kRunning);
  EXPECT_THAT(bert.Conditions(),
              ElementsAre("Placed=True Placed", "Created=True PyTorchJobCreated",
                          "Suspended=False PyTorchJobResumed", "Running=True PyTorchJobRunning"));
  EXPECT_EQ(bert.Message("Suspended"), "PyTorchJob bert is resumed.");
  EXPECT_NE(bert.status()["startTime"], start);
}

TEST(Status, HasASelectorForTheScaleSubresource) {
  Story bert(JobDoc(3));
  bert.Gang(GangPhase::kPlacing);
  EXPECT_EQ(bert.status()["replicaStatuses"]["Worker"]["selector"],
            "training.kubeflow.org/job-name=bert,training.kubeflow.org/operator-name=pytorchjob-controller,"
            "training.kubeflow.org/replica-type=worker");
}

TEST(Status, ThatUpstreamLeftIsTakenOver) {
  json::Doc object = JobDoc(3);
  object["status"] = json::Doc::parse(R"({
    "conditions": [{"type": "Created", "status": "True", "reason": "PyTorchJobCreated",
                    "message": "PyTorchJob bert is created.", "lastTransitionTime": "2026-01-01T00:00:00Z"},
                   {"type": "Running", "status": "True", "reason": "PyTorchJobRunning", "message": "old"}],
    "startTime": "2026-01-01T00:00:05Z", "lastReconcileTime": "2026-01-01T00:00:09Z", "unknown": 1})");
  Story bert(object);
  bert.Gang(GangPhase::kRunning);
  EXPECT_EQ(bert.status()["startTime"], "2026-01-01T00:00:05Z");
  EXPECT_EQ(bert.status()["unknown"], 1);
  EXPECT_EQ(bert.Message("Running"), "old") << "same type, status and reason change nothing";
  EXPECT_EQ(bert.Time("Created", "lastTransitionTime"), "2026-01-01T00:00:00Z");
}

TEST(Status, OfGarbageIsReplaced) {
  for (const char* text : {R"("x")", R"([])", R"({"conditions":"none"})", R"({"conditions":[1,null,{}]})",
                           R"({"conditions":{"a":1},"replicaStatuses":3})"}) {
    json::Doc object = JobDoc(1);
    object["status"] = json::Doc::parse(text);
    Story bert(object);
    bert.Gang(GangPhase::kPlacing);
    EXPECT_EQ(bert.State(), "Created") << text;
  }
}

TEST(InvalidStatus, FailsTheJobWithEveryError) {
  InvalidJob job{.errors = {"spec.a: must be 1, is 2", "spec.b: must be set"}};
  job.meta.name = "bert";
  json::Doc status = InvalidStatus(PyTorch(), job, WallTime{});
  ASSERT_EQ(status["conditions"].size(), 2u);
  EXPECT_EQ(status["conditions"][0]["type"], "Created");
  EXPECT_EQ(status["conditions"][1]["type"], "Failed");
  EXPECT_EQ(status["conditions"][1]["reason"], "PyTorchJobFailedValidation");
  EXPECT_EQ(status["conditions"][1]["message"],
            "PyTorchJob bert failed validation because spec.a: must be 1, is 2; spec.b: must be set");
  EXPECT_TRUE(status.contains("completionTime"));
  EXPECT_TRUE(Finished(status));
  job.status = std::make_shared<json::Doc>(status);
  EXPECT_EQ(InvalidStatus(PyTorch(), job, WallTime{} + hours(1)), status);
}

TEST(InvalidStatus, IsBounded) {
  InvalidJob job;
  job.errors.assign(200, std::string(500, 'x'));
  std::string message = InvalidStatus(PyTorch(), job, WallTime{})["conditions"][1]["message"];
  EXPECT_LT(message.size(), 9000u);
  EXPECT_THAT(message, HasSubstr("more"));
}

TEST(Finished, NeedsATrueCondition) {
  EXPECT_FALSE(Finished(json::Doc::object()));
  EXPECT_FALSE(Finished(json::Doc::parse(R"({"conditions":[{"type":"Failed","status":"False"}]})")));
  EXPECT_TRUE(Finished(json::Doc::parse(R"({"conditions":[{"type":"Failed","status":"True"}]})")));
  EXPECT_TRUE(
      Finished(json::Doc::parse(R"({"conditions":[{"type":"Succeeded","status":"True"},{"type":"X"}]})")));
}

}  // namespace
}  // namespace lockstep::jobs
