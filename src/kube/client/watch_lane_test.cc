// Watches against a server that ends, stalls, cuts and lies.
#include <gmock/gmock.h>

#include "kube/client/scripted_server.h"

namespace lockstep::kube {
namespace {

using net::BodyWriter;
using net::HttpRequest;
using net::HttpResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WatchTest : public ScriptedServerTest {};

std::string Pod(int i) { return R"({"name":")" + std::to_string(i) + R"("})"; }

TEST_F(WatchTest, BringsEventsInOrderAndAnOrdinaryEnd) {
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)) + EventLine("MODIFIED", Pod(2)));
      writer.Write(EventLine("DELETED", Pod(3)));
      writer.Write(EventLine("BOOKMARK", Pod(4)));
      writer.Finish();
    });
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_TRUE(handler.end->ok()) << handler.end->message;
  EXPECT_THAT(
      handler.events,
      ElementsAre(std::pair(WatchEventType::kAdded, Pod(1)), std::pair(WatchEventType::kModified, Pod(2)),
                  std::pair(WatchEventType::kDeleted, Pod(3)), std::pair(WatchEventType::kBookmark, Pod(4))));
  std::string query(Requests().at(0).Query());
  EXPECT_THAT(query, HasSubstr("watch=1&allowWatchBookmarks=true&resourceVersion=1&timeoutSeconds="));
}

TEST_F(WatchTest, EventsArriveWhileTheWatchGoesOn) {
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)));
      writer.OnClosed([writer] {});  // keeps it open
    });
  });
  RecordingHandler handler;
  auto watch = Api().StartWatch({.resource = &kPods}, handler);
  EXPECT_TRUE(WaitFor([&] { return handler.events.size() == 1; }));
  EXPECT_FALSE(handler.end.has_value());
}

TEST_F(WatchTest, APieceMayEndAnywhere) {
  std::string text = EventLine("ADDED", R"({"a":"\u00fc\n"})") + EventLine("DELETED", Pod(2));
  Serve([text](const HttpRequest&, int) {
    return Stream([text](BodyWriter writer) {
      for (char c : text) writer.Write({&c, 1});
      writer.Finish();
    });
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_TRUE(handler.end->ok());
  EXPECT_THAT(handler.Objects(), ElementsAre(R"({"a":"\u00fc\n"})", Pod(2)));
}

TEST_F(WatchTest, ACutInTheMiddleIsUnknownAfterTheWholeEvents) {
  for (bool reset : {false, true}) {
    Serve([reset](const HttpRequest&, int) {
      return Stream([reset](BodyWriter writer) {
        writer.Write(EventLine("ADDED", Pod(1)));
        writer.Write(EventLine("ADDED", Pod(2)).substr(0, 20));
        if (!reset) return writer.Cut();
        writer.After(milliseconds{30}, [writer] { writer.Abort(); });
      });
    });
    RecordingHandler handler = WatchToTheEnd();
    EXPECT_TRUE(handler.end->unknown());
    EXPECT_THAT(handler.end->message, HasSubstr("watch https://127.0.0.1:"));
    EXPECT_THAT(handler.Objects(), ElementsAre(Pod(1)));
    api_.reset();
  }
}

TEST_F(WatchTest, HalfAnEventBeforeAProperEndIsUnknown) {
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)).substr(0, 20));
      writer.Finish();
    });
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_TRUE(handler.end->unknown());
  EXPECT_THAT(handler.events, IsEmpty());
}

TEST_F(WatchTest, ASilentConnectionIsFoundAndEndsUnknown) {
  options_.watch_idle_limit = milliseconds{150};
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)));
      writer.OnClosed([writer] {});
    });
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_TRUE(handler.end->unknown());
  EXPECT_THAT(handler.end->message, HasSubstr("silent for 150ms"));
  EXPECT_THAT(handler.events, SizeIs(1));
}

TEST_F(WatchTest, AServerThatNeverAnswersIsFoundToo) {
  options_.watch_idle_limit = milliseconds{100};
  Serve([](const HttpRequest&, int) { return HttpResponse{.delay = hours{1}}; });
  EXPECT_TRUE(WatchToTheEnd().end->unknown());
}

TEST_F(WatchTest, BookmarksKeepAQuietWatchAlive) {
  options_.watch_idle_limit = milliseconds{400};
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      for (int i = 1; i <= 8; ++i) {
        writer.After(milliseconds{100 * i}, [writer, i] {
          writer.Write(EventLine("BOOKMARK", Pod(i)));
          if (i == 8) writer.Finish();
        });
      }
    });
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_TRUE(handler.end->ok()) << handler.end->message;
  EXPECT_THAT(handler.events, SizeIs(8));
}

TEST_F(WatchTest, ATooOldVersionIsGoneInTheStreamAndBefore) {
  std::string gone =
      R"({"kind":"Status","status":"Failure","reason":"Expired","message":"too old","code":410})";
  Serve([gone](const HttpRequest&, int n) {
    if (n == 1) return Json(410, gone);
    return Stream([gone](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)) + EventLine("ERROR", gone));
      writer.OnClosed([writer] {});  // the client must not wait for the server to close
    });
  });
  RecordingHandler before = WatchToTheEnd();
  EXPECT_TRUE(before.end->gone());
  EXPECT_EQ(before.end->reason, "Expired");
  RecordingHandler within = WatchToTheEnd();
  EXPECT_TRUE(within.end->gone());
  EXPECT_THAT(within.events, SizeIs(1));
}

TEST_F(WatchTest, ErrorsOfTheServerComeWhole) {
  Serve([](const HttpRequest&, int) {
    return Json(429, R"({"kind":"Status","reason":"TooManyRequests","message":"slow down","code":429})",
                {{"Retry-After", "3"}});
  });
  RecordingHandler handler = WatchToTheEnd();
  EXPECT_EQ(handler.end->code, 429);
  EXPECT_EQ(handler.end->message, "slow down");
  EXPECT_EQ(handler.end->retry_after, Duration(seconds{3}));
}

TEST_F(WatchTest, GarbageAndEndlessLinesAreUnknown) {
  options_.max_frame_bytes = 10'000;
  for (const std::string& text : {std::string("<html>\n"), std::string(20'000, ' ') + "x",
                                  EventLine("ADDED", "\"" + std::string(20'000, 'x') + "\"")}) {
    Serve([text](const HttpRequest&, int) {
      return Stream([text](BodyWriter writer) {
        writer.Write(text);
        writer.OnClosed([writer] {});
      });
    });
    RecordingHandler handler = WatchToTheEnd();
    EXPECT_TRUE(handler.end->unknown());
    EXPECT_THAT(handler.end->message, HasSubstr("the watch sent"));
    api_.reset();
  }
}

TEST_F(WatchTest, A200WithoutAStreamIsJustAnEmptyWatch) {
  Serve([](const HttpRequest&, int) { return Json(200, ""); });
  EXPECT_TRUE(WatchToTheEnd().end->ok());
}

TEST_F(WatchTest, AnExpiredTokenIsReplacedOnce) {
  Serve([](const HttpRequest&, int) { return Json(401, "{}"); });
  config_.token = "old";
  EXPECT_EQ(WatchToTheEnd().end->code, 401);
  EXPECT_EQ(RequestCount(), 1u) << "a fixed token does not change";
}

TEST_F(WatchTest, MoreWatchesThanConnectionsStallNoRequest) {
  options_.connections = 2;
  Serve([](const HttpRequest& request, int) {
    if (request.Query().find("watch=1") == std::string_view::npos) return Json(200, "{}");
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)));
      writer.OnClosed([writer] {});
    });
  });
  std::array<RecordingHandler, 8> handlers;
  std::vector<std::unique_ptr<Watch>> watches;
  for (RecordingHandler& handler : handlers)
    watches.push_back(Api().StartWatch({.resource = &kPods}, handler));
  EXPECT_TRUE(WaitFor([&] {
    return std::ranges::all_of(handlers,
                               [](const RecordingHandler& handler) { return !handler.events.empty(); });
  }));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Create().status.ok());
}

TEST_F(WatchTest, DestroyingAWatchClosesItsConnectionAndSilencesItsHandler) {
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      for (int i = 0; i < 100; ++i) writer.Write(EventLine("ADDED", Pod(i)));
      writer.OnClosed([writer] {});
    });
  });
  RecordingHandler handler;
  std::unique_ptr<Watch> watch;
  handler.on_event = [&] {
    if (handler.events.size() == 3) watch.reset();  // in the middle of a batch
  };
  watch = Api().StartWatch({.resource = &kPods}, handler);
  EXPECT_TRUE(WaitFor([&] { return handler.events.size() == 3; }));
  // The loop turns while we wait for the server to see the end; nothing more may come.
  std::function<void()> turn = [&] {
    if (server_->connections() > 0) loop_.After(milliseconds{1}, turn);
  };
  turn();
  EXPECT_TRUE(WaitFor([&] { return server_->connections() == 0; }));
  EXPECT_THAT(handler.events, SizeIs(3));
  EXPECT_FALSE(handler.end.has_value());
}

TEST_F(WatchTest, AHandlerMayDestroyTheApi) {
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      writer.Write(EventLine("ADDED", Pod(1)) + EventLine("ADDED", Pod(2)));
      writer.OnClosed([writer] {});
    });
  });
  RecordingHandler handler;
  handler.on_event = [&] { api_.reset(); };
  auto watch = Api().StartWatch({.resource = &kPods}, handler);
  EXPECT_TRUE(WaitFor([&] { return !handler.events.empty(); }));
  EXPECT_THAT(handler.events, SizeIs(1));
  watch.reset();  // after its API: nothing to do
}

TEST_F(WatchTest, AWatchThatIsDestroyedAtOnceDoesNothing) {
  Serve([](const HttpRequest&, int) { return Json(200, EventLine("ADDED", Pod(1))); });
  RecordingHandler handler;
  Api().StartWatch({.resource = &kPods}, handler).reset();
  EXPECT_TRUE(Get().status.ok());  // meanwhile the loop turns
  EXPECT_THAT(handler.events, IsEmpty());
  EXPECT_FALSE(handler.end.has_value());
}

TEST_F(WatchTest, ALoopThatFallsBehindStopsTheReadingAndLosesNothing) {
  constexpr int kEvents = 20'000;
  options_.max_undelivered_bytes = 10'000;
  options_.watch_idle_limit = milliseconds{500};
  Serve([](const HttpRequest&, int) {
    return Stream([](BodyWriter writer) {
      std::string lines;
      for (int i = 0; i < kEvents; ++i) lines += EventLine("ADDED", Pod(i));
      writer.Write(lines);
      writer.Finish();
    });
  });
  RecordingHandler handler;
  auto watch = Api().StartWatch({.resource = &kPods}, handler);
  EXPECT_TRUE(WaitFor([&] { return handler.end.has_value(); }));
  EXPECT_TRUE(handler.end->ok()) << handler.end->message;
  ASSERT_THAT(handler.events, SizeIs(kEvents));
  for (int i = 0; i < kEvents; ++i) ASSERT_EQ(handler.events[static_cast<size_t>(i)].second, Pod(i));
}

}  // namespace
}  // namespace lockstep::kube
