#include "apiserver/memory_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"
#include "base/virtual_loop.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Request;
using kube::Response;
using kube::Status;
using kube::Verb;
using kube::WatchEventType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Recorder : public kube::WatchHandler {
 public:
  void OnEvent(WatchEventType type, std::string object) override {
    Doc doc = *json::Parse(object);
    if (type == WatchEventType::kBookmark) {
      events.push_back("bookmark " + json::GetString(doc, "metadata.resourceVersion"));
    } else {
      events.push_back("+~-"[static_cast<int>(type)] + json::GetString(doc, "metadata.name"));
    }
  }
  void OnEnd(Status status) override { end = std::move(status); }

  std::vector<std::string> events;
  std::optional<Status> end;
};

class MemoryApiTest : public ::testing::Test {
 protected:
  static Request Create(const std::string& name) {
    Request request;
    request.verb = Verb::kCreate;
    request.resource = &kube::kPods;
    request.ns = "ns";
    request.body = json::Dump(PodDoc(name));
    return request;
  }
  // The answer is kept together with the virtual second at which it came.
  void Send(MemoryApi& client, Request request) {
    client.Send(std::move(request), [this](Response response) {
      answers.push_back(std::to_string(std::chrono::duration_cast<seconds>(loop.elapsed()).count()) + "s " +
                        std::to_string(response.status.code));
    });
  }
  static kube::WatchRequest WatchPods() {
    kube::WatchRequest watch;
    watch.resource = &kube::kPods;
    watch.resource_version = "1";
    return watch;
  }
  bool Stored(const std::string& name) { return server.store().Find(kube::kPods, "ns/" + name) != nullptr; }

  VirtualLoop loop;
  Server server;
  MemoryApi api{loop, server};
  std::vector<std::string> answers;
};

TEST_F(MemoryApiTest, AnswersComeFromTheLoop) {
  Send(api, Create("a"));
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_FALSE(Stored("a"));
  loop.RunFor(seconds(0));
  EXPECT_THAT(answers, ElementsAre("0s 201"));
  EXPECT_TRUE(Stored("a"));
}

TEST_F(MemoryApiTest, ClientsShareOneServerAndEachHasItsName) {
  std::vector<std::string> audit;
  server.SetAudit([&](const AuditRecord& record) {
    audit.push_back(std::string(record.user) + " " + std::to_string(record.response.status.code));
  });
  MemoryApi node(loop, server, {.user = "node"});
  Recorder seen;
  auto watch = node.StartWatch(WatchPods(), seen);
  Send(api, Create("a"));
  Send(node, Create("a"));
  loop.RunFor(seconds(1));
  EXPECT_THAT(audit, ElementsAre("user 201", "node 409"));
  EXPECT_THAT(seen.events, ElementsAre("+a"));
}

TEST_F(MemoryApiTest, FaultsOfRequests) {
  std::map<std::string, Fault> faults;
  faults["late"].apply_after = seconds(2);
  faults["slow"].answer_after = seconds(3);
  faults["lost"] = {.lose_request = true, .give_up_after = seconds(10)};
  faults["unsaid"] = {.lose_answer = true, .give_up_after = seconds(10)};
  faults["busy"].refuse = kube::ErrorStatus(429, "TooManyRequests", "slow down");
  api.SetFaults([&](const Request& request) {
    return faults[json::GetString(*json::Parse(request.body), "metadata.name")];
  });
  for (const char* name : {"late", "slow", "lost", "unsaid", "busy"}) Send(api, Create(name));
  loop.RunFor(seconds(1));
  EXPECT_THAT(answers, ElementsAre("0s 429"));
  EXPECT_TRUE(Stored("slow"));
  EXPECT_TRUE(Stored("unsaid")) << "applied, though nobody hears of it";
  EXPECT_FALSE(Stored("late"));
  loop.RunFor(seconds(60));
  EXPECT_THAT(answers, ElementsAre("0s 429", "2s 201", "3s 201", "10s 0", "10s 0"));
  EXPECT_TRUE(Stored("late"));
  EXPECT_FALSE(Stored("lost"));
  EXPECT_FALSE(Stored("busy"));
}

TEST_F(MemoryApiTest, AWriteMayTakeEffectAfterItWasGivenUp) {
  api.SetFaults([](const Request&) {
    return Fault{.apply_after = seconds(30), .lose_answer = true, .give_up_after = seconds(5)};
  });
  Send(api, Create("a"));
  loop.RunFor(seconds(6));
  EXPECT_THAT(answers, ElementsAre("5s 0"));
  EXPECT_FALSE(Stored("a"));
  loop.RunFor(seconds(30));
  EXPECT_TRUE(Stored("a"));
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(MemoryApiTest, ACrashedClientHearsNothingButItsWritesArrive) {
  auto crashed = std::make_unique<MemoryApi>(loop, server);
  crashed->SetFaults([](const Request&) { return Fault{.apply_after = seconds(1)}; });
  Recorder seen;
  auto watch = crashed->StartWatch(WatchPods(), seen);
  Send(*crashed, Create("a"));
  watch.reset();
  crashed.reset();
  loop.RunFor(seconds(5));
  EXPECT_TRUE(Stored("a"));
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(seen.events, IsEmpty());
  EXPECT_FALSE(seen.end);
}

TEST_F(MemoryApiTest, BookmarksComeOnATimerWithTheVersionAlone) {
  Recorder seen;
  auto watch = api.StartWatch(WatchPods(), seen);
  Send(api, Create("a"));
  loop.RunFor(seconds(125));
  EXPECT_THAT(seen.events, ElementsAre("+a", "bookmark 2", "bookmark 2"));
}

TEST_F(MemoryApiTest, LateEventsStayInOrder) {
  int asked = 0;
  api.SetWatchDelay([&](const kube::Resource&) { return asked++ == 0 ? seconds(5) : seconds(1); });
  Recorder seen;
  auto watch = api.StartWatch(WatchPods(), seen);
  Send(api, Create("a"));
  Send(api, Create("b"));
  loop.RunFor(seconds(4));
  EXPECT_THAT(seen.events, IsEmpty());
  EXPECT_EQ(answers.size(), 2u) << "only events are late";
  loop.RunFor(seconds(2));
  EXPECT_THAT(seen.events, ElementsAre("+a", "+b"));
}

TEST_F(MemoryApiTest, ABrokenWatchEndsWithItsReasonAndNothingFollows) {
  api.SetWatchDelay([](const kube::Resource&) { return seconds(1); });
  Recorder seen, gone;
  auto watch = api.StartWatch(WatchPods(), seen);
  Send(api, Create("a"));
  loop.RunFor(milliseconds(500));
  api.BreakWatches(kube::NoAnswer("connection reset"));
  auto second = api.StartWatch(WatchPods(), gone);
  loop.RunFor(milliseconds(1));
  api.BreakWatches(Expired("too old resource version: 1 (2)"), &kube::kPods);
  Send(api, Create("b"));
  loop.RunFor(seconds(300));
  ASSERT_TRUE(seen.end && gone.end);
  EXPECT_TRUE(seen.end->unknown());
  EXPECT_TRUE(gone.end->gone());
  EXPECT_THAT(seen.events, IsEmpty());
  EXPECT_THAT(gone.events, IsEmpty());
  EXPECT_EQ(api.running_watches(), 0);
}

TEST_F(MemoryApiTest, AStalledWatchCatchesUpOrIsFoundOut) {
  Recorder seen;
  auto watch = api.StartWatch(WatchPods(), seen);
  api.StallWatches(true);
  Send(api, Create("a"));
  loop.RunFor(seconds(100));
  EXPECT_THAT(seen.events, IsEmpty());
  EXPECT_FALSE(seen.end);
  api.StallWatches(false);
  loop.RunFor(seconds(1));
  EXPECT_THAT(seen.events, ElementsAre("+a", "bookmark 2"));

  api.StallWatches(true, &kube::kPods);
  loop.RunFor(seconds(200));
  ASSERT_TRUE(seen.end);
  EXPECT_TRUE(seen.end->unknown());
}

TEST_F(MemoryApiTest, AWatchThatCannotStartEnds) {
  server.Handle(Create("a"), loop.now());
  server.Compact();
  Recorder old, bad;
  auto first = api.StartWatch(WatchPods(), old);
  kube::WatchRequest request = WatchPods();
  request.field_selector = "spec.x=1";
  auto second = api.StartWatch(request, bad);
  EXPECT_FALSE(old.end) << "never from inside StartWatch";
  loop.RunFor(seconds(0));
  EXPECT_TRUE(old.end->gone());
  EXPECT_EQ(bad.end->code, 400);
}

TEST_F(MemoryApiTest, TheServerEndsLongWatches) {
  Recorder seen;
  auto watch = api.StartWatch(WatchPods(), seen);
  loop.RunFor(minutes(19));
  EXPECT_FALSE(seen.end);
  loop.RunFor(minutes(21));
  ASSERT_TRUE(seen.end);
  EXPECT_TRUE(seen.end->ok());
}

TEST_F(MemoryApiTest, ADownServerRefusesAndForgetsNothing) {
  Send(api, Create("a"));
  Recorder seen;
  auto watch = api.StartWatch(WatchPods(), seen);
  loop.RunFor(seconds(1));
  api.SetDown(true);
  Send(api, Create("b"));
  Recorder refused;
  auto second = api.StartWatch(WatchPods(), refused);
  loop.RunFor(seconds(1));
  EXPECT_THAT(answers, ElementsAre("0s 201", "1s 0"));
  EXPECT_TRUE(seen.end->unknown());
  EXPECT_TRUE(refused.end->unknown());
  api.SetDown(false);
  Send(api, Create("b"));
  loop.RunFor(seconds(1));
  EXPECT_TRUE(Stored("a") && Stored("b"));
}

TEST_F(MemoryApiTest, ControllersWorkALittleLater) {
  Request job = Create("a");
  job.resource = &kube::kPyTorchJobs;
  job.body = json::Dump(JobDoc("a"));
  Doc owner = *json::Parse(server.Handle(job, loop.now()).body);
  Request pod = Create("p");
  Doc doc = PodDoc("p");
  doc["metadata"]["ownerReferences"] = Doc::array({OwnerDoc(owner)});
  pod.body = json::Dump(doc);
  Send(api, pod);
  Request gone = job;
  gone.verb = Verb::kDelete;
  gone.name = "a";
  Send(api, gone);
  loop.RunFor(milliseconds(10));
  EXPECT_TRUE(Stored("p"));
  loop.RunFor(milliseconds(100));
  EXPECT_FALSE(Stored("p"));
}

// A handler that ends its own watch from inside an event, as a reflector does.
TEST_F(MemoryApiTest, AHandlerMayEndItsWatch) {
  struct Quitter : Recorder {
    void OnEvent(WatchEventType type, std::string object) override {
      Recorder::OnEvent(type, std::move(object));
      watch.reset();
    }
    std::unique_ptr<kube::Watch> watch;
  } quitter;
  quitter.watch = api.StartWatch(WatchPods(), quitter);
  Send(api, Create("a"));
  Send(api, Create("b"));
  loop.RunFor(seconds(100));
  EXPECT_THAT(quitter.events, ElementsAre("+a"));
}

}  // namespace
}  // namespace lockstep::apiserver
