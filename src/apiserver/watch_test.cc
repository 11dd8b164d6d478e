#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace lockstep::apiserver {
namespace {

using json::Doc;
using kube::Response;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Events as "+a", "~a", "-a".
struct Seer {
  WatchSink sink() {
    return [this](WatchNotice notice) {
      Doc object = *notice.Tree();
      events.push_back("+~-"[static_cast<int>(notice.type)] + json::GetString(object, "metadata.name"));
      last = std::move(object);
    };
  }
  std::vector<std::string> events;
  Doc last;
};

kube::WatchRequest Pods(const std::string& version, const std::string& labels = "",
                        const std::string& fields = "") {
  kube::WatchRequest watch;
  watch.resource = &kube::kPods;
  watch.resource_version = version;
  watch.label_selector = labels;
  watch.field_selector = fields;
  return watch;
}

TEST(Watch, GoesOnFromAVersion) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a"));
  std::string from = std::to_string(api.server.revision());
  api.Create(kube::kPods, PodDoc("b"));
  Seer seer;
  ASSERT_TRUE(api.server.StartWatch(Pods(from), seer.sink()).ok());
  api.Patch(kube::kPods, "a", {{"metadata", {{"labels", {{"x", "y"}}}}}});
  api.Delete(kube::kPods, "b", 0);
  api.Create(kube::kConfigMaps, ConfigDoc("c"));
  EXPECT_THAT(seer.events, ElementsAre("+b", "~a", "~b", "-b"));
  EXPECT_EQ(seer.last["metadata"]["resourceVersion"], std::to_string(api.server.revision() - 1))
      << "a removal carries its own version";
}

TEST(Watch, WithoutAVersionStartsWithWhatIs) {
  for (const char* version : {"", "0"}) {
    TestServer api;
    api.Create(kube::kPods, PodDoc("b"));
    api.Create(kube::kPods, PodDoc("a"));
    Seer seer;
    ASSERT_TRUE(api.server.StartWatch(Pods(version), seer.sink()).ok());
    EXPECT_THAT(seer.events, ElementsAre("+a", "+b"));
  }
}

TEST(Watch, ASelectorTurnsChangesIntoArrivalsAndDepartures) {
  TestServer api;
  Seer by_label, by_node;
  (void)api.server.StartWatch(Pods("1", "app=x"), by_label.sink());
  (void)api.server.StartWatch(Pods("1", "", "spec.nodeName=n"), by_node.sink());
  api.Create(kube::kPods, PodDoc("a"));
  api.Patch(kube::kPods, "a", {{"metadata", {{"labels", {{"app", "x"}}}}}});
  kube::Request bind = api.Make(kube::Verb::kCreate, kube::kPods, "a");
  bind.subresource = "binding";
  bind.body = R"({"target":{"name":"n"}})";
  api.Send(bind);
  api.Patch(kube::kPods, "a", {{"metadata", {{"labels", {{"app", "z"}}}}}});

  EXPECT_THAT(by_label.events, ElementsAre("+a", "~a", "-a"));
  EXPECT_EQ(by_label.last["metadata"]["labels"]["app"], "x") << "shown as it was when it still matched";
  EXPECT_EQ(by_label.last["metadata"]["resourceVersion"], std::to_string(api.server.revision()));
  EXPECT_THAT(by_node.events, ElementsAre("+a", "~a"));
}

TEST(Watch, SeesOneNamespaceOrAll) {
  TestServer api;
  Seer one, all;
  kube::WatchRequest watch = Pods("1");
  (void)api.server.StartWatch(watch, all.sink());
  watch.ns = "ns";
  (void)api.server.StartWatch(watch, one.sink());
  api.Create(kube::kPods, PodDoc("a"));
  api.ns = "other";
  api.Create(kube::kPods, PodDoc("b"));
  EXPECT_THAT(one.events, ElementsAre("+a"));
  EXPECT_THAT(all.events, ElementsAre("+a", "+b"));
}

TEST(Watch, FromTooLongAgoIsExpired) {
  TestServer api({.history_limit = 3});
  for (int i = 0; i < 5; ++i) api.Create(kube::kPods, PodDoc("p" + std::to_string(i)));
  Seer seer;
  auto old = api.server.StartWatch(Pods("2"), seer.sink());
  ASSERT_FALSE(old.ok());
  EXPECT_TRUE(old.error().gone());
  EXPECT_EQ(old.error().reason, "Expired");
  EXPECT_EQ(old.error().message, "too old resource version: 2 (3)");
  EXPECT_TRUE(api.server.StartWatch(Pods("3"), seer.sink()).ok());
  EXPECT_THAT(seer.events, ElementsAre("+p2", "+p3", "+p4"));

  std::string now = std::to_string(api.server.revision());
  api.server.Compact();
  EXPECT_TRUE(api.server.StartWatch(Pods(now), seer.sink()).ok());
  EXPECT_TRUE(api.server.StartWatch(Pods("5"), seer.sink()).error().gone());
}

TEST(Watch, BadRequestsAreRefused) {
  TestServer api;
  Seer seer;
  EXPECT_EQ(api.server.StartWatch(Pods("1", "a in ("), seer.sink()).error().code, 400);
  EXPECT_EQ(api.server.StartWatch(Pods("1", "", "spec.image=x"), seer.sink()).error().message,
            "field label not supported: spec.image");
  EXPECT_EQ(api.server.StartWatch(Pods("abc"), seer.sink()).error().code, 400);
  EXPECT_THAT(seer.events, IsEmpty());
}

TEST(Watch, EndsWhenItIsStopped) {
  TestServer api;
  Seer seer;
  WatchId id = *api.server.StartWatch(Pods("1", "", "spec.nodeName=n"), seer.sink());
  api.server.StopWatch(id);
  api.Create(kube::kPods, PodDoc("a", "n"));
  EXPECT_THAT(seer.events, IsEmpty());
}

TEST(List, SelectsByLabelsAndFields) {
  TestServer api;
  Doc pod = PodDoc("a", "n1");
  pod["metadata"]["labels"] = {{"app", "x"}};
  api.Create(kube::kPods, pod);
  api.Create(kube::kPods, PodDoc("b"));
  api.Create(kube::kPods, PodDoc("c", "n2"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods)), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods, "app=x")), ElementsAre("a"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods, "!app")), ElementsAre("b", "c"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods, "", "spec.nodeName=")), ElementsAre("b"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods, "", "spec.nodeName!=,spec.nodeName!=n1")), ElementsAre("c"));
  EXPECT_THAT(NamesOf(api.List(kube::kPods, "", "metadata.name==b,status.phase=Pending")), ElementsAre("b"));
  EXPECT_EQ(api.List(kube::kPyTorchJobs, "", "spec.x=1").status.code, 400)
      << "custom kinds have only metadata";
}

TEST(List, EventsAreFoundByWhatTheyAreAbout) {
  TestServer api;
  Doc event = {{"metadata", {{"name", "e"}}},
               {"involvedObject", {{"kind", "Pod"}, {"name", "a"}, {"namespace", "ns"}, {"uid", "u"}}},
               {"reason", "Started"}};
  EXPECT_TRUE(api.Create(kube::kEvents, event).status.ok());
  EXPECT_THAT(NamesOf(api.List(kube::kEvents, "", "involvedObject.uid=u,reason=Started")), ElementsAre("e"));
  event["metadata"]["name"] = "f";
  event["involvedObject"]["namespace"] = "other";
  EXPECT_EQ(api.Create(kube::kEvents, event).status.causes.at(0).field, "involvedObject.namespace");
}

TEST(List, ItemsOfBuiltInKindsHaveNoTypeAndCustomOnesDo) {
  TestServer api;
  api.Create(kube::kPods, PodDoc("a"));
  api.Create(kube::kPyTorchJobs, JobDoc("a"));
  Doc pods = *json::Parse(api.List(kube::kPods).body);
  EXPECT_EQ(pods["kind"], "PodList");
  EXPECT_FALSE(pods["items"][0].contains("kind"));
  Doc jobs = *json::Parse(api.List(kube::kPyTorchJobs).body);
  EXPECT_EQ(jobs["items"][0]["kind"], "PyTorchJob");
  EXPECT_EQ(jobs["metadata"]["resourceVersion"], std::to_string(api.server.revision()));
  Doc none = *json::Parse(api.List(kube::kGangs).body);
  EXPECT_EQ(none["items"], Doc::array());
}

TEST(List, PagesShowOneMoment) {
  TestServer api;
  for (const char* name : {"a", "b", "c", "d", "e"}) api.Create(kube::kPods, PodDoc(name));
  kube::Request list = api.Make(kube::Verb::kList, kube::kPods, "");
  list.limit = 2;
  Response page = api.Send(list);
  Doc first = *json::Parse(page.body);
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 3);
  api.Delete(kube::kPods, "c", 0);
  api.Create(kube::kPods, PodDoc("bb"));
  api.Patch(kube::kPods, "d", {{"metadata", {{"labels", {{"late", "yes"}}}}}});

  std::vector<std::string> names = NamesOf(page);
  while (true) {
    list.continue_token = json::GetString(*json::Parse(page.body), "metadata.continue");
    if (list.continue_token.empty()) break;
    page = api.Send(list);
    ASSERT_TRUE(page.status.ok());
    EXPECT_EQ(json::GetString(*json::Parse(page.body), "metadata.resourceVersion"),
              json::GetString(first, "metadata.resourceVersion"));
    EXPECT_EQ(page.body.find("late"), std::string::npos);
    for (const std::string& name : NamesOf(page)) names.push_back(name);
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "e"));

  list.continue_token = json::GetString(first, "metadata.continue");
  api.server.Compact();
  EXPECT_TRUE(api.Send(list).status.gone());
  list.continue_token = "nonsense";
  EXPECT_EQ(api.Send(list).status.code, 400);
}

TEST(List, AVersionFromTheFutureIsNotServed) {
  TestServer api;
  kube::Request list = api.Make(kube::Verb::kList, kube::kPods, "");
  list.resource_version = "1000";
  Response refused = api.Send(list);
  EXPECT_EQ(refused.status.code, 504);
  EXPECT_EQ(refused.status.causes.at(0).reason, "ResourceVersionTooLarge");
  EXPECT_TRUE(refused.status.transient());
}

}  // namespace
}  // namespace lockstep::apiserver
