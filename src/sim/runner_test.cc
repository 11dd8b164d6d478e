#include "sim/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulated_ground.h"

namespace lockstep::sim {
namespace {

using testing::HasSubstr;

struct Played {
  std::string error;  // "" if everything held
  std::vector<std::string> log;
  Duration took{};
};

Played Play(const std::string& text, uint64_t seed = 1) {
  Result<Scenario> scenario = ParseScenario("# A story.\n" + text, "story.scenario");
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  SimulatedGroundOptions options;
  options.seed = seed;
  SimulatedGround ground(options);
  EXPECT_FALSE(ground.Prepare());
  Played played;
  Runner runner(ground, *scenario, [&](const LogEntry& entry) {
    played.log.push_back(FormatDuration(entry.time) + " " + entry.text);
  });
  if (Outcome error = runner.Run()) played.error = error->message;
  played.took = runner.elapsed();
  return played;
}

constexpr char kTwoJobs[] =
    "cluster nodes=2 gpu=1\n"
    "at 0s submit pytorchjob a,b workers=2 gpu=1 runtime=10s\n"
    "at 3s crash operator\n"
    "at 4s start operator\n"
    "by 60s expect succeeded a,b\n";

TEST(Runner, PlaysAStoryToItsEnd) {
  Played played = Play(kTwoJobs);
  EXPECT_EQ(played.error, "");
  EXPECT_THAT(played.log, testing::Contains(HasSubstr("operator-1 crashes")));
  EXPECT_THAT(played.log, testing::Contains(HasSubstr("gang of b: Running, attempt 1")));
}

TEST(Runner, EqualSeedsGiveEqualRuns) {
  EXPECT_EQ(Play(kTwoJobs, 7).log, Play(kTwoJobs, 7).log);
  EXPECT_NE(Play(kTwoJobs, 7).log, Play(kTwoJobs, 8).log);
}

TEST(Runner, SaysWhatFailedWhereAndWhen) {
  std::string error = Play(
                          "cluster nodes=2 gpu=1\nat 0s submit pytorchjob a workers=2 gpu=1 runtime=10s\n"
                          "at 5s expect queued a because \"no seats\"\n")
                          .error;
  EXPECT_THAT(error,
              HasSubstr("story.scenario:4: expect queued a because \"no seats\": at 5s: a is not queued"));
  EXPECT_THAT(error, HasSubstr("STATE Running, gang Running, attempt 1"));
  EXPECT_THAT(error, HasSubstr("> submit pytorchjob a")) << "the log comes with it";
}

TEST(Runner, ByWaitsNoLongerThanItMust) {
  Played early = Play(
      "cluster nodes=1 gpu=1\nsubmit pytorchjob a workers=1 gpu=1 runtime=10s\n"
      "by 1000s expect succeeded a\ncrash operator\n");
  EXPECT_EQ(early.error, "");
  EXPECT_LT(early.took, seconds(11));

  std::string late = Play(
                         "cluster nodes=1 gpu=1\nsubmit pytorchjob a workers=1 gpu=1 runtime=10s\n"
                         "by 9s expect succeeded a\n")
                         .error;
  EXPECT_THAT(late, HasSubstr("at 9s: a has not succeeded"));
}

// Nobody resolves what a foreign pod took by force while the operator is away; when it is back, 60 s pass.
TEST(Runner, AViolationEndsTheStory) {
  std::string error = Play(
                          "cluster nodes=1 gpu=1\npod x,y gpu=1 node=node-0 runtime=forever\n"
                          "wait 1s\nset node-0 gpu=0\nwait 200s\n")
                          .error;
  EXPECT_THAT(error, HasSubstr("wait 200s"));
  EXPECT_THAT(error, HasSubstr("invariant 2: pods on node-0 take more nvidia.com/gpu than it has"));
}

TEST(Runner, NothingLeadsNowhere) {
  EXPECT_THAT(Play("crash leader\ncrash leader\n").error, HasSubstr("nobody leads"));
  EXPECT_THAT(Play("cordon node-7\n").error, HasSubstr("there is no node node-7"));
  EXPECT_THAT(Play("delete job x\n").error, HasSubstr("the API server says 404"));
  EXPECT_THAT(Play("submit manifest nowhere.yaml\n").error, HasSubstr("nowhere.yaml: can't be read"));
}

}  // namespace
}  // namespace lockstep::sim
