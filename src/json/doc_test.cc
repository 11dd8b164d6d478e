#include "json/doc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"
#include "json/tolerant.h"

namespace lockstep::json {
namespace {

using ::testing::HasSubstr;

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Parse, ReadsOneWholeValue) {
  EXPECT_EQ(*Parse("{\"b\": [1, 2.5, null], \"a\": \"\\u00fc\"}"),
            (Doc{{"a", "\xc3\xbc"}, {"b", {1, 2.5, nullptr}}}));
  EXPECT_EQ(*Parse(" 7 "), Doc(7));
  EXPECT_EQ(*Parse("{\"a\": 1, \"a\": 2}"), (Doc{{"a", 2}}));
  EXPECT_EQ(Parse("18446744073709551615")->get<uint64_t>(), UINT64_MAX);
}

TEST(Parse, RefusesWhatIsNotJson) {
  const char* wrong[] = {"",    " ",   "{",    "[1,]",     "{\"a\":}", "{a:1}",       "'a'",
                         "nul", "1 2", "[1]x", "\"\x01\"", "\"\xff\"", "\"\\ud800\"", "01",
                         "+1",  "1.",  ".5",   "NaN",      "//x\n1",   "\xef\xbb\xbf"};
  for (const char* text : wrong) EXPECT_FALSE(Parse(text).ok()) << text;
  EXPECT_THAT(Parse("{\"a\": tru}").error().message, HasSubstr("not JSON at byte 10"));
}

TEST(Parse, BoundsDepthAndSize) {
  EXPECT_TRUE(Parse(Nested(512)).ok());
  EXPECT_EQ(Parse(Nested(513)).error().message, "nested deeper than 512 levels");
  EXPECT_FALSE(Parse(Nested(1000000)).ok());
  EXPECT_FALSE(Parse(std::string(1000000, '[')).ok());
  EXPECT_TRUE(Parse("[[1]]", {.max_depth = 2}).ok());
  EXPECT_FALSE(Parse("[[[1]]]", {.max_depth = 2}).ok());
  EXPECT_EQ(Parse("[1, 2]", {.max_bytes = 5}).error().message, "larger than 5 bytes");
}

TEST(Parse, LeavesOutWhatIsTooDeepWhereThatIsWanted) {
  for (std::string other : {"1", "99999999999999999999"}) {  // the second is read by the slow parser
    Result<Doc> doc = ParseTolerant(R"({"a":{"b":)" + other + R"(,"deep":)" + Nested(600) + R"(},"c":2})");
    ASSERT_TRUE(doc.ok()) << doc.error().message;
    EXPECT_EQ(GetInt(*doc, "c"), 2);
    EXPECT_TRUE((*doc)["a"].contains("b"));
  }
  EXPECT_FALSE(ParseTolerant("{\"a\":" + Nested(600)).ok());
}

TEST(Find, WalksObjectsAndArrays) {
  Doc doc = *Parse(R"({"spec": {"list": [{"name": "x"}, {"name": "y"}], "a.b": 1, "": 2}})");
  EXPECT_EQ(*Find(doc, "spec.list.1.name"), "y");
  EXPECT_EQ(Find(doc, ""), &doc);
  EXPECT_EQ(*Key(Find(doc, "spec"), "a.b"), 1);
  for (const char* missing : {"spec.list.2", "spec.list.-1", "spec.list.1x", "spec.list.0.name.deeper",
                              "nothing", "spec..x", "spec.list.99999999999999999999"}) {
    EXPECT_EQ(Find(doc, missing), nullptr) << missing;
  }
  EXPECT_EQ(Key(nullptr, "a"), nullptr);
}

TEST(TypedReads, FallBackOnOtherTypes) {
  Doc doc = *Parse(R"({"text": "x", "number": 7, "flag": true, "real": 1.5, "none": null})");
  EXPECT_EQ(GetString(doc, "text"), "x");
  EXPECT_EQ(GetString(doc, "number", "fallback"), "fallback");
  EXPECT_EQ(GetInt(doc, "number"), 7);
  EXPECT_EQ(GetInt(doc, "real", -1), -1);
  EXPECT_EQ(GetInt(doc, "text", -1), -1);
  EXPECT_TRUE(GetBool(doc, "flag"));
  EXPECT_TRUE(GetBool(doc, "none", true));
  EXPECT_EQ(GetString(Doc(5), "a.b", "f"), "f");
}

TEST(Dump, NeverFails) {
  EXPECT_EQ(Dump(Doc("\xff")), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(DumpPretty(Doc{{"b", 1}, {"a", Doc::array()}}), "{\n  \"a\": [],\n  \"b\": 1\n}");
}

RC_GTEST_PROP(Dump, IsReadBack, ()) {
  Doc doc = *ArbitraryDoc();
  RC_ASSERT(*Parse(Dump(doc)) == doc);
  RC_ASSERT(*Parse(DumpPretty(doc)) == doc);
}

RC_GTEST_PROP(Parse, NeverCrashes, (const std::string& text)) {
  Result<Doc> doc = Parse(text);
  if (doc.ok()) RC_ASSERT(Parse(Dump(*doc)).ok());
}

}  // namespace
}  // namespace lockstep::json
