#include "shell/leader.h"

#include <gmock/gmock.h>

#include "apiserver/memory_api.h"
#include "base/virtual_loop.h"

namespace lockstep::shell {
namespace {

// One operator process: an API connection of its own and a gate.
struct Replica {
  Replica(Loop& loop, apiserver::Server& server, const std::string& name) : api(loop, server) {
    LeaderOptions options;
    options.identity = name;
    gate.emplace(api, options,
                 LeaderGate::Callbacks{[this](const LeaderGate::Seen* l) {
                                         ++led;
                                         left = l == nullptr ? std::nullopt : std::optional(*l);
                                       },
                                       [this] { ++lost; }});
    gate->Start();
  }
  apiserver::MemoryApi api;
  std::optional<LeaderGate> gate;
  int led = 0, lost = 0;
  std::optional<LeaderGate::Seen> left;
};

class LeaderGateTest : public testing::Test {
 protected:
  VirtualLoop loop;
  apiserver::Server server;
};

TEST_F(LeaderGateTest, TheFirstLeadsAndTheSecondWaits) {
  Replica a(loop, server, "a"), b(loop, server, "b");
  loop.RunFor(seconds(20));
  EXPECT_EQ(a.led + b.led, 1);
  EXPECT_NE(a.gate->MayWrite(), b.gate->MayWrite());
  EXPECT_EQ(a.lost + b.lost, 0) << "it is renewed in time";
  EXPECT_EQ(b.gate->holder(), a.gate->leading() ? "a" : "b");
}

TEST_F(LeaderGateTest, AfterAKillTheNextLeadsWithinFiveSeconds) {
  auto a = std::make_unique<Replica>(loop, server, "a");
  loop.RunFor(seconds(2));
  ASSERT_TRUE(a->gate->MayWrite());
  Replica b(loop, server, "b");
  loop.RunFor(seconds(10));
  a.reset();
  EXPECT_TRUE(loop.RunUntilTrue([&] { return b.gate->MayWrite(); }, seconds(5)));
}

TEST_F(LeaderGateTest, AReleasedLeaseIsTakenWithinASecond) {
  Replica a(loop, server, "a");
  loop.RunFor(seconds(2));
  Replica b(loop, server, "b");
  loop.RunFor(seconds(3));
  bool released = false;
  a.gate->Release({{"pods", 7}}, [&] { released = true; });
  EXPECT_FALSE(a.gate->MayWrite()) << "from this moment, answered or not";
  EXPECT_TRUE(loop.RunUntilTrue([&] { return b.gate->MayWrite(); }, seconds(1)));
  EXPECT_TRUE(released);
  EXPECT_EQ(b.left, (LeaderGate::Seen{{"pods", 7}}));
}

TEST_F(LeaderGateTest, WhatALeaderLeftIsTrueForTheNextOneOnly) {
  Replica a(loop, server, "a");
  loop.RunFor(seconds(2));
  auto b = std::make_unique<Replica>(loop, server, "b");
  a.gate->Release({{"pods", 7}}, [] {});
  loop.RunFor(seconds(3));
  ASSERT_TRUE(b->left);
  b.reset();  // killed
  Replica c(loop, server, "c");
  ASSERT_TRUE(loop.RunUntilTrue([&] { return c.gate->MayWrite(); }, seconds(5)));
  EXPECT_FALSE(c.left);
}

TEST_F(LeaderGateTest, ALeaderThatCannotRenewStopsBeforeItsLeaseCanBeTaken) {
  Replica a(loop, server, "a"), b(loop, server, "b");
  loop.RunFor(seconds(5));
  Replica& leader = a.gate->leading() ? a : b;
  Replica& standby = a.gate->leading() ? b : a;
  leader.api.SetDown(true);
  int both = 0;
  MonoTime end = loop.now().mono + seconds(10);
  while (loop.now().mono < end) {
    loop.RunFor(milliseconds(10));
    both += leader.gate->MayWrite() && standby.gate->MayWrite();
  }
  EXPECT_EQ(both, 0);
  EXPECT_EQ(leader.lost, 1);
  EXPECT_TRUE(standby.gate->MayWrite());

  leader.api.SetDown(false);
  loop.RunFor(seconds(10));
  EXPECT_FALSE(leader.gate->MayWrite()) << "a standby again";
}

}  // namespace
}  // namespace lockstep::shell
