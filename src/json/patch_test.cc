#include "json/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"

namespace lockstep::json {
namespace {

using ::testing::HasSubstr;

struct MergeCase {
  const char *target, *patch, *result;
};

// The table of RFC 7386, appendix A.
TEST(MergePatch, FollowsTheTableOfTheRfc) {
  const MergeCase cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const MergeCase& c : cases) {
    Doc target = *Parse(c.target);
    MergePatch(target, *Parse(c.patch));
    EXPECT_EQ(target, *Parse(c.result)) << c.target << " + " << c.patch;
  }
}

TEST(MergeDiff, SaysOnlyWhatChanged) {
  Doc from = *Parse(R"({"meta": {"name": "x", "labels": {"a": "1", "b": "2"}}, "list": [1], "gone": 1})");
  Doc to = *Parse(R"({"meta": {"name": "x", "labels": {"a": "1", "b": "3"}}, "list": [1, 2], "new": {}})");
  EXPECT_EQ(MergeDiff(from, to),
            *Parse(R"({"meta": {"labels": {"b": "3"}}, "list": [1, 2], "gone": null, "new": {}})"));
  EXPECT_EQ(MergeDiff(from, from), Doc::object());
}

RC_GTEST_PROP(MergeDiff, IsUndoneByMergePatch, ()) {
  Doc from = *ArbitraryDoc();
  Doc to = Doc::object();
  to["x"] = *ArbitraryDoc({.nulls = false});
  Doc target = Doc::object();
  target["x"] = from;
  Doc diff = MergeDiff(target, to);
  MergePatch(target, diff);
  RC_ASSERT(target == to);
  RC_ASSERT(MergeDiff(to, to) == Doc::object());
}

struct JsonCase {
  const char *target, *patch, *result;  // result null: refused
};

// Appendix A of RFC 6902 and the corners of the public json-patch-tests.
TEST(JsonPatch, FollowsTheRfc) {
  const JsonCase cases[] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])", R"({"baz":"qux","foo":"bar"})"},
      {R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
       R"({"foo":["bar","qux","baz"]})"},
      {R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
      {R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])", R"({"foo":["bar","baz"]})"},
      {R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])",
       R"({"baz":"boo","foo":"bar"})"},
      {R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
       R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
       R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
      {R"({"foo":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
       R"({"foo":["all","cows","eat","grass"]})"},
      {R"({"baz":"qux","foo":["a",2,"c"]})",
       R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])",
       R"({"baz":"qux","foo":["a",2,"c"]})"},
      {R"({"baz":"qux"})", R"([{"op":"test","path":"/baz","value":"bar"}])", nullptr},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])",
       R"({"foo":"bar","child":{"grandchild":{}}})"},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])",
       R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz/bat","value":"qux"}])", nullptr},
      {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
      {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":"10"}])", nullptr},
      {R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])",
       R"({"foo":["bar",["abc","def"]]})"},
      {R"({"foo":1})", R"([{"op":"add","path":"","value":[]}])", R"([])"},
      {R"({"foo":1})", R"([{"op":"replace","path":"","value":7}])", R"(7)"},
      {R"({"":1})", R"([{"op":"replace","path":"/","value":2}])", R"({"":2})"},
      {R"({"foo":1})", R"([{"op":"copy","from":"/foo","path":"/bar"}])", R"({"foo":1,"bar":1})"},
      {R"({"foo":1})", R"([{"op":"copy","from":"","path":"/bar"}])", R"({"foo":1,"bar":{"foo":1}})"},
      {R"({"foo":1})", R"([{"op":"move","from":"/foo","path":"/foo"}])", R"({"foo":1})"},
      {R"({"foo":{}})", R"([{"op":"move","from":"/foo","path":"/foo/bar"}])", nullptr},
      {R"({"foo":1})", R"([{"op":"move","from":"/bar","path":"/foo"}])", nullptr},
      {R"({"foo":null})", R"([{"op":"test","path":"/foo","value":null}])", R"({"foo":null})"},
      {R"({})", R"([{"op":"test","path":"/foo","value":null}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","path":"/foo","value":null}])", R"({"foo":null})"},
      {R"({"foo":1})", R"([{"op":"add","path":"/bar"}])", nullptr},
      {R"({"foo":1})", R"([{"op":"replace","path":"/bar","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"remove","path":"/bar"}])", nullptr},
      {R"({"foo":1})", R"([{"op":"remove","path":""}])", nullptr},
      {R"([1,2])", R"([{"op":"add","path":"/2","value":3}])", R"([1,2,3])"},
      {R"([1,2])", R"([{"op":"add","path":"/3","value":3}])", nullptr},
      {R"([1,2])", R"([{"op":"add","path":"/01","value":3}])", nullptr},
      {R"([1,2])", R"([{"op":"add","path":"/-1","value":3}])", nullptr},
      {R"([1,2])", R"([{"op":"add","path":"/1e0","value":3}])", nullptr},
      {R"([1,2])", R"([{"op":"remove","path":"/2"}])", nullptr},
      {R"([1,2])", R"([{"op":"remove","path":"/-"}])", nullptr},
      {R"([1,2])", R"([{"op":"test","path":"/0","value":1.0}])", R"([1,2])"},
      {R"({"foo":1})", R"([{"op":"spam","path":"/foo","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"path":"/foo","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","path":7,"value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","path":"foo","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","path":"/~2","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"add","path":"/~","value":1}])", nullptr},
      {R"({"foo":1})", R"([{"op":"copy","path":"/bar"}])", nullptr},
      {R"({"foo":1})", R"([5])", nullptr},
      {R"({"foo":1})", R"({"op":"add","path":"/foo","value":1})", nullptr},
      {R"({"foo":"x"})", R"([{"op":"add","path":"/foo/bar","value":1}])", nullptr},
      {R"({"foo":1})", R"([])", R"({"foo":1})"},
  };
  for (const JsonCase& c : cases) {
    Doc target = *Parse(c.target);
    Outcome error = JsonPatch(target, *Parse(c.patch));
    EXPECT_EQ(error.has_value(), c.result == nullptr) << c.target << " + " << c.patch;
    EXPECT_EQ(target, *Parse(c.result == nullptr ? c.target : c.result)) << c.target << " + " << c.patch;
  }
}

TEST(JsonPatch, ChangesNothingUnlessAllOperationsSucceed) {
  Doc target = *Parse(R"({"a": 1})");
  Outcome error =
      JsonPatch(target, *Parse(R"([{"op":"add","path":"/b","value":2},{"op":"remove","path":"/c"}])"));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message, "[1].path: there is no such place");
  EXPECT_EQ(target, *Parse(R"({"a": 1})"));
}

TEST(JsonPatch, ACopyBombIsStopped) {
  Doc operations = Doc::array();
  for (int i = 0; i < 64; ++i) {
    operations.push_back({{"op", "copy"}, {"from", ""}, {"path", "/" + std::to_string(i)}});
  }
  Doc target = *Parse(R"({"seed": "0123456789"})");
  EXPECT_THAT(JsonPatch(target, operations)->message, HasSubstr("copies more than"));
}

TEST(JsonPatch, DepthIsBounded) {
  Doc operations = Doc::array();
  std::string path;
  for (int i = 0; i < 600; ++i) {
    path += "/a";
    operations.push_back({{"op", "add"}, {"path", path}, {"value", Doc::object()}});
  }
  Doc target = Doc::object();
  EXPECT_EQ(JsonPatch(target, operations)->message, "[511].path: nested too deep");
}

RC_GTEST_PROP(JsonPatch, NeverCrashesAndIsAtomic, ()) {
  DocShape shape{
      .keys = {"op", "path", "from", "value"},
      .values = {"add", "remove", "replace", "move", "copy", "test", "/a", "/a/0", "", "/-", "/b/a"}};
  Doc target = *ArbitraryDoc();
  Doc operations = Doc::array();
  for (int i = 0; i < 4; ++i) operations.push_back(*ArbitraryDoc(shape, 2));
  Doc before = target;
  if (JsonPatch(target, operations)) RC_ASSERT(target == before);
}

Doc Strategic(const char* target, const char* patch) {
  Doc doc = *Parse(target);
  Outcome error = StrategicMergePatch(doc, *Parse(patch));
  EXPECT_FALSE(error.has_value()) << error->message;
  return doc;
}

TEST(StrategicMergePatch, MergesContainersByName) {
  EXPECT_EQ(
      Strategic(R"({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}})",
                R"({"spec": {"containers": [{"name": "b", "image": "z"}, {"name": "c"}]}})"),
      *Parse(R"({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "z"},
                                               {"name": "c"}]}})"));
}

TEST(StrategicMergePatch, KnowsTheMergeKeysWithinContainersAndTemplates) {
  EXPECT_EQ(Strategic(R"({"spec": {"template": {"spec": {"containers": [{"name": "a",
                          "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
                          "ports": [{"containerPort": 80, "name": "http"}],
                          "args": ["one", "two"], "volumeMounts": [{"mountPath": "/a", "name": "v"}]}]}}}})",
                      R"({"spec": {"template": {"spec": {"containers": [{"name": "a",
                          "env": [{"name": "X", "value": "9"}],
                          "ports": [{"containerPort": 81}],
                          "args": ["three"], "volumeMounts": [{"mountPath": "/a", "readOnly": true}]}]}}}})"),
            *Parse(R"({"spec": {"template": {"spec": {"containers": [{"name": "a",
                          "env": [{"name": "X", "value": "9"}, {"name": "Y", "value": "2"}],
                          "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}],
                          "args": ["three"], "volumeMounts": [{"mountPath": "/a", "name": "v",
                          "readOnly": true}]}]}}}})"));
}

TEST(StrategicMergePatch, MergesConditionsByTypeAndReplacesAtomicLists) {
  EXPECT_EQ(Strategic(R"({"spec": {"tolerations": [{"key": "a"}], "ports": [{"port": 1, "name": "x"}]},
                          "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]}})",
                      R"({"spec": {"tolerations": [{"key": "b"}], "ports": [{"port": 1, "nodePort": 30000}]},
                          "status": {"conditions": [{"type": "Ready", "status": "True", "reason": null},
                                                    {"type": "New", "status": "True"}]}})"),
            *Parse(R"({"spec": {"tolerations": [{"key": "b"}], "ports": [{"port": 1, "name": "x",
                                                                        "nodePort": 30000}]},
                       "status": {"conditions": [{"type": "Ready", "status": "True"},
                                                 {"type": "New", "status": "True"}]}})"));
}

TEST(StrategicMergePatch, ObeysDirectives) {
  const char* two = R"({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}})";
  EXPECT_EQ(Strategic(two, R"({"spec": {"containers": [{"name": "a", "$patch": "delete"}]}})"),
            *Parse(R"({"spec": {"containers": [{"name": "b"}]}})"));
  EXPECT_EQ(Strategic(two, R"({"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}})"),
            *Parse(R"({"spec": {"containers": [{"name": "c"}]}})"));
  EXPECT_EQ(Strategic(two, R"({"spec": {"$patch": "replace", "x": 1}})"), *Parse(R"({"spec": {"x": 1}})"));
  EXPECT_EQ(Strategic(two, R"({"spec": {"$patch": "delete"}})"), *Parse(R"({"spec": {}})"));
  EXPECT_EQ(Strategic(two, R"({"spec": {"containers": null}})"), *Parse(R"({"spec": {}})"));
  EXPECT_EQ(Strategic(R"({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}})",
                      R"({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"],
                                               "hostPath": {"path": "/x"}}]}})"),
            *Parse(R"({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}})"));
}

TEST(StrategicMergePatch, UnitesAndDeletesPlainValues) {
  EXPECT_EQ(
      Strategic(R"({"metadata": {"finalizers": ["a", "b"]}})", R"({"metadata": {"finalizers": ["b", "c"]}})"),
      *Parse(R"({"metadata": {"finalizers": ["a", "b", "c"]}})"));
  EXPECT_EQ(Strategic(R"({"metadata": {"finalizers": ["a", "b"]}})",
                      R"({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}})"),
            *Parse(R"({"metadata": {"finalizers": ["b"]}})"));
}

TEST(StrategicMergePatch, OrdersElementsAsAsked) {
  EXPECT_EQ(
      Strategic(R"({"status": {"conditions": [{"type": "A"}, {"type": "S"}, {"type": "B"}, {"type": "T"}]}})",
                R"({"status": {"$setElementOrder/conditions": [{"type": "N"}, {"type": "B"}, {"type": "A"}],
                          "conditions": [{"type": "N", "status": "True"}]}})"),
      *Parse(R"({"status": {"conditions": [{"type": "N", "status": "True"}, {"type": "S"}, {"type": "B"},
                                                 {"type": "A"}, {"type": "T"}]}})"));
}

TEST(StrategicMergePatch, NewPartsKeepNoDirectives) {
  EXPECT_EQ(Strategic("{}", R"({"spec": {"$setElementOrder/containers": [{"name": "a"}], "x": null,
                               "containers": [{"name": "a", "env": [{"name": "E", "$patch": "delete"}]}]}})"),
            *Parse(R"({"spec": {"containers": [{"name": "a", "env": []}]}})"));
}

TEST(StrategicMergePatch, RefusesWhatItCannotMerge) {
  const char* wrong[] = {"[]",
                         "7",
                         R"({"spec": {"containers": [{"image": "x"}]}})",
                         R"({"spec": {"containers": ["x"]}})",
                         R"({"spec": {"$patch": "explode"}})",
                         R"({"spec": {"$retainKeys": 1}})",
                         R"({"spec": {"$bogus": []}})",
                         R"({"spec": {"$setElementOrder/tolerations": []}})"};
  for (const char* patch : wrong) {
    Doc doc = *Parse(R"({"spec": {"a": 1}})");
    EXPECT_TRUE(StrategicMergePatch(doc, *Parse(patch)).has_value()) << patch;
    EXPECT_EQ(doc, *Parse(R"({"spec": {"a": 1}})"));
  }
  Doc doc = Doc::object();
  EXPECT_EQ(StrategicMergePatch(doc, *Parse(R"({"spec": {"containers": [{"image": "x"}]}})"))->message,
            "spec.containers: every element must have its merge key name");
}

RC_GTEST_PROP(StrategicMergePatch, NeverCrashes, ()) {
  DocShape shape{
      .keys = {"spec", "containers", "name", "env", "$patch", "$setElementOrder/env", "$retainKeys",
               "metadata", "finalizers", "$deleteFromPrimitiveList/finalizers"},
      .values = {"delete", "replace", "merge", "a", "b", Doc::array({"a"}), Doc::array({{{"name", "a"}}})}};
  Doc target = *ArbitraryDoc(shape), patch = *ArbitraryDoc(shape), before = target;
  if (StrategicMergePatch(target, patch)) RC_ASSERT(target == before);
}

}  // namespace
}  // namespace lockstep::json
