#include "web/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace lockstep::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void UseAll(Metrics& metrics) {
  metrics.StepDone(Duration{200});
  metrics.ActionDone("create_pod", "ok");
  metrics.SetActionsInFlight(2);
  metrics.RequestDone("create", "pods", 201, milliseconds{3});
  metrics.WatchEnded("pods", "gone");
  metrics.SetQueueLength("default", 4);
  metrics.SetGangs("Running", 1);
  metrics.GangStarted(seconds{2});
  metrics.GangCommitted(milliseconds{900});
  metrics.SetLeader(true);
  metrics.Impossible("phase");
}

TEST(Metrics, CountsByLabel) {
  Metrics metrics("0.1.0");
  metrics.ActionDone("create_pod", "ok");
  metrics.ActionDone("create_pod", "ok");
  metrics.ActionDone("create_pod", "error");
  metrics.RequestDone("create", "pods", 409, milliseconds{30});
  std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("lockstep_actions_total{kind=\"create_pod\",result=\"ok\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("lockstep_actions_total{kind=\"create_pod\",result=\"error\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("code=\"409\""));
  EXPECT_THAT(text, HasSubstr("lockstep_build_info{version=\"0.1.0\"} 1\n"));
}

TEST(Metrics, GaugesFollowTheirValue) {
  Metrics metrics("0.1.0");
  metrics.SetLeader(true);
  metrics.SetQueueLength("default", 7);
  metrics.SetGangs("Queued", 3);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("lockstep_leader 1\n"),
                                    HasSubstr("lockstep_queue_length{queue=\"default\"} 7\n"),
                                    HasSubstr("lockstep_gangs{phase=\"Queued\"} 3\n")));
  metrics.SetLeader(false);
  metrics.SetQueueLength("default", 0);
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("lockstep_leader 0\n"),
                                    HasSubstr("lockstep_queue_length{queue=\"default\"} 0\n")));
}

TEST(Metrics, HistogramsAreInSeconds) {
  Metrics metrics("0.1.0");
  metrics.StepDone(Duration{200});
  metrics.GangStarted(seconds{20});
  std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("lockstep_step_duration_seconds_bucket{le=\"0.0001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("lockstep_step_duration_seconds_bucket{le=\"0.00025\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("lockstep_gang_start_duration_seconds_sum 20\n"));
  EXPECT_THAT(text, HasSubstr("lockstep_gang_start_duration_seconds_bucket{le=\"10\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("lockstep_gang_start_duration_seconds_bucket{le=\"30\"} 1\n"));
}

TEST(Metrics, AnyThreadMayCount) {
  Metrics metrics("0.1.0");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 500; ++n) metrics.ActionDone("x", "ok");
      EXPECT_FALSE(metrics.Text().empty());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(metrics.Text(), HasSubstr("lockstep_actions_total{kind=\"x\",result=\"ok\"} 2000\n"));
}

TEST(Metrics, SatisfyPromtool) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool is not installed (package prometheus)";
  }
  Metrics metrics("0.1.0");
  UseAll(metrics);
  FILE* promtool = popen("promtool check metrics 2>&1", "w");
  ASSERT_NE(promtool, nullptr);
  std::string text = metrics.Text();
  EXPECT_EQ(fwrite(text.data(), 1, text.size(), promtool), text.size());
  EXPECT_EQ(pclose(promtool), 0) << text;
}

}  // namespace
}  // namespace lockstep::web
