#include "kube/client/watch_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kLimit = 1 << 20;

std::string Line(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

struct Parsed {
  std::vector<WatchFrame> frames;
  Status end;
};

Parsed ParseInPieces(std::string_view bytes, size_t piece, size_t limit = kLimit) {
  Parsed parsed;
  WatchStream stream(limit);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    if (!stream.Feed(bytes.substr(at, piece), parsed.frames)) break;
  }
  parsed.end = stream.Finish();
  return parsed;
}

Parsed ParseWhole(std::string_view bytes, size_t limit = kLimit) {
  return ParseInPieces(bytes, std::max<size_t>(bytes.size(), 1), limit);
}

std::vector<std::string> Objects(const Parsed& parsed) {
  std::vector<std::string> objects;
  for (const WatchFrame& frame : parsed.frames) objects.push_back(frame.object);
  return objects;
}

TEST(WatchStream, GivesTypesAndTheServersOwnBytes) {
  // Numbers, spaces and escapes come through as they were.
  std::string odd = R"({ "a" : 1.0, "b":"\u00e9\"}" , "big":12345678901234567})";
  Parsed parsed = ParseWhole(Line("ADDED", odd) + Line("MODIFIED", "{}") + Line("DELETED", R"({"x":{}})") +
                             Line("BOOKMARK", R"({"metadata":{"resourceVersion":"9"}})"));
  EXPECT_TRUE(parsed.end.ok());
  EXPECT_THAT(Objects(parsed),
              ElementsAre(odd, "{}", R"({"x":{}})", R"({"metadata":{"resourceVersion":"9"}})"));
  EXPECT_EQ(parsed.frames[0].type, WatchEventType::kAdded);
  EXPECT_EQ(parsed.frames[1].type, WatchEventType::kModified);
  EXPECT_EQ(parsed.frames[2].type, WatchEventType::kDeleted);
  EXPECT_EQ(parsed.frames[3].type, WatchEventType::kBookmark);
}

TEST(WatchStream, PiecesOfAnySizeGiveTheSameEvents) {
  std::string text = Line("ADDED", R"({"name":"a\nb\\","n":[1,{"x":"}"}]})") + "\n\r\n" +
                     Line("DELETED", R"({"name":"ü"})") + Line("MODIFIED", R"({"name":"c"})");
  Parsed whole = ParseWhole(text);
  ASSERT_THAT(whole.frames, SizeIs(3));
  for (size_t piece = 1; piece < text.size(); ++piece) {
    Parsed parsed = ParseInPieces(text, piece);
    EXPECT_EQ(Objects(parsed), Objects(whole)) << piece;
    EXPECT_TRUE(parsed.end.ok()) << piece;
  }
}

TEST(WatchStream, AnyCutEndsUnknownExceptBetweenLines) {
  std::string first = Line("ADDED", R"({"name":"a"})"), second = Line("DELETED", R"({"name":"b"})");
  std::string text = first + second;
  for (size_t size = 0; size <= text.size(); ++size) {
    Parsed parsed = ParseWhole(text.substr(0, size));
    bool between = size == 0 || size == first.size() || size == text.size();
    EXPECT_EQ(parsed.end.ok(), between) << size;
    EXPECT_EQ(parsed.end.unknown(), !between) << size;
    EXPECT_EQ(parsed.frames.size(), (size >= first.size() ? 1u : 0u) + (size == text.size() ? 1u : 0u))
        << size;
  }
}

TEST(WatchStream, AnErrorEventIsTheEnd) {
  Parsed parsed = ParseWhole(
      Line("ADDED", "{}") +
      Line("ERROR",
           R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version",)"
           R"("reason":"Expired","code":410})") +
      Line("ADDED", R"({"after":"the end"})"));
  EXPECT_THAT(parsed.frames, SizeIs(1));
  EXPECT_TRUE(parsed.end.gone());
  EXPECT_EQ(parsed.end.reason, "Expired");
  EXPECT_EQ(parsed.end.message, "too old resource version");
}

TEST(WatchStream, AnErrorEventIsNeverASuccess) {
  for (const char* object :
       {"{}", R"({"code":200,"status":"Success"})", R"({"code":"x"})", R"({"code":-1})"}) {
    Parsed parsed = ParseWhole(Line("ERROR", object));
    EXPECT_FALSE(parsed.end.ok()) << object;
    EXPECT_GE(parsed.end.code, 400) << object;
  }
}

TEST(WatchStream, GarbageEndsTheStreamAsUnknown) {
  for (const char* line : {
           "hello\n",
           "[]\n",
           "null\n",
           "{}\n",
           "{\"type\":\"ADDED\"}\n",
           "{\"object\":{}}\n",
           "{\"type\":\"ADDED\",\"object\":null}\n",
           "{\"type\":\"ADDED\",\"object\":[]}\n",
           "{\"type\":1,\"object\":{}}\n",
           "{\"type\":\"added\",\"object\":{}}\n",
           "{\"type\":\"ADDED\",\"type\":\"DELETED\",\"object\":{}}\n",
           "{\"type\":\"ADDED\",\"object\":{},\"object\":{}}\n",
           "{\"type\":\"ADDED\",\"object\":{}} {}\n",
           "{\"type\":\"ADDED\",\"object\":{\"a\":tru}}\n",  // in a field that nobody reads
           "{\"type\":\"ADDED\",\"object\":{\"a\":\"\\x\"}}\n",
           "{\"type\":\"ADDED\",\"object\":{\"a\":1.2.3}}\n",
           "{\"type\":\"ADDED\",\"object\":{\"a\":\"\xff\"}}\n",  // not UTF-8
           "{\"type\":\"ADDED\",\"object\":{},\"extra\":[1,,2]}\n",
       }) {
    Parsed parsed = ParseWhole(line + Line("ADDED", "{}"));
    EXPECT_THAT(parsed.frames, IsEmpty()) << line;
    EXPECT_TRUE(parsed.end.unknown()) << line;
    EXPECT_THAT(parsed.end.message, HasSubstr("the watch sent")) << line;
  }
}

TEST(WatchStream, FieldsInAnyOrderAndUnknownOnesAreFine) {
  Parsed parsed = ParseWhole(R"({"x":[{}],"object":{"a":1},"\u0074ype":"ADDED","y":null})"
                             "\n");
  EXPECT_TRUE(parsed.end.ok()) << parsed.end.message;
  EXPECT_THAT(Objects(parsed), ElementsAre(R"({"a":1})"));
}

TEST(WatchStream, SizeIsBounded) {
  std::string line = Line("ADDED", R"({"a":")" + std::string(1000, 'x') + R"("})");
  EXPECT_TRUE(ParseWhole(line, line.size() - 1).end.ok()) << "the line break does not count";
  for (size_t piece : {size_t{1}, size_t{100}, line.size()}) {
    Parsed parsed = ParseInPieces(line, piece, line.size() - 2);
    EXPECT_TRUE(parsed.end.unknown());
    EXPECT_THAT(parsed.frames, IsEmpty());
  }
  // A line that never ends is given up long before it is complete.
  WatchStream stream(1000);
  std::vector<WatchFrame> frames;
  EXPECT_FALSE(stream.Feed(std::string(1001, 'x'), frames));
  EXPECT_TRUE(stream.end()->unknown());
}

// Users may store what is no fault of the watch: it goes on, and whoever reads the object decides.
TEST(WatchStream, DeepOrHugeValuesEndNoWatch) {
  auto object = [](const std::string& value) { return R"({"a":)" + value + "}"; };
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  for (const std::string& value :
       {nested(400), nested(1500), nested(400'000), std::string("99999999999999999999"), std::string("-1e19"),
        std::string("-10000000000000000000")}) {
    Parsed parsed = ParseWhole(Line("ADDED", object(value)) + Line("DELETED", "{}"));
    EXPECT_TRUE(parsed.end.ok()) << value.substr(0, 30);
    ASSERT_EQ(parsed.frames.size(), 2u) << value.substr(0, 30);
    EXPECT_EQ(parsed.frames[0].object, object(value));
    EXPECT_TRUE(IsJson(object(value)));
  }
  EXPECT_TRUE(
      ParseWhole(Line("ADDED", object(std::string(1500, '[') + std::string(1499, ']')))).end.unknown());
}

TEST(WatchStream, IsJsonWantsOneWholeValue) {
  for (const char* good : {"{}", " [1,2] ", "\"x\"", "1", "null"}) EXPECT_TRUE(IsJson(good)) << good;
  for (const char* bad : {"", " ", "{", "{}{}", "{\"a\":}", "nul", "[1,]", "<html>"})
    EXPECT_FALSE(IsJson(bad)) << bad;
}

}  // namespace
}  // namespace lockstep::kube
