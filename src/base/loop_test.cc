#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/real_loop.h"
#include "base/virtual_loop.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(VirtualLoop, StartsAtItsEpochAndStandsStill) {
  VirtualLoop loop;
  EXPECT_EQ(FormatTime(loop.now().wall), "2026-01-01T00:00:00Z");
  EXPECT_EQ(loop.elapsed(), Duration{0});
  EXPECT_FALSE(loop.RunOne());
  EXPECT_EQ(loop.elapsed(), Duration{0});
}

TEST(VirtualLoop, RunsInOrderOfTimeThenOfCall) {
  VirtualLoop loop;
  std::vector<std::string> ran;
  auto note = [&](std::string what) { return [&ran, what] { ran.push_back(what); }; };
  loop.After(seconds{2}, note("late"));
  loop.After(seconds{1}, note("early, first"));
  loop.After(seconds{1}, note("early, second"));
  loop.Post(note("at once"));
  loop.RunFor(seconds{10});
  EXPECT_THAT(ran, ElementsAre("at once", "early, first", "early, second", "late"));
  EXPECT_EQ(loop.elapsed(), seconds{10});
}

TEST(VirtualLoop, BothClocksJumpTogether) {
  VirtualLoop loop;
  Now start = loop.now(), seen{};
  loop.After(hours{1}, [&] { seen = loop.now(); });
  EXPECT_TRUE(loop.RunOne());
  EXPECT_EQ(seen.mono - start.mono, hours{1});
  EXPECT_EQ(seen.wall - start.wall, hours{1});
}

TEST(VirtualLoop, ATimerInThePastRunsNow) {
  VirtualLoop loop;
  loop.RunFor(seconds{5});
  Duration when{};
  loop.At(MonoTime{} + seconds{1}, [&] { when = loop.elapsed(); });
  EXPECT_TRUE(loop.RunOne());
  EXPECT_EQ(when, seconds{5});
}

TEST(VirtualLoop, TasksPostedByATaskComeAfterThoseThatWait) {
  VirtualLoop loop;
  std::vector<int> ran;
  loop.Post([&] {
    ran.push_back(1);
    loop.Post([&] { ran.push_back(3); });
  });
  loop.Post([&] { ran.push_back(2); });
  loop.RunFor(Duration{0});
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST(VirtualLoop, CancelledTimersDoNotRun) {
  VirtualLoop loop;
  int ran = 0;
  Loop::TimerId timer = loop.After(seconds{1}, [&] { ++ran; });
  Loop::TimerId fired = loop.After(Duration{0}, [&] { ++ran; });
  loop.RunOne();
  loop.Cancel(fired);  // after it ran: nothing to do
  loop.Cancel(timer);
  loop.Cancel(timer);  // twice does no harm
  loop.RunFor(seconds{2});
  EXPECT_EQ(ran, 1);
}

TEST(VirtualLoop, RunUntilTrueStopsAtTheTask) {
  VirtualLoop loop;
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    loop.After(seconds{1}, tick);
  };
  loop.Post(tick);
  EXPECT_TRUE(loop.RunUntilTrue([&] { return ticks == 5; }, seconds{60}));
  EXPECT_EQ(loop.elapsed(), seconds{4});
  EXPECT_FALSE(loop.RunUntilTrue([&] { return ticks == 100; }, seconds{10}));
  EXPECT_EQ(ticks, 15);
}

TEST(Timer, IsReplacedStoppedAndGoesWithItsOwner) {
  VirtualLoop loop;
  std::vector<std::string> ran;
  {
    Timer timer(loop);
    EXPECT_FALSE(timer.armed());
    timer.SetAfter(seconds{1}, [&] { ran.push_back("replaced"); });
    timer.SetAfter(seconds{2}, [&] { ran.push_back("fired"); });
    EXPECT_TRUE(timer.armed());
    loop.RunFor(seconds{3});
    EXPECT_FALSE(timer.armed());
    timer.SetAfter(seconds{1}, [&] { ran.push_back("stopped"); });
    timer.Stop();
    timer.SetAfter(seconds{1}, [&] { ran.push_back("orphan"); });
  }
  loop.RunFor(seconds{5});
  EXPECT_THAT(ran, ElementsAre("fired"));
}

TEST(Timer, MaySetItselfAgain) {
  VirtualLoop loop;
  Timer timer(loop);
  int ticks = 0;
  std::function<void()> tick = [&] {
    if (++ticks < 3) timer.SetAfter(seconds{1}, tick);
  };
  timer.SetAfter(seconds{1}, tick);
  loop.RunFor(seconds{10});
  EXPECT_EQ(ticks, 3);
}

// Real time passes below, but only as long as it takes for the awaited fact to come true; the limits are
// there to fail instead of hanging.
constexpr Duration kHangGuard = minutes{2};

TEST(ReadClocks, NeverGoesBack) {
  Now before = ReadClocks();
  Now after = ReadClocks();
  EXPECT_GE(after.mono, before.mono);
  EXPECT_GT(before.wall, WallTime{seconds{1704067200}});  // 2024
}

TEST(RealLoop, RunsTasksOfOtherThreadsInOrder) {
  RealLoop loop;
  std::vector<int> ran;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) loop.Post([&ran, i] { ran.push_back(i); });
  });
  EXPECT_TRUE(loop.RunUntilTrue([&] { return ran.size() == 100; }, kHangGuard));
  other.join();
  EXPECT_TRUE(std::ranges::is_sorted(ran));
}

TEST(RealLoop, TimersFireInOrderAndNotEarly) {
  RealLoop loop;
  std::vector<int> ran;
  MonoTime start = loop.now().mono, fired{};
  loop.At(start + milliseconds{20}, [&] {
    ran.push_back(2);
    fired = loop.now().mono;
  });
  loop.At(start + milliseconds{1}, [&] { ran.push_back(1); });
  EXPECT_TRUE(loop.RunUntilTrue([&] { return ran.size() == 2; }, kHangGuard));
  EXPECT_THAT(ran, ElementsAre(1, 2));
  EXPECT_GE(fired, start + milliseconds{20});
}

TEST(RealLoop, SeesTheFactRightAfterTheTimerThatMadeItTrue) {
  RealLoop loop;
  bool done = false;
  MonoTime start = loop.now().mono;
  loop.After(milliseconds{1}, [&] { done = true; });
  EXPECT_TRUE(loop.RunUntilTrue([&] { return done; }, kHangGuard));
  EXPECT_LT(loop.now().mono - start, kHangGuard / 2);  // it did not wait for the limit
}

TEST(RealLoop, GivesUpAtTheLimit) {
  RealLoop loop;
  MonoTime start = loop.now().mono;
  EXPECT_FALSE(loop.RunUntilTrue([] { return false; }, milliseconds{5}));
  EXPECT_GE(loop.now().mono, start + milliseconds{5});
}

TEST(RealLoop, CancelledTimersDoNotRun) {
  RealLoop loop;
  bool cancelled_ran = false, other_ran = false;
  Loop::TimerId timer = loop.After(milliseconds{1}, [&] { cancelled_ran = true; });
  loop.After(milliseconds{2}, [&] { other_ran = true; });
  loop.Cancel(timer);
  loop.Cancel(timer);
  EXPECT_TRUE(loop.RunUntilTrue([&] { return other_ran; }, kHangGuard));
  EXPECT_FALSE(cancelled_ran);
}

TEST(RealLoop, StopsFromAnotherThreadWhileItWaits) {
  RealLoop loop;
  std::atomic<bool> running = false;
  loop.Post([&] { running = true; });
  std::thread stopper([&] {
    while (!running) std::this_thread::yield();
    loop.Stop();
  });
  loop.Run();  // returns
  stopper.join();
  EXPECT_FALSE(loop.RunUntilTrue([] { return false; }, kHangGuard));
}

}  // namespace
}  // namespace lockstep
