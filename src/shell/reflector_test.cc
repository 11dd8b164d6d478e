#include "shell/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/virtual_loop.h"

namespace lockstep::shell {
namespace {

using kube::WatchEventType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An API server whose every answer is written down by the test. Requests are kept until the test answers.
class ScriptedApi final : public kube::Api {
 public:
  struct OpenWatch {
    kube::WatchRequest request;
    kube::WatchHandler* handler;
  };

  explicit ScriptedApi(VirtualLoop& loop) : loop_(loop) {}

  Loop& loop() override { return loop_; }
  void Send(kube::Request request, Done done) override {
    sent.push_back({loop_.elapsed(), request});
    if (answer) {
      loop_.Post([this, request, done] { done(answer(request)); });
    } else {
      waiting.push_back(std::move(done));
    }
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest request, kube::WatchHandler& handler) override {
    ++watches_started;
    watch_at.push_back(loop_.elapsed());
    open = OpenWatch{std::move(request), &handler};
    return std::make_unique<Handle>(*this, &handler);
  }

  void Event(WatchEventType type, const std::string& object) { open->handler->OnEvent(type, object); }
  void End(kube::Status status) {
    kube::WatchHandler* handler = open->handler;
    open.reset();
    handler->OnEnd(std::move(status));
  }

  struct Sent {
    Duration when;
    kube::Request request;
  };
  std::vector<Sent> sent;
  std::vector<Done> waiting;
  std::function<kube::Response(const kube::Request&)> answer;
  std::optional<OpenWatch> open;
  int watches_started = 0;
  std::vector<Duration> watch_at;

 private:
  class Handle final : public kube::Watch {
   public:
    Handle(ScriptedApi& api, kube::WatchHandler* handler) : api_(api), handler_(handler) {}
    ~Handle() override {
      if (api_.open && api_.open->handler == handler_) api_.open.reset();
    }

   private:
    ScriptedApi& api_;
    kube::WatchHandler* handler_;
  };

  VirtualLoop& loop_;
};

std::string Object(const std::string& name, const std::string& uid, int version) {
  return R"({"metadata":{"namespace":"ns","name":")" + name + R"(","uid":")" + uid +
         R"(","resourceVersion":")" + std::to_string(version) + "\"}}";
}

kube::Response ListOf(std::vector<std::string> items, int version, const std::string& token = "") {
  std::string body = R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"(","continue":")" +
                     token + R"("},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) body += (i > 0 ? "," : "") + items[i];
  return {kube::OkStatus(), body + "]}"};
}

kube::Status Gone() { return kube::ErrorStatus(410, "Expired", "too old resource version"); }

class ReflectorTest : public ::testing::Test {
 protected:
  Reflector& Start(ReflectorOptions options = {}) {
    Reflector::Callbacks callbacks;
    callbacks.on_upsert = [this](const std::string& key, const std::string& version, json::DocPtr) {
      log.push_back("+" + key + "@" + version);
    };
    callbacks.on_delete = [this](const std::string& key, const std::string& uid, json::DocPtr last) {
      log.push_back("-" + key + " " + uid + (last != nullptr ? " seen" : " missed"));
    };
    callbacks.on_synced = [this] { log.push_back("synced"); };
    reflector = std::make_unique<Reflector>(api, kube::kPods, Reflector::Scope{"", "", "spec.nodeName!="},
                                            std::move(callbacks), options);
    reflector->Start();
    loop.RunFor(milliseconds(1));
    return *reflector;
  }
  // Answers lists from `lists` in turn; the last one again and again.
  void AnswerLists(std::vector<kube::Response> lists) {
    api.answer = [lists, next = size_t{0}](const kube::Request&) mutable {
      return lists[std::min(next++, lists.size() - 1)];
    };
  }
  std::vector<std::string> TakeLog() { return std::exchange(log, {}); }

  VirtualLoop loop;
  ScriptedApi api{loop};
  std::vector<std::string> log;
  std::unique_ptr<Reflector> reflector;
};

TEST_F(ReflectorTest, ListsThenWatchesFromTheListsVersion) {
  AnswerLists({ListOf({Object("a", "u1", 3), Object("b", "u2", 4)}, 9)});

  Start();

  EXPECT_THAT(TakeLog(), ElementsAre("+ns/a@3", "+ns/b@4", "synced"));
  EXPECT_EQ(api.sent[0].request.field_selector, "spec.nodeName!=");
  ASSERT_TRUE(api.open.has_value());
  EXPECT_EQ(api.open->request.resource_version, "9");
  EXPECT_EQ(api.open->request.field_selector, "spec.nodeName!=");

  api.Event(WatchEventType::kAdded, Object("c", "u3", 10));
  api.Event(WatchEventType::kModified, Object("a", "u1", 11));
  api.Event(WatchEventType::kDeleted, Object("b", "u2", 12));

  EXPECT_THAT(TakeLog(), ElementsAre("+ns/c@10", "+ns/a@11", "-ns/b u2 seen"));
}

TEST_F(ReflectorTest, ReadsAListPageByPageAndIsSyncedAfterTheLast) {
  AnswerLists({ListOf({Object("a", "u1", 3)}, 9, "more"), ListOf({Object("b", "u2", 4)}, 9)});

  Start({.page_size = 1});

  EXPECT_THAT(TakeLog(), ElementsAre("+ns/a@3", "+ns/b@4", "synced"));
  ASSERT_EQ(api.sent.size(), 2u);
  EXPECT_EQ(api.sent[0].request.limit, 1);
  EXPECT_EQ(api.sent[0].request.continue_token, "");
  EXPECT_EQ(api.sent[1].request.continue_token, "more");
}

TEST_F(ReflectorTest, AnExpiredContinueTokenStartsTheListOverWithoutDeliveringTwice) {
  AnswerLists({ListOf({Object("a", "u1", 3)}, 9, "more"),
               {Gone(), ""},
               ListOf({Object("a", "u1", 3), Object("b", "u2", 20)}, 21)});

  Start();
  EXPECT_FALSE(reflector->synced());
  loop.RunFor(seconds(2));

  EXPECT_THAT(TakeLog(), ElementsAre("+ns/a@3", "+ns/b@20", "synced"));
  EXPECT_EQ(api.sent[2].request.continue_token, "");
}

TEST_F(ReflectorTest, AWatchThatEndsGoesOnFromTheLastEventOrBookmark) {
  AnswerLists({ListOf({}, 9)});
  Start();
  loop.RunFor(seconds(5));

  api.Event(WatchEventType::kBookmark, R"({"metadata":{"resourceVersion":"50"}})");
  api.End(kube::OkStatus());
  loop.RunFor(milliseconds(1));

  EXPECT_EQ(api.open->request.resource_version, "50");
  EXPECT_EQ(api.sent.size(), 1u) << "an ordinary end needs no new list";
  EXPECT_EQ(reflector->counts().failures, 0);
}

TEST_F(ReflectorTest, ALostConnectionIsTriedAgainAfterABackOff) {
  AnswerLists({ListOf({}, 9)});
  Start();
  api.Event(WatchEventType::kAdded, Object("a", "u1", 12));

  Duration lost = loop.elapsed();
  api.End(kube::NoAnswer("connection reset"));
  loop.RunFor(seconds(1));

  ASSERT_TRUE(api.open.has_value());
  EXPECT_EQ(api.open->request.resource_version, "12");
  EXPECT_GE(api.watch_at.back() - lost, milliseconds(250));
  EXPECT_EQ(api.sent.size(), 1u);
}

TEST_F(ReflectorTest, A410ListsAgainAndFindsWhatWasMissed) {
  AnswerLists({ListOf({Object("keeps", "u1", 3), Object("goes", "u2", 4), Object("reborn", "u3", 5)}, 9),
               ListOf({Object("keeps", "u1", 3), Object("reborn", "u9", 30), Object("new", "u5", 31)}, 40)});
  Start();
  loop.RunFor(minutes(2));
  TakeLog();

  api.End(Gone());
  loop.RunFor(milliseconds(1));

  EXPECT_THAT(TakeLog(), ElementsAre("-ns/reborn u3 missed", "+ns/reborn@30", "+ns/new@31",
                                     "-ns/goes u2 missed", "synced"));
  EXPECT_EQ(api.open->request.resource_version, "40");
}

TEST_F(ReflectorTest, AServerThatAnswers410ForEverIsNotStormed) {
  AnswerLists({ListOf({}, 9)});
  Start();

  for (int i = 0; i < 10000 && loop.elapsed() < minutes(5); ++i) {
    if (api.open) api.End(Gone());
    ASSERT_TRUE(loop.RunOne());
  }

  EXPECT_LT(reflector->counts().lists, 30);
  EXPECT_GT(reflector->counts().lists, 8) << "it must not give up either";
}

TEST_F(ReflectorTest, AWatchThatEndsAtOnceAgainAndAgainIsNotStormed) {
  AnswerLists({ListOf({}, 9)});
  Start();

  for (int i = 0; i < 10000 && loop.elapsed() < minutes(5); ++i) {
    if (api.open) api.End(kube::OkStatus());
    ASSERT_TRUE(loop.RunOne());
  }

  EXPECT_LT(api.watches_started, 30);
  EXPECT_GT(api.watches_started, 8);
}

TEST_F(ReflectorTest, AnApiThatIsDownAtStartIsTriedWithGrowingJitteredDelaysUntilItAnswers) {
  bool up = false;
  api.answer = [&](const kube::Request&) {
    return up ? ListOf({Object("a", "u1", 3)}, 9) : kube::Response{kube::NoAnswer("connection refused"), ""};
  };
  Start();
  loop.RunFor(minutes(5));

  EXPECT_FALSE(reflector->synced());
  EXPECT_EQ(reflector->last_error().message, "connection refused");
  std::vector<Duration> gaps;
  for (size_t i = 1; i < api.sent.size(); ++i) gaps.push_back(api.sent[i].when - api.sent[i - 1].when);
  ASSERT_GT(gaps.size(), 10u);
  Duration whole = milliseconds(500);
  for (Duration gap : gaps) {
    EXPECT_GE(gap, whole / 2);
    EXPECT_LE(gap, whole);
    whole = std::min<Duration>(whole * 2, seconds(30));
  }
  std::set<Duration> at_the_top(gaps.end() - 4, gaps.end());
  EXPECT_GT(at_the_top.size(), 1u) << "no jitter";

  up = true;
  loop.RunFor(seconds(31));
  EXPECT_THAT(TakeLog(), ElementsAre("+ns/a@3", "synced"));
  EXPECT_TRUE(reflector->last_error().ok());
}

// When a reflector with this seed lists, in one minute of refusals.
std::vector<Duration> RetryTimes(const std::string& seed) {
  VirtualLoop loop;
  ScriptedApi api(loop);
  api.answer = [](const kube::Request&) { return kube::Response{kube::NoAnswer("refused"), ""}; };
  Reflector reflector(api, kube::kPods, {}, {}, {.jitter_seed = seed});
  reflector.Start();
  loop.RunFor(minutes(1));
  std::vector<Duration> times;
  for (const auto& sent : api.sent) times.push_back(sent.when);
  return times;
}

TEST(ReflectorJitter, TwoReplicasDoNotComeBackInStep) {
  EXPECT_NE(RetryTimes("operator-1"), RetryTimes("operator-2"));
  EXPECT_EQ(RetryTimes("operator-1"), RetryTimes("operator-1"));
}

TEST_F(ReflectorTest, RetryAfterOfTheServerIsHonoured) {
  kube::Status busy = kube::ErrorStatus(429, "TooManyRequests", "slow down");
  busy.retry_after = seconds(20);
  AnswerLists({{busy, ""}, ListOf({}, 9)});

  Start();
  loop.RunFor(seconds(19));
  EXPECT_EQ(api.sent.size(), 1u);
  loop.RunFor(seconds(2));
  EXPECT_TRUE(reflector->synced());
}

TEST_F(ReflectorTest, ASilentWatchIsTakenForHalfOpenAndListedAgain) {
  AnswerLists({ListOf({Object("a", "u1", 3)}, 9), ListOf({}, 20)});
  Start({.longest_silence = seconds(90)});
  TakeLog();
  for (int i = 0; i < 10; ++i) {  // a bookmark a minute is a sign of life
    loop.RunFor(minutes(1));
    api.Event(WatchEventType::kBookmark, R"({"metadata":{"resourceVersion":"10"}})");
  }
  EXPECT_EQ(api.watches_started, 1);
  MonoTime heard = loop.now().mono;
  EXPECT_EQ(reflector->last_contact(), heard);

  loop.RunFor(seconds(89));
  EXPECT_EQ(reflector->last_contact(), heard) << "the owner sees the copy grow stale";
  EXPECT_EQ(api.sent.size(), 1u);
  loop.RunFor(seconds(2));

  EXPECT_THAT(TakeLog(), ElementsAre("-ns/a u1 missed", "synced"));
  EXPECT_EQ(api.watches_started, 2);
}

TEST_F(ReflectorTest, BrokenObjectsStopOnlyThemselves) {
  AnswerLists({ListOf({Object("a", "u1", 3), "17", R"({"metadata":{"name":"no-uid"}})", R"({"metadata":[]})",
                       Object("b", "u2", 4)},
                      9)});
  Start();
  api.Event(WatchEventType::kAdded, R"({"metadata":{"name":"half)");
  api.Event(WatchEventType::kModified, "null");
  api.Event(WatchEventType::kModified, std::string(100000, '['));
  api.Event(WatchEventType::kAdded, Object("c", "u3", 12));

  EXPECT_THAT(TakeLog(), ElementsAre("+ns/a@3", "+ns/b@4", "synced", "+ns/c@12"));
  EXPECT_EQ(reflector->counts().bad_objects, 6);
  EXPECT_EQ(reflector->size(), 3u);
}

TEST_F(ReflectorTest, HalfADocumentAsAListIsAFailureNotAnEmptyCluster) {
  kube::Response whole = ListOf({Object("a", "u1", 3)}, 9);
  kube::Response half = whole;
  half.body.resize(half.body.size() / 2);
  AnswerLists({whole, half, whole});
  Start();
  TakeLog();

  loop.RunFor(seconds(10));
  api.End(kube::ErrorStatus(410, "Expired", ""));
  loop.RunFor(seconds(5));

  EXPECT_THAT(TakeLog(), ElementsAre("synced")) << "nothing was deleted, nothing came twice";
  EXPECT_EQ(reflector->counts().failures, 1);
}

TEST_F(ReflectorTest, ADeletionAndRebirthHiddenByTheWatchIsBothDelivered) {
  AnswerLists({ListOf({Object("a", "u1", 3)}, 9)});
  Start();
  TakeLog();
  api.Event(WatchEventType::kModified, Object("a", "u2", 12));
  EXPECT_THAT(TakeLog(), ElementsAre("-ns/a u1 missed", "+ns/a@12"));
}

TEST_F(ReflectorTest, TheSameVersionTwiceIsDeliveredOnce) {
  AnswerLists({ListOf({Object("a", "u1", 3)}, 9)});
  Start();
  TakeLog();
  api.Event(WatchEventType::kAdded, Object("a", "u1", 3));
  api.Event(WatchEventType::kDeleted, Object("never-seen", "u7", 13));
  EXPECT_THAT(TakeLog(), IsEmpty());
}

TEST_F(ReflectorTest, NothingIsDeliveredAfterDestruction) {
  Start();  // the list is not answered yet
  ASSERT_EQ(api.waiting.size(), 1u);
  reflector.reset();
  api.waiting[0](ListOf({Object("a", "u1", 3)}, 9));
  loop.RunFor(minutes(10));
  EXPECT_THAT(TakeLog(), IsEmpty());
  EXPECT_EQ(api.watches_started, 0);
}

TEST_F(ReflectorTest, ACallbackMayDestroyTheReflector) {
  AnswerLists({ListOf({Object("a", "u1", 3), Object("b", "u2", 4)}, 9)});
  Reflector::Callbacks callbacks;
  callbacks.on_upsert = [this](const std::string& key, const std::string&, json::DocPtr) {
    log.push_back(key);
    reflector.reset();
  };
  reflector = std::make_unique<Reflector>(api, kube::kPods, Reflector::Scope{}, std::move(callbacks));
  reflector->Start();
  loop.RunFor(minutes(10));
  EXPECT_THAT(TakeLog(), ElementsAre("ns/a"));
  EXPECT_EQ(api.watches_started, 0);
}

}  // namespace
}  // namespace lockstep::shell
