#include "cli/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/testing.h"

namespace lockstep::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ViewTest : public testing::Test {
 protected:
  void Seat(const std::string& job, int64_t queued) {
    api::GangStatus status;
    status.phase = api::GangPhase::kRunning;
    status.attempt = 1;
    build.Job(job, 2, {"Running=True"});
    build.Gang(job, 2, status, seconds(queued));
    build.Pod(job, 0, {"node-0"});
    build.Pod(job, 1, {"node-1"});
  }
  void Wait(const std::string& job, int64_t queued) {
    api::GangStatus status;
    status.reason = {"InsufficientResources", "needs 2 nvidia.com/gpu, 1 free"};
    build.Job(job, 2, {"Placed=False"});
    build.Gang(job, 2, status, seconds(queued));
  }
  std::string Drawn(const View& view, int height = 40) {
    std::string all;
    for (const std::string& line : Draw(view, {100, height, /*colour=*/false})) all += line + "\n";
    return all;
  }

  sim::Picture picture;
  sim::PictureBuilder build{picture};
  Viewer viewer;
};

TEST_F(ViewTest, ShowsWhoRunsWhoWaitsAndWhoseEachGpuIs) {
  for (int i = 0; i < 3; ++i) build.Node("node-" + std::to_string(i), 2);
  Wait("zebra", 1);
  Seat("ant", 0);
  build.ForeignPod("other", "node-2");

  View view = viewer.Look(picture);
  ASSERT_EQ(view.jobs.size(), 2u);
  EXPECT_EQ(view.jobs[0].name, "ant") << "in the order of the queue, without the shared namespace";
  EXPECT_EQ(view.jobs[0].running, 2);
  EXPECT_EQ(view.jobs[1].phase, "Queued");
  EXPECT_EQ(view.jobs[1].reason, "needs 2 nvidia.com/gpu, 1 free");
  EXPECT_EQ(view.unit, "nvidia.com/gpu");
  EXPECT_THAT(view.nodes[0].units, ElementsAre(view.jobs[0].colour, 0));
  EXPECT_THAT(view.nodes[2].units, ElementsAre(-1, 0));

  std::string drawn = Drawn(view);
  EXPECT_THAT(drawn, HasSubstr("1 running, 1 waiting, 0 done"));
  EXPECT_THAT(drawn, HasSubstr("ant                  Running     ##"));
  EXPECT_THAT(drawn, HasSubstr("needs 2 nvidia.com/gpu, 1 free"));
  EXPECT_THAT(drawn, HasSubstr("node-0 A."));
  EXPECT_THAT(drawn, HasSubstr("node-2 x."));
}

TEST_F(ViewTest, AJobKeepsItsColour) {
  build.Node("node-0", 1);
  Wait("b", 1);
  int colour = viewer.Look(picture).jobs[0].colour;
  Wait("a", 0);
  EXPECT_EQ(viewer.Look(picture).jobs[1].colour, colour);
}

// The same case as plain pods: two jobs of which each has one place and waits for the other's.
TEST_F(ViewTest, PlainPodsThatBlockEachOtherAreStuck) {
  build.Node("node-0", 1);
  build.Node("node-1", 1);
  for (const char* job : {"a", "b"}) {
    build.Pod(job, 0, {job == std::string("a") ? "node-0" : "node-1"});
    build.Pod(job, 1, {"", "Pending"});
  }

  View view = viewer.Look(picture);
  ASSERT_EQ(view.jobs.size(), 2u);
  EXPECT_TRUE(view.jobs[0].stuck && view.jobs[1].stuck);
  EXPECT_EQ(view.jobs[0].phase, "Stuck");
  EXPECT_EQ(view.jobs[0].reason, "1 pods hold their places and wait for 1 that find none");
  EXPECT_THAT(Drawn(view), HasSubstr("0 running, 0 waiting, 0 done, 2 stuck"));
}

TEST_F(ViewTest, FinishedJobsMakeRoom) {
  build.Node("node-0", 1);
  for (int i = 0; i < 60; ++i) {
    build.Job("done-" + std::to_string(i), 2, {"Succeeded=True"});
  }
  Wait("waits", 99);

  std::string drawn = Drawn(viewer.Look(picture), 24);
  EXPECT_LE(std::count(drawn.begin(), drawn.end(), '\n'), 24);
  EXPECT_THAT(drawn, HasSubstr("waits "));
  EXPECT_THAT(drawn, HasSubstr("more jobs"));
}

TEST_F(ViewTest, NothingHostileReachesTheTerminal) {
  build.Node("node-0", 1);
  api::GangStatus status;
  status.reason = {"X", "\x1b[2J\x07 gone"};
  build.Job("a", 1, {});
  build.Gang("a", 1, status);

  std::string drawn = Drawn(viewer.Look(picture));
  EXPECT_EQ(drawn.find('\x1b'), std::string::npos);
  EXPECT_THAT(drawn, HasSubstr("?[2J? gone"));
}

TEST_F(ViewTest, AnEmptyClusterIsNoCrash) {
  EXPECT_THAT(Drawn(viewer.Look(picture)), HasSubstr("0 running, 0 waiting, 0 done"));
}

}  // namespace
}  // namespace lockstep::cli
