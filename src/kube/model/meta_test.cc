#include "kube/model/meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseMeta, ReadsWhatLockstepNeeds) {
  json::Doc pod = *json::Parse(R"({"metadata": {"namespace": "team", "name": "a", "uid": "u-1",
      "resourceVersion": "42", "generation": 3, "labels": {"app": "x"}, "annotations": {"note": "n"},
      "creationTimestamp": "2026-03-01T12:00:00Z", "deletionTimestamp": "2026-03-01T12:00:30Z",
      "deletionGracePeriodSeconds": 30, "finalizers": ["one", "two"],
      "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-2"},
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "u-3", "controller": true}]}})");
  Meta meta = ParseMeta(pod);
  EXPECT_EQ(meta.key(), "team/a");
  EXPECT_EQ(KeyOf(pod), "team/a");
  EXPECT_EQ(meta.uid, "u-1");
  EXPECT_EQ(meta.resource_version, "42");
  EXPECT_EQ(meta.generation, 3);
  EXPECT_EQ(meta.label("app"), "x");
  EXPECT_EQ(meta.label("none"), "");
  EXPECT_EQ(meta.annotation("note"), "n");
  EXPECT_EQ(FormatTime(meta.created), "2026-03-01T12:00:00Z");
  EXPECT_EQ(*meta.deleted_at - meta.created, seconds{30});
  EXPECT_EQ(meta.grace_seconds, 30);
  EXPECT_THAT(meta.finalizers, ElementsAre("one", "two"));
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->uid, "u-3");
  EXPECT_EQ(meta.owners[0].controller, false);
}

TEST(ParseMeta, AClusterScopedObjectHasNoNamespace) {
  json::Doc node = {{"metadata", {{"name", "node-a"}}}};
  EXPECT_EQ(ParseMeta(node).key(), "node-a");
  EXPECT_EQ(KeyOf(node), "node-a");
  EXPECT_EQ(ParseMeta(node).controller(), nullptr);
  EXPECT_FALSE(ParseMeta(node).deleted_at.has_value());
}

TEST(ParseMeta, WhatIsOfAnotherTypeStaysEmpty) {
  Meta meta =
      ParseMeta(*json::Parse(R"({"metadata": {"namespace": 1, "name": ["a"], "uid": {}, "generation": "3",
      "labels": {"good": "x", "bad": 7, "worse": null}, "annotations": [], "creationTimestamp": "yesterday",
      "deletionTimestamp": 5, "deletionGracePeriodSeconds": 1.5, "finalizers": ["f", 2], "ownerReferences": [
        "x", {"name": 1, "controller": "yes"}]}})"));
  EXPECT_EQ(meta.key(), "");
  EXPECT_EQ(meta.generation, 0);
  EXPECT_EQ(meta.labels, (Labels{{"good", "x"}}));
  EXPECT_THAT(meta.annotations, IsEmpty());
  EXPECT_EQ(meta.created, WallTime{});
  EXPECT_FALSE(meta.deleted_at || meta.grace_seconds);
  EXPECT_THAT(meta.finalizers, ElementsAre("f"));
  ASSERT_EQ(meta.owners.size(), 1u);
  EXPECT_FALSE(meta.owners[0].controller);
  for (const char* text :
       {"null", "[]", "7", "{}", R"({"metadata": []})", R"({"metadata": null})", "[[{}]]"}) {
    EXPECT_EQ(ParseMeta(*json::Parse(text)).key(), "") << text;
    EXPECT_EQ(KeyOf(*json::Parse(text)), "") << text;
  }
}

RC_GTEST_PROP(ParseMeta, NeverCrashes, ()) {
  json::DocShape shape{.keys = {"metadata", "name", "namespace", "labels", "ownerReferences", "controller",
                                "deletionTimestamp", "finalizers"},
                       .values = {"x", true, "2026-03-01T12:00:00Z"}};
  json::Doc doc = {{"metadata", *json::ArbitraryDoc(shape)}};
  Meta meta = ParseMeta(doc);
  RC_ASSERT(meta.key() == KeyOf(doc));
}

}  // namespace
}  // namespace lockstep::kube
