#include "hollow/write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace lockstep::hollow {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An API that answers when the test says so.
class SlowApi final : public kube::Api {
 public:
  explicit SlowApi(VirtualLoop& loop) : loop_(loop) {}
  Loop& loop() override { return loop_; }
  void Send(kube::Request request, Done done) override {
    sent.push_back(request.name + ":" + request.body);
    open.push_back(std::move(done));
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest, kube::WatchHandler&) override {
    return nullptr;
  }

  void Answer(size_t index, kube::Status status = kube::OkStatus()) {
    Done done = std::move(open.at(index));
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    done({std::move(status), ""});
  }

  std::vector<std::string> sent;
  std::vector<Done> open;

 private:
  VirtualLoop& loop_;
};

kube::Request Write(kube::Verb verb, const std::string& name, const std::string& body) {
  kube::Request request;
  request.verb = verb;
  request.resource = &kube::kPods;
  request.name = name;
  request.body = body;
  return request;
}
kube::Request Patch(const std::string& name, const std::string& body) {
  return Write(kube::Verb::kPatch, name, body);
}

class WriteQueueTest : public ::testing::Test {
 protected:
  VirtualLoop loop;
  SlowApi api{loop};
  WriteQueue queue{api, 2};
};

TEST_F(WriteQueueTest, KeepsTheOrderOfOneKeyAndRunsKeysInParallel) {
  queue.Put("a", Patch("a", "1"));
  queue.Put("a", Write(kube::Verb::kDelete, "a", "2"));
  queue.Put("b", Patch("b", "1"));
  queue.Put("c", Patch("c", "1"));
  EXPECT_THAT(api.sent, ElementsAre("a:1", "b:1")) << "two at a time";

  api.Answer(1);
  EXPECT_THAT(api.sent, ElementsAre("a:1", "b:1", "c:1"));
  api.Answer(0);
  EXPECT_THAT(api.sent, ElementsAre("a:1", "b:1", "c:1", "a:2"));
  EXPECT_FALSE(queue.idle());
  api.Answer(0);
  api.Answer(0);
  EXPECT_TRUE(queue.idle());
}

TEST_F(WriteQueueTest, ALaterPatchReplacesOneThatWasNotSent) {
  queue.Put("a", Patch("a", "1"));
  queue.Put("a", Patch("a", "2"));
  queue.Put("a", Patch("a", "3"));
  api.Answer(0);
  EXPECT_THAT(api.sent, ElementsAre("a:1", "a:3")) << "the one in flight stays, the second is overtaken";
}

TEST_F(WriteQueueTest, WhatMaySucceedLaterIsRepeatedAndHoldsBackItsOwnKeyOnly) {
  std::vector<int> answers;
  queue.Put("a", Patch("a", "1"),
            [&](const kube::Response& response) { answers.push_back(response.status.code); });
  queue.Put("a", Write(kube::Verb::kDelete, "a", "2"));
  api.Answer(0, kube::ErrorStatus(500, "InternalError", "no"));
  loop.RunFor(seconds(1));
  api.Answer(0, kube::NoAnswer("reset"));
  queue.Put("b", Patch("b", "1"));
  loop.RunFor(seconds(1));
  EXPECT_THAT(api.sent, ElementsAre("a:1", "a:1", "b:1", "a:1"));
  EXPECT_THAT(answers, IsEmpty());
  api.Answer(1);
  EXPECT_THAT(answers, ElementsAre(200));
  EXPECT_EQ(queue.counts().retried, 2);
  EXPECT_EQ(api.sent.back(), "a:2");
}

TEST_F(WriteQueueTest, RetriesSlowDown) {
  queue.Put("a", Patch("a", "1"));
  for (int i = 0; i < 100000 && loop.elapsed() < minutes(2); ++i) {
    if (!api.open.empty()) api.Answer(0, kube::ErrorStatus(503, "ServiceUnavailable", ""));
    if (!loop.RunOne()) break;
  }
  EXPECT_GT(api.sent.size(), 12u);
  EXPECT_LT(api.sent.size(), 40u);
}

TEST_F(WriteQueueTest, RetryAfterIsHonoured) {
  queue.Put("a", Patch("a", "1"));
  kube::Status busy = kube::ErrorStatus(429, "TooManyRequests", "");
  busy.retry_after = seconds(30);
  api.Answer(0, busy);
  loop.RunFor(seconds(29));
  EXPECT_EQ(api.sent.size(), 1u);
  loop.RunFor(seconds(2));
  EXPECT_EQ(api.sent.size(), 2u);
}

TEST_F(WriteQueueTest, ARefusedWriteEndsAndTheNextOfItsKeyIsSent) {
  queue.Put("a", Patch("a", "1"));
  queue.Put("a", Write(kube::Verb::kDelete, "a", "2"));
  api.Answer(0, kube::ErrorStatus(422, "Invalid", "no such field"));
  EXPECT_THAT(api.sent, ElementsAre("a:1", "a:2"));
  EXPECT_EQ(queue.counts().refused, 1);
}

TEST_F(WriteQueueTest, DropForgetsWhatWasNotSentNorIsRepeated) {
  queue.Put("a", Patch("a", "1"));
  queue.Put("a", Write(kube::Verb::kDelete, "a", "2"));
  queue.Drop("a");
  api.Answer(0);
  EXPECT_THAT(api.sent, ElementsAre("a:1"));

  queue.Put("b", Patch("b", "1"));
  api.Answer(0, kube::NoAnswer("reset"));
  queue.Drop("b");
  loop.RunFor(minutes(1));
  EXPECT_THAT(api.sent, ElementsAre("a:1", "b:1"));
  EXPECT_TRUE(queue.idle());
}

TEST_F(WriteQueueTest, ADroppedKeyIsNotSentTwiceWhenItComesAgain) {
  queue.Put("x", Patch("x", "1"));
  queue.Put("y", Patch("y", "1"));
  queue.Put("a", Patch("a", "old"));  // waits for a place
  queue.Drop("a");
  queue.Put("a", Patch("a", "new"));
  api.Answer(0);
  api.Answer(0);
  EXPECT_THAT(api.sent, ElementsAre("x:1", "y:1", "a:new"));
}

TEST(WriteQueue, AnswersAfterItsEndAreIgnored) {
  VirtualLoop loop;
  SlowApi api(loop);
  auto queue = std::make_unique<WriteQueue>(api, 4);
  bool called = false;
  queue->Put("a", Patch("a", "1"), [&](const kube::Response&) { called = true; });
  queue->Put("b", Patch("b", "1"));
  api.Answer(1, kube::NoAnswer("reset"));
  queue.reset();
  api.Answer(0);
  loop.RunFor(minutes(1));
  EXPECT_FALSE(called);
  EXPECT_EQ(api.sent.size(), 2u);
}

}  // namespace
}  // namespace lockstep::hollow
