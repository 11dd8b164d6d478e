#include "kube/client/http_call.h"

#include <gtest/gtest.h>

#include "json/doc.h"

namespace lockstep::kube {
namespace {

HttpCall Build(const Request& request) { return BuildCall(request, "lockstep", seconds{30}); }

TEST(HttpCall, PathsOfScopesAndGroups) {
  EXPECT_EQ(Build({.resource = &kPods, .ns = "a", .name = "p"}).target,
            "/api/v1/namespaces/a/pods/p?timeout=30s");
  EXPECT_EQ(Build({.resource = &kNodes, .name = "n"}).target, "/api/v1/nodes/n?timeout=30s");
  EXPECT_EQ(Build({.verb = Verb::kList, .resource = &kPods}).target, "/api/v1/pods?timeout=30s");
  EXPECT_EQ(Build({.resource = &kPyTorchJobs, .ns = "a", .name = "j", .subresource = "status"}).target,
            "/apis/kubeflow.org/v1/namespaces/a/pytorchjobs/j/status?timeout=30s");
  // A namespace is an object of no namespace.
  EXPECT_EQ(Build({.resource = &kNamespaces, .name = "a"}).target, "/api/v1/namespaces/a?timeout=30s");
}

TEST(HttpCall, HostileNamesStayInTheirSegment) {
  EXPECT_EQ(Build({.resource = &kPods, .ns = "../..", .name = "a/b?c#d e%"}).target,
            "/api/v1/namespaces/..%2F../pods/a%2Fb%3Fc%23d%20e%25?timeout=30s");
}

TEST(HttpCall, WritesNameTheFieldManager) {
  HttpCall create =
      Build({.verb = Verb::kCreate, .resource = &kPods, .ns = "a", .body = "{}", .dry_run = true});
  EXPECT_EQ(create.method, "POST");
  EXPECT_EQ(create.target, "/api/v1/namespaces/a/pods?fieldManager=lockstep&dryRun=All&timeout=30s");
  EXPECT_EQ(create.content_type, "application/json");
  EXPECT_EQ(create.body, "{}");
  EXPECT_EQ(Build({.verb = Verb::kUpdate, .resource = &kNodes, .name = "n"}).method, "PUT");
}

TEST(HttpCall, PatchesHaveTheirContentType) {
  auto type = [](PatchType patch) {
    HttpCall call = Build({.verb = Verb::kPatch, .resource = &kNodes, .name = "n", .patch = patch});
    EXPECT_EQ(call.method, "PATCH");
    return call.content_type;
  };
  EXPECT_EQ(type(PatchType::kJson), "application/json-patch+json");
  EXPECT_EQ(type(PatchType::kMerge), "application/merge-patch+json");
  EXPECT_EQ(type(PatchType::kStrategicMerge), "application/strategic-merge-patch+json");
}

TEST(HttpCall, DeletesCarryTheirOptionsInTheBody) {
  HttpCall call = Build({.verb = Verb::kDelete,
                         .resource = &kPods,
                         .ns = "a",
                         .name = "p",
                         .dry_run = true,
                         .grace_seconds = 1,
                         .precondition_uid = "u",
                         .precondition_resource_version = "7",
                         .propagation = "Background"});
  EXPECT_EQ(call.method, "DELETE");
  EXPECT_EQ(json::Parse(call.body).value(),
            (json::Doc{{"kind", "DeleteOptions"},
                       {"apiVersion", "v1"},
                       {"gracePeriodSeconds", 1},
                       {"preconditions", {{"uid", "u"}, {"resourceVersion", "7"}}},
                       {"propagationPolicy", "Background"},
                       {"dryRun", json::Doc::array({"All"})}}));
  // Grace 0 is a value, not an absence.
  EXPECT_EQ(
      json::GetInt(
          json::Parse(Build({.verb = Verb::kDelete, .resource = &kPods, .grace_seconds = 0}).body).value(),
          "gracePeriodSeconds", -1),
      0);
  EXPECT_EQ(json::Parse(Build({.verb = Verb::kDelete, .resource = &kPods}).body)->size(), 2u);
}

TEST(HttpCall, ListsArePagedAtOneVersion) {
  Request list{.verb = Verb::kList,
               .resource = &kPods,
               .label_selector = "a in (b,c),!d",
               .field_selector = "spec.nodeName=n",
               .limit = 500,
               .resource_version = "0"};
  EXPECT_EQ(Build(list).target,
            "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29%2C%21d&fieldSelector=spec.nodeName%3Dn&limit=500"
            "&resourceVersion=0&resourceVersionMatch=NotOlderThan&timeout=30s");
  list.continue_token = "next==";
  EXPECT_EQ(Build(list).target,
            "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29%2C%21d&fieldSelector=spec.nodeName%3Dn&limit=500"
            "&continue=next%3D%3D&timeout=30s");
}

TEST(HttpCall, ATimeoutBelowASecondIsNotSent) {
  EXPECT_EQ(BuildCall({.resource = &kNodes, .name = "n"}, "", milliseconds{999}).target, "/api/v1/nodes/n");
}

TEST(HttpCall, WatchesAskForBookmarksAndAnEnd) {
  EXPECT_EQ(
      WatchTarget({.resource = &kPods, .ns = "a", .label_selector = "x=y", .resource_version = "12"},
                  milliseconds{1500}),
      "/api/v1/namespaces/a/pods?watch=1&allowWatchBookmarks=true&labelSelector=x%3Dy&resourceVersion=12"
      "&timeoutSeconds=2");
}

}  // namespace
}  // namespace lockstep::kube
