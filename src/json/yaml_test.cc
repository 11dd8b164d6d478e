#include "json/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"
#include "json/yaml_scalar.h"

namespace lockstep::json {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The single document of `text`.
Doc Yaml(std::string_view text) {
  Result<std::vector<Doc>> documents = ParseYaml(text);
  if (!documents.ok()) return Doc("ERROR: " + documents.error().message);
  return documents->size() == 1 ? documents->front()
                                : Doc("ERROR: documents: " + std::to_string(documents->size()));
}

std::string ErrorOf(std::string_view text, Limits limits = {}) {
  Result<std::vector<Doc>> documents = ParseYaml(text, limits);
  return documents.ok() ? "" : documents.error().message;
}

TEST(ParseYaml, ReadsAManifest) {
  EXPECT_EQ(Yaml(R"(
# a job
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: "bert"   # the name
  labels: {team: nlp, tier: 'a: b'}
spec:
  replicas: 2
  args: [--epochs, "3", -v]
  command:
  - sh
  - |
    echo one
    echo two
  - >-
    folded
    text
)"),
            *Parse(R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                       "metadata": {"name": "bert", "labels": {"team": "nlp", "tier": "a: b"}},
                       "spec": {"replicas": 2, "args": ["--epochs", "3", "-v"],
                                "command": ["sh", "echo one\necho two\n", "folded text"]}})"));
}

TEST(ParseYaml, ReadsStreamsAndLeavesOutEmptyDocuments) {
  EXPECT_THAT(*ParseYaml("---\na: 1\n---\n# nothing\n---\n---\nb: 2\n...\n---\nnull\n"),
              ElementsAre(Doc{{"a", 1}}, Doc{{"b", 2}}));
  EXPECT_THAT(*ParseYaml(""), ElementsAre());
  EXPECT_THAT(*ParseYaml("# only a comment\n"), ElementsAre());
  EXPECT_THAT(*ParseYaml("%YAML 1.1\n---\na: 1\n"), ElementsAre(Doc{{"a", 1}}));
}

TEST(ParseYaml, ReadsJson) {
  EXPECT_EQ(Yaml("{\"a\":1,\"b\":[true,null,\"x\\ny\\u00fc\\/\"],\n\t\"c\":{}}"),
            *Parse("{\"a\":1,\"b\":[true,null,\"x\\ny\\u00fc/\"],\"c\":{}}"));
}

TEST(ResolvePlainScalar, ReadsAsGoYamlDoes) {
  const std::pair<const char*, Doc> cases[] = {{"", nullptr},
                                               {"~", nullptr},
                                               {"null", nullptr},
                                               {"Null", nullptr},
                                               {"nULL", "nULL"},
                                               {"yes", true},
                                               {"On", true},
                                               {"y", true},
                                               {"TRUE", true},
                                               {"no", false},
                                               {"OFF", false},
                                               {"N", false},
                                               {"yEs", "yEs"},
                                               {"truely", "truely"},
                                               {"0", 0},
                                               {"42", 42},
                                               {"-7", -7},
                                               {"+7", 7},
                                               {"0644", 420},
                                               {"0o17", 15},
                                               {"0x1F", 31},
                                               {"0b101", 5},
                                               {"-0x10", -16},
                                               {"1_000", 1000},
                                               {"08", 8},
                                               {"9223372036854775807", INT64_MAX},
                                               {"-9223372036854775808", INT64_MIN},
                                               {"18446744073709551615", UINT64_MAX},
                                               {"1.5", 1.5},
                                               {"-.5", -.5},
                                               {".5", .5},
                                               {"1.", 1},
                                               {"1e3", 1000},
                                               {"1.5E+3", 1500},
                                               {"2.0", 2},
                                               {"1e400", "1e400"},
                                               {"0x", "0x"},
                                               {"1.2.3", "1.2.3"},
                                               {"1Gi", "1Gi"},
                                               {"12:30", "12:30"},
                                               {".", "."},
                                               {"..", ".."},
                                               {"-", "-"},
                                               {"+", "+"},
                                               {"--1", "--1"},
                                               {"1e", "1e"},
                                               {"500m", "500m"},
                                               {"2026-03-01", "2026-03-01"},
                                               {"2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
                                               {"inf", "inf"},
                                               {"nan", "nan"},
                                               {"0x1p4", "0x1p4"},
                                               {"<<", "<<"},
                                               {"bert", "bert"}};
  for (const auto& [text, value] : cases) {
    Doc resolved = ResolvePlainScalar(text);
    EXPECT_EQ(resolved, value) << text;
    EXPECT_EQ(resolved.is_number_float(), value.is_number_float()) << text;
  }
}

TEST(ParseYaml, QuotesAndTagsDecideTheType) {
  EXPECT_EQ(Yaml("[\"1\", 'yes', !!str 1, !!int 7, !!float 1.5, !!bool on, !!null ~, !mine 5, ! 5]"),
            *Parse(R"(["1", "yes", "1", 7, 1.5, true, null, "5", "5"])"));
  EXPECT_THAT(ErrorOf("a: !!int five"), HasSubstr("line 1, column 4: not a value of the tag int"));
  EXPECT_THAT(ErrorOf("a: !!binary aGk="), HasSubstr("not a value of the tag binary"));
  EXPECT_THAT(ErrorOf("a: .inf"), HasSubstr("line 1, column 4: JSON has no .inf"));
}

TEST(ParseYaml, KeysBecomeStrings) {
  EXPECT_EQ(Yaml("{1: a, yes: b, 1.5: c, \"2\": d}"),
            *Parse(R"({"1": "a", "true": "b", "1.5": "c", "2": "d"})"));
  EXPECT_THAT(ErrorOf("~: a"), HasSubstr("a key must be a string, is null"));
  EXPECT_THAT(ErrorOf("? [a]\n: b"), HasSubstr("a key must be a scalar"));
  EXPECT_THAT(ErrorOf("a: &x {k: v}\n? *x\n: b"), HasSubstr("a key must be a string, is object"));
}

TEST(ParseYaml, DuplicateKeysAreErrors) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\na: 3\n"), "line 3, column 1: the key \"a\" is there twice");
  EXPECT_THAT(ErrorOf("1: x\n\"1\": y\n"), HasSubstr("the key \"1\" is there twice"));
  EXPECT_THAT(ErrorOf("x: {a: 1, a: 1}"), HasSubstr("line 1, column 11"));
}

TEST(ParseYaml, AnchorsAliasesAndMerges) {
  EXPECT_EQ(
      Yaml("base: &b {x: 1, z: 2}\nuse: *b\nmerged: {<<: *b, z: 3}\nlate: {z: 3, <<: *b}"),
      *Parse(
          R"({"base": {"x":1,"z":2}, "use": {"x":1,"z":2}, "merged": {"x":1,"z":3}, "late": {"x":1,"z":3}})"));
  EXPECT_EQ(Yaml("- &a {x: 1}\n- &b {x: 2, z: 2}\n- {<<: [*a, *b]}")[2], *Parse(R"({"x": 1, "z": 2})"));
  EXPECT_EQ(Yaml("{\"<<\": 1}"), *Parse(R"({"<<": 1})"));
  EXPECT_EQ(Yaml("- &a one\n- &a two\n- *a"), *Parse(R"(["one", "two", "two"])"));
  EXPECT_THAT(ErrorOf("{<<: 5}"), HasSubstr("<< must merge a map or a list of maps"));
  EXPECT_THAT(ErrorOf("a: &x [*x]"), HasSubstr("alias inside its own anchor"));
  EXPECT_NE(ErrorOf("a: *nobody"), "");
}

TEST(ParseYaml, AnAliasBombIsStopped) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string last = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + last;
    for (int j = 0; j < 9; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("anchors and aliases expand to more than 100000 nodes"));
  std::string big = "- &a \"" + std::string(1 << 20, 'x') + "\"\n";
  for (int i = 0; i < 1000; ++i) big += "- *a\n";
  EXPECT_THAT(ErrorOf(big), HasSubstr("expand to more than"));
  std::string harmless = "- &a {image: x}\n";
  for (int i = 0; i < 5000; ++i) harmless += "- *a\n";
  EXPECT_EQ(Yaml(harmless).size(), 5001u);
}

TEST(ParseYaml, DepthIsBoundedThroughAliasesToo) {
  auto nested = [](int depth) { return std::string(depth, '[') + "1" + std::string(depth, ']'); };
  EXPECT_EQ(ErrorOf(nested(100), {.max_depth = 100}), "");
  EXPECT_EQ(ErrorOf(nested(101), {.max_depth = 100}), "line 1, column 101: nested deeper than 100 levels");
  EXPECT_NE(ErrorOf(nested(100000)), "");
  EXPECT_NE(ErrorOf(std::string(100000, '[')), "");
  EXPECT_NE(ErrorOf(std::string(100000, '{')), "");
  std::string blocks;
  for (int i = 0; i < 3000; ++i) blocks += "- ";
  EXPECT_NE(ErrorOf(blocks), "");
  std::string chain = "- &a0 " + nested(9) + "\n";
  for (int i = 1; i < 20; ++i) {
    chain += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(ErrorOf(chain, {.max_depth = 29}), "");
  EXPECT_THAT(ErrorOf(chain, {.max_depth = 28}), HasSubstr("nested deeper than 28 levels"));
}

TEST(ParseYaml, ErrorsNameLineAndColumn) {
  EXPECT_THAT(ErrorOf("a: 1\nb: [1, 2\n"), HasSubstr("line 3, column 1"));
  EXPECT_THAT(ErrorOf("a: b: c"), HasSubstr("line 1, column 5"));
  EXPECT_THAT(ErrorOf("a: \"open"), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf("a: @x"), HasSubstr("line 1"));
  EXPECT_EQ(ErrorOf("a: 1", {.max_bytes = 3}), "larger than 3 bytes");
}

TEST(ParseYaml, RefusesWhatIsNotUtf8Text) {
  EXPECT_EQ(ErrorOf(std::string_view("a: 1\n\x04 b: 2", 11)), "a control character at byte 5");
  EXPECT_NE(ErrorOf(std::string_view("\xFE\xFF\0a", 4)), "");
  EXPECT_NE(ErrorOf(std::string_view("a\0:\0 \0", 6)), "");
  EXPECT_EQ(Yaml("\xEF\xBB\xBF"
                 "a: 1"),
            *Parse("{\"a\": 1}"));
}

TEST(DumpYaml, ReadsAsPeopleWriteIt) {
  Doc doc = *Parse(R"({"kind": "Pod", "spec": {"containers": [{"name": "a", "args": ["-v", "3", 3, "x y"],
      "script": "echo one\necho two\n", "env": [], "limits": {}}, {"name": "yes"}], "none": null, "on": true,
      "grid": [[1, 2], [3]], "half": 0.5, "text": "a: b"}})");
  EXPECT_EQ(DumpYaml(doc),
            "kind: Pod\n"
            "spec:\n"
            "  containers:\n"
            "  - args:\n"
            "    - \"-v\"\n"
            "    - \"3\"\n"
            "    - 3\n"
            "    - x y\n"
            "    env: []\n"
            "    limits: {}\n"
            "    name: a\n"
            "    script: |\n"
            "      echo one\n"
            "      echo two\n"
            "  - name: \"yes\"\n"
            "  grid:\n"
            "  - - 1\n"
            "    - 2\n"
            "  - - 3\n"
            "  half: 0.5\n"
            "  none: null\n"
            "  \"on\": true\n"
            "  text: \"a: b\"\n");
}

TEST(DumpYaml, LongKeysAreReadBack) {
  Doc doc = {{std::string(3000, 'k'), {{"a", 1}, {"b", {1, 2}}}}, {"z", std::string(3000, ':')}};
  EXPECT_EQ(Yaml(DumpYaml(doc)), doc);
}

RC_GTEST_PROP(DumpYaml, IsReadBack, ()) {
  Doc doc = Doc::object();
  doc["x"] = *ArbitraryDoc();
  RC_ASSERT(Yaml(DumpYaml(doc)) == doc);
}

RC_GTEST_PROP(DumpYaml, TextIsReadBack, ()) {
  std::string text = *ArbitraryText();
  Doc doc = {{"value", text}, {"list", {text}}};
  doc["keys"][text] = 1;
  RC_ASSERT(Yaml(DumpYaml(doc)) == doc);
}

RC_GTEST_PROP(ParseYaml, NeverCrashes, ()) {
  std::string text = *ArbitraryText() + *ArbitraryText() + *ArbitraryText();
  Result<std::vector<Doc>> documents = ParseYaml(text);
  if (!documents.ok()) RC_ASSERT(!documents.error().message.empty());
}

}  // namespace
}  // namespace lockstep::json
