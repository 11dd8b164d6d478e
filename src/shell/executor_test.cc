#include "shell/executor.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"

namespace lockstep::shell {
namespace {

using cluster::Action;
using cluster::ActionKind;
using testing::ElementsAre;
using testing::SizeIs;

// Answers when the test says so.
class SlowApi final : public kube::Api {
 public:
  explicit SlowApi(Loop& l) : loop_(l) {}
  Loop& loop() override { return loop_; }
  void Send(kube::Request request, Done done) override {
    sent.emplace_back(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest, kube::WatchHandler&) override {
    return nullptr;
  }

  std::vector<std::pair<kube::Request, Done>> sent;

 private:
  Loop& loop_;
};

class ExecutorTest : public testing::Test {
 protected:
  Action Make(ActionKind kind, const std::string& name) {
    Action action;
    action.id = ++last_id_;
    action.kind = kind;
    action.request.resource = &kube::kPods;
    action.request.name = name;
    return action;
  }

  std::vector<std::string> SentNames() const {
    std::vector<std::string> names;
    for (const auto& [request, done] : api.sent) names.push_back(request.name);
    return names;
  }

  Executor MakeExecutor(size_t width) {
    return Executor(
        api, [this] { return gate_open ? std::optional(until) : std::nullopt; },
        [this](const Action&, cluster::ActionDone d, Duration) { done.push_back(std::move(d)); }, width);
  }

  VirtualLoop loop;
  SlowApi api{loop};
  bool gate_open = true;
  const MonoTime until{seconds(77)};
  std::vector<cluster::ActionDone> done;

 private:
  cluster::ActionId last_id_ = 0;
};

TEST_F(ExecutorTest, RecordsAndDeletesOvertakeCreatesAndEventsGoLast) {
  Executor executor = MakeExecutor(64);
  std::vector<Action> actions;
  actions.push_back(Make(ActionKind::kRecordEvent, "event"));
  actions.push_back(Make(ActionKind::kCreatePod, "create"));
  actions.push_back(Make(ActionKind::kDeletePod, "delete"));
  actions.push_back(Make(ActionKind::kWriteGang, "record"));
  executor.Run(std::move(actions));
  EXPECT_THAT(SentNames(), ElementsAre("delete", "record", "create", "event"));
}

TEST_F(ExecutorTest, NeverHasMoreInFlightThanItsWidth) {
  Executor executor = MakeExecutor(2);
  std::vector<Action> actions;
  for (const char* name : {"a", "b", "c"}) actions.push_back(Make(ActionKind::kCreatePod, name));
  executor.Run(std::move(actions));
  EXPECT_THAT(api.sent, SizeIs(2));
  api.sent[1].second({kube::OkStatus(201), R"({"kind":"Pod"})"});
  EXPECT_THAT(SentNames(), ElementsAre("a", "b", "c"));
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].id, 2u);
  EXPECT_EQ((*done[0].object)["kind"], "Pod");
}

TEST_F(ExecutorTest, NothingIsSentOnceTheGateWasShut) {
  Executor executor = MakeExecutor(1);
  std::vector<Action> actions;
  actions.push_back(Make(ActionKind::kCreatePod, "a"));
  actions.push_back(Make(ActionKind::kCreatePod, "b"));
  executor.Run(std::move(actions));
  gate_open = false;
  api.sent[0].second({kube::OkStatus(201), "{}"});
  EXPECT_THAT(SentNames(), ElementsAre("a")) << "the gate is asked right before the send";
  gate_open = true;
  executor.Run({});
  EXPECT_THAT(SentNames(), ElementsAre("a")) << "it stays shut: another may lead by now";
  EXPECT_TRUE(executor.shut());
}

TEST_F(ExecutorTest, WhatIsSentMustBeOnItsWayWhileTheLeaseIsHeld) {
  Executor executor = MakeExecutor(1);
  std::vector<Action> actions;
  actions.push_back(Make(ActionKind::kCreatePod, "a"));
  executor.Run(std::move(actions));
  EXPECT_EQ(api.sent[0].first.not_after, until);
}

TEST_F(ExecutorTest, HalfAnAnswerIsNoAnswer) {
  Executor executor = MakeExecutor(1);
  std::vector<Action> actions;
  actions.push_back(Make(ActionKind::kCreatePod, "a"));
  executor.Run(std::move(actions));
  api.sent[0].second({kube::OkStatus(201), R"({"kind":"Po)"});
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_TRUE(done[0].status.unknown());
}

TEST_F(ExecutorTest, AnAnswerAfterItsEndIsLost) {
  {
    Executor executor = MakeExecutor(1);
    std::vector<Action> actions;
    actions.push_back(Make(ActionKind::kCreatePod, "a"));
    executor.Run(std::move(actions));
  }
  api.sent[0].second({kube::OkStatus(201), "{}"});
  EXPECT_TRUE(done.empty());
}

}  // namespace
}  // namespace lockstep::shell
