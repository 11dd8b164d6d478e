#include "kube/model/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"

namespace lockstep::kube {
namespace {

using ::testing::HasSubstr;

const Labels kLabels = {{"app", "web"}, {"tier", "7"}, {"empty", ""}, {"example.com/zone", "eu-1"}};

TEST(ParseLabelSelector, MatchesAsKubernetesDoes) {
  struct Case {
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"", true},
      {"  ", true},
      {"app=web", true},
      {"app==web", true},
      {"app = web", true},
      {"app=db", false},
      {"none=web", false},
      {"app!=db", true},
      {"app!=web", false},
      {"none!=web", true},
      {"app in (web)", true},
      {"app in (db,web)", true},
      {"app in ( db , cache )", false},
      {"none in (web)", false},
      {"app notin (db,cache)", true},
      {"app notin (db,web)", false},
      {"none notin (web)", true},
      {"app", true},
      {"none", false},
      {"!none", true},
      {"! none", true},
      {"!app", false},
      {"empty=", true},
      {"empty", true},
      {"app=", false},
      {"none=", false},
      {"empty!=", false},
      {"none!=", true},
      {"empty in (,x)", true},
      {"empty in (x,)", true},
      {"empty in ()", true},
      {"empty notin (,)", false},
      {"tier>6", true},
      {"tier>7", false},
      {"tier<8", true},
      {"tier<7", false},
      {"app>1", false},
      {"none<9", false},
      {"tier > 5", true},
      {"empty>0", false},
      {"example.com/zone=eu-1", true},
      {"example.com/zone in (eu-1,eu-2),app,!none,tier>1", true},
      {"app=web,tier=8", false},
      {"in=x", false},
      {"notin", false},
  };
  for (const Case& c : cases) {
    Result<LabelSelector> selector = ParseLabelSelector(c.text);
    ASSERT_TRUE(selector.ok()) << selector.error().message;
    EXPECT_EQ(selector->Matches(kLabels), c.matches) << c.text;
    EXPECT_EQ(*ParseLabelSelector(selector->text()), *selector) << c.text << " became " << selector->text();
  }
}

TEST(ParseLabelSelector, RefusesEverythingElse) {
  const char* wrong[] = {
      ",",      "a,",         ",a",         "a,,b",       "=",    "=x",        "!",
      "!!a",    "a=b=c",      "a===b",      "a=!b",       "a in", "a in (",    "a in (b",
      "a in b", "a in (b c)", "a in (b))",  "a notin",    "a b",  "a>x",       "a>",
      "a>-5",   "a<1.5",      "a>1,",       "a in ((b))", "(a)",  "a<>b",      "-a=b",
      "a-=b",   "a=-b",       "a=b-",       "/a=b",       "a/=b", "a/b/c=d",   "Example.com/a=b",
      "a=b/c",  "a=b:c",      "\xc3\xbc=b", "a!b",        "!a=b", "a in (b),", "a&b",
      "a=b\x01"};
  for (const char* text : wrong) EXPECT_FALSE(ParseLabelSelector(text).ok()) << text;
  EXPECT_FALSE(ParseLabelSelector(std::string(64, 'a')).ok());
  EXPECT_TRUE(ParseLabelSelector(std::string(63, 'a')).ok());
  EXPECT_FALSE(ParseLabelSelector("a=" + std::string(64, 'b')).ok());
  EXPECT_FALSE(ParseLabelSelector(std::string(254, 'a') + "/b").ok());
  EXPECT_EQ(ParseLabelSelector("app=web,,x").error().message,
            "not a label selector: \"app=web,,x\": must have a label key before byte 9");
  EXPECT_THAT(ParseLabelSelector("a in (b").error().message, HasSubstr("must have a comma or )"));
}

TEST(LabelSelector, TextIsCanonical) {
  EXPECT_EQ(ParseLabelSelector(" tier in (c, b,b),app = x ,!old,gpu,e!=f,h notin (z,y),k>5")->text(),
            "app=x,e!=f,gpu,h notin (y,z),k>5,!old,tier in (b,c)");
  EXPECT_EQ(*ParseLabelSelector("a=1,b=2"), *ParseLabelSelector("b==2,a in (1)"));
}

TEST(ParseLabelSelector, ReadsDocuments) {
  LabelSelector selector =
      *ParseLabelSelector(*json::Parse(R"({"matchLabels": {"app": "web"}, "matchExpressions": [
      {"key": "tier", "operator": "In", "values": ["7", "6", "7"]}, {"key": "x", "operator": "NotIn", "values": ["y"]},
      {"key": "app", "operator": "Exists"}, {"key": "none", "operator": "DoesNotExist", "values": []}]})"));
  EXPECT_EQ(selector.text(), "app=web,app,!none,tier in (6,7),x!=y");
  EXPECT_TRUE(selector.Matches(kLabels));
  EXPECT_TRUE(ParseLabelSelector(json::Doc::object())->Matches({}));
}

std::string DocError(const char* text) {
  Result<LabelSelector> selector = ParseLabelSelector(*json::Parse(text));
  return selector.ok() ? "" : selector.error().message;
}

TEST(ParseLabelSelector, ErrorsOfDocumentsNameThePath) {
  EXPECT_EQ(DocError("null"), "selector: must be an object, is null");
  EXPECT_EQ(DocError("[]"), "selector: must be an object, is array");
  EXPECT_EQ(DocError(R"({"matchLabels": []})"), "matchLabels: must be an object, is array");
  EXPECT_EQ(DocError(R"({"matchLabels": {"a.b/c": 1}})"), "matchLabels.a.b/c: must be a string, is number");
  EXPECT_EQ(DocError(R"({"matchExpressions": {}})"), "matchExpressions: must be an array, is object");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"operator": "Exists"}]})"),
            "matchExpressions[0].key: must not be empty");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"key": "a"}]})"),
            "matchExpressions[0].operator: not an operator here: \"\"");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})"),
            "matchExpressions[0].operator: not an operator here: \"Gt\"");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"key": "a", "operator": "In"}]})"),
            "matchExpressions[0]: values: must not be empty for In and NotIn");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]})"),
            "matchExpressions[0]: values: must be empty for Exists and DoesNotExist");
  EXPECT_EQ(DocError(R"({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", 5]}]})"),
            "matchExpressions[0].values[1]: must be a string, is number");
}

NodeConstraint Constraint(const char* text) {
  Result<NodeConstraint> constraint = ParseNodeConstraint(*json::Parse(text));
  EXPECT_TRUE(constraint.ok()) << constraint.error().message;
  return constraint.ok() ? *constraint : NodeConstraint{};
}

std::string WithTerms(const std::string& terms) {
  return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": )" +
         terms + "}}}}";
}

TEST(ParseNodeConstraint, NodeSelectorNeedsEveryPair) {
  EXPECT_TRUE(Constraint("{}").empty());
  EXPECT_TRUE(Constraint("{}").Matches("n", {}));
  NodeConstraint constraint = Constraint(R"({"nodeSelector": {"app": "web", "tier": "7"}})");
  EXPECT_FALSE(constraint.empty());
  EXPECT_TRUE(constraint.Matches("n", kLabels));
  EXPECT_FALSE(constraint.Matches("n", {{"app", "web"}}));
  EXPECT_FALSE(constraint.Matches("n", {}));
}

TEST(ParseNodeConstraint, AffinityTermsMatchAsInKubernetes) {
  struct Case {
    const char* terms;
    bool matches;  // node-a with kLabels
  };
  const Case cases[] = {
      {R"([{"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}])", true},
      {R"([{"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["web"]}]}])", true},
      {R"([{"matchExpressions": [{"key": "none", "operator": "In", "values": [""]}]}])", false},
      {R"([{"matchExpressions": [{"key": "empty", "operator": "In", "values": [""]}]}])", true},
      {R"([{"matchExpressions": [{"key": "app", "operator": "Exists"}]}])", true},
      {R"([{"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}])", false},
      {R"([{"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}])", true},
      {R"([{"matchExpressions": [{"key": "tier", "operator": "Gt", "values": ["6"]}]}])", true},
      {R"([{"matchExpressions": [{"key": "tier", "operator": "Gt", "values": ["7"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "tier", "operator": "Lt", "values": ["+8"]}]}])", true},
      {R"([{"matchExpressions": [{"key": "tier", "operator": "Lt", "values": ["7.5"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["0"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "none", "operator": "Lt", "values": ["9"]}]}])", false},
      {R"([{"matchExpressions": [{"key": "tier", "operator": "Gt", "values": ["-99999999999999999999"]}]}])",
       false},
      {R"([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}])", true},
      {R"([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-b"]}]}])", false},
      {R"([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["node-b"]}]}])", true},
      // Expressions and fields of one term must all hold; one of several terms is enough.
      {R"([{"matchExpressions": [{"key": "app", "operator": "Exists"}],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-b"]}]}])",
       false},
      {R"([{"matchExpressions": [{"key": "none", "operator": "Exists"}]},
           {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-a"]}]}])",
       true},
      // An empty term matches nothing, and so does an empty list of terms.
      {R"([{}])", false},
      {R"([{"matchExpressions": [], "matchFields": []}])", false},
      {R"([{}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}])", true},
      {R"([])", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Constraint(WithTerms(c.terms).c_str()).Matches("node-a", kLabels), c.matches) << c.terms;
  }
}

TEST(ParseNodeConstraint, SelectorAndAffinityMustBothHold) {
  json::Doc spec =
      *json::Parse(WithTerms(R"([{"matchExpressions": [{"key": "app", "operator": "Exists"}]}])"));
  spec["nodeSelector"] = {{"tier", "8"}};
  EXPECT_FALSE(ParseNodeConstraint(spec)->Matches("n", kLabels));
  spec["nodeSelector"] = {{"tier", "7"}};
  EXPECT_TRUE(ParseNodeConstraint(spec)->Matches("n", kLabels));
}

TEST(ParseNodeConstraint, PreferencesAndNullsConstrainNothing) {
  EXPECT_TRUE(Constraint(R"({"nodeSelector": null, "affinity": null})").empty());
  EXPECT_TRUE(Constraint(R"({"affinity": {"podAntiAffinity": {}, "nodeAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}}})")
                  .empty());
}

TEST(ParseNodeConstraint, ErrorsNameThePath) {
  auto error = [](const std::string& text) {
    Result<NodeConstraint> constraint = ParseNodeConstraint(*json::Parse(text));
    return constraint.ok() ? "" : constraint.error().message;
  };
  const std::string at =
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  EXPECT_EQ(error(R"({"nodeSelector": {"a": 1}})"), "nodeSelector.a: must be a string, is number");
  EXPECT_EQ(error(R"({"affinity": 1})"), "affinity: must be an object, is number");
  EXPECT_EQ(error(R"({"affinity": {"nodeAffinity": []}})"),
            "affinity.nodeAffinity: must be an object, is array");
  EXPECT_EQ(error(WithTerms("{}")), at + ": must be an array, is object");
  EXPECT_EQ(error(WithTerms("[1]")), at + "[0]: must be an object, is number");
  EXPECT_EQ(error(WithTerms(R"([{}, {"matchExpressions": [{"key": "a", "operator": "Near"}]}])")),
            at + "[1].matchExpressions[0].operator: not an operator here: \"Near\"");
  EXPECT_EQ(
      error(WithTerms(R"([{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1", "2"]}]}])")),
      at + "[0].matchExpressions[0]: values: must be one value for Gt and Lt");
  EXPECT_EQ(
      error(WithTerms(R"([{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["x"]}]}])")),
      at + "[0].matchFields[0].key: must be metadata.name, is \"metadata.uid\"");
  EXPECT_EQ(error(WithTerms(R"([{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}])")),
            at + "[0].matchFields[0].operator: not an operator here: \"Exists\"");
  EXPECT_EQ(error(WithTerms(
                R"([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x","y"]}]}])")),
            at + "[0].matchFields[0]: values: must be one name");
}

RC_GTEST_PROP(ParseLabelSelector, TextIsReadBack, ()) {
  LabelSelector selector;
  static const std::vector<std::vector<std::string>> kValues = {{"a"}, {""}, {"a", "b"}, {"", "in"}};
  auto word = rc::gen::element<std::string>("a", "b-c", "x.y/z", "in", "notin", "A1", "7");
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    Requirement requirement{.key = *word, .op = SelectorOp(*rc::gen::inRange(0, 6))};
    if (requirement.op <= SelectorOp::kNotIn) {
      requirement.values = *rc::gen::elementOf(kValues);
    } else if (requirement.op >= SelectorOp::kGt) {
      requirement.values = {std::to_string(*rc::gen::inRange(0, 100))};
    }
    selector.requirements.push_back(requirement);
  }
  std::ranges::sort(selector.requirements);
  Result<LabelSelector> again = ParseLabelSelector(selector.text());
  RC_ASSERT(again.ok());
  RC_ASSERT((*again == selector));
}

RC_GTEST_PROP(ParseNodeConstraint, NeverCrashes, ()) {
  json::DocShape shape{
      .keys = {"nodeSelector", "affinity", "nodeAffinity", "nodeSelectorTerms", "matchExpressions",
               "requiredDuringSchedulingIgnoredDuringExecution", "matchFields", "key", "operator", "values"},
      .values = {"In", "NotIn", "Gt", "metadata.name", "a", json::Doc::array({"a"}),
                 json::Doc::array({"5"})}};
  json::Doc spec = *json::ArbitraryDoc(shape, 6);
  if (auto constraint = ParseNodeConstraint(spec); constraint.ok()) (void)constraint->Matches("a", kLabels);
  if (auto selector = ParseLabelSelector(spec); selector.ok()) (void)selector->Matches(kLabels);
}

}  // namespace
}  // namespace lockstep::kube
