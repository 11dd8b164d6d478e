// kube/client against a real kube-apiserver ($KUBECONFIG, see tools/kube): the same calls the shell makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/real_loop.h"
#include "json/doc.h"
#include "kube/client/http_api.h"
#include "kube/client/kubeconfig.h"

namespace lockstep::kube {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// One readable line for each event: "ADDED a".
class Recorder final : public WatchHandler {
 public:
  void OnEvent(WatchEventType type, std::string object) override {
    static constexpr const char* kNames[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    json::Doc doc = *json::Parse(object);
    if (type == WatchEventType::kBookmark) {
      ++bookmarks;
    } else {
      events.push_back(std::string(kNames[static_cast<int>(type)]) + " " +
                       json::GetString(doc, "metadata.name"));
    }
    last_version = json::GetString(doc, "metadata.resourceVersion");
  }
  void OnEnd(Status status) override { end = std::move(status); }

  std::vector<std::string> events;
  int bookmarks = 0;
  std::string last_version;
  std::optional<Status> end;
};

// Each test has a namespace of its own.
class RealServerTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<ClientConfig> config = LoadKubeconfig();
    ASSERT_TRUE(config.ok()) << config.error().message;
    config_ = *config;
    Start();
    std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::transform(test, test.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    ns_ = "client-" + test + "-" + std::to_string(getpid());
    Response made =
        Call({.verb = Verb::kCreate,
              .resource = &kNamespaces,
              .body = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns_ + R"("}})"});
    ASSERT_TRUE(made.status.ok()) << made.status.message;
  }

  void Start(HttpApiOptions options = {}) {
    api_ = std::make_unique<HttpApi>(loop_, config_, std::move(options));
  }

  bool WaitFor(const std::function<bool()>& fact) { return loop_.RunUntilTrue(fact, seconds{60}); }

  Response Call(Request request) {
    std::optional<Response> answer;
    api_->Send(std::move(request), [&](Response response) { answer = std::move(response); });
    EXPECT_TRUE(WaitFor([&] { return answer.has_value(); })) << "no answer";
    return answer.value_or(Response{});
  }

  static std::string ConfigMap(const std::string& name, const std::string& value = "1") {
    return json::Dump({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", name}, {"labels", {{"app", name}}}}},
                       {"data", {{"k", value}}}});
  }
  Request On(Verb verb, const std::string& name, std::string body = "") {
    return {.verb = verb, .resource = &kConfigMaps, .ns = ns_, .name = name, .body = std::move(body)};
  }
  Response Create(const std::string& name) { return Call(On(Verb::kCreate, "", ConfigMap(name))); }
  std::string ListVersion() {
    return json::GetString(*json::Parse(Call(On(Verb::kList, "")).body), "metadata.resourceVersion");
  }

  RealLoop loop_;
  ClientConfig config_;
  std::unique_ptr<HttpApi> api_;
  std::string ns_;
};

TEST_F(RealServerTest, AnObjectsWholeLife) {
  Response created = Create("a");
  ASSERT_EQ(created.status.code, 201) << created.status.message;
  json::Doc first = *json::Parse(created.body);
  EXPECT_EQ(json::GetString(first["metadata"]["managedFields"][0], "manager"), "lockstep");
  EXPECT_TRUE(Create("a").status.already_exists());

  EXPECT_EQ(Call(On(Verb::kPatch, "a", R"({"data":{"k":"2"}})")).status.code, 200);
  first["data"]["k"] = "3";
  Response stale = Call(On(Verb::kUpdate, "a", json::Dump(first)));
  EXPECT_TRUE(stale.status.conflict()) << stale.status.code << stale.status.message;
  EXPECT_EQ(json::GetString(*json::Parse(Call(On(Verb::kGet, "a")).body), "data.k"), "2");

  Request other_uid = On(Verb::kDelete, "a");
  other_uid.precondition_uid = "not-this-one";
  EXPECT_TRUE(Call(other_uid).status.conflict());
  Request right_uid = On(Verb::kDelete, "a");
  right_uid.precondition_uid = json::GetString(first, "metadata.uid");
  EXPECT_TRUE(Call(right_uid).status.ok());
  EXPECT_TRUE(Call(On(Verb::kGet, "a")).status.not_found());
}

TEST_F(RealServerTest, ADryRunLeavesNothing) {
  Request create = On(Verb::kCreate, "", ConfigMap("a"));
  create.dry_run = true;
  EXPECT_EQ(Call(create).status.code, 201);
  EXPECT_TRUE(Call(On(Verb::kGet, "a")).status.not_found());
  ASSERT_TRUE(Create("a").status.ok());
  Request remove = On(Verb::kDelete, "a");
  remove.dry_run = true;
  EXPECT_TRUE(Call(remove).status.ok());
  EXPECT_TRUE(Call(On(Verb::kGet, "a")).status.ok());
}

TEST_F(RealServerTest, RefusalsNameTheField) {
  Response refused = Create("Not A Name");
  EXPECT_EQ(refused.status.code, 422);
  EXPECT_EQ(refused.status.reason, "Invalid");
  ASSERT_THAT(refused.status.causes, testing::Not(testing::IsEmpty()));
  EXPECT_EQ(refused.status.causes[0].field, "metadata.name");
  EXPECT_EQ(Call(On(Verb::kCreate, "", "{")).status.code, 400);
  EXPECT_EQ(
      Call({.verb = Verb::kList, .resource = &kConfigMaps, .ns = ns_, .label_selector = "a=="}).status.code,
      200);
  EXPECT_EQ(
      Call({.verb = Verb::kList, .resource = &kConfigMaps, .ns = ns_, .label_selector = "((("}).status.code,
      400);
}

TEST_F(RealServerTest, AllThreeKindsOfPatch) {
  ASSERT_TRUE(Create("a").status.ok());
  Request patch = On(Verb::kPatch, "a", R"([{"op":"replace","path":"/data/k","value":"json"}])");
  patch.patch = PatchType::kJson;
  EXPECT_EQ(json::GetString(*json::Parse(Call(patch).body), "data.k"), "json");
  patch.body = R"({"data":{"k":null,"l":"merge"}})";
  patch.patch = PatchType::kMerge;
  EXPECT_EQ(json::Parse(Call(patch).body)->at("data"), (json::Doc{{"l", "merge"}}));
  patch.body = R"({"metadata":{"finalizers":["x.dev/a"]}})";
  patch.patch = PatchType::kStrategicMerge;
  EXPECT_TRUE(Call(patch).status.ok());
  patch.body = R"({"metadata":{"finalizers":["x.dev/b"]}})";
  json::Doc both = *json::Parse(Call(patch).body);
  EXPECT_THAT(both["metadata"]["finalizers"], SizeIs(2)) << "a strategic merge joins this list";
}

TEST_F(RealServerTest, AStatusHasItsOwnPath) {
  std::string node = "client-node-" + std::to_string(getpid());
  ASSERT_TRUE(Call({.verb = Verb::kCreate,
                    .resource = &kNodes,
                    .body = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + node + R"("}})"})
                  .status.ok());
  Response patched = Call({.verb = Verb::kPatch,
                           .resource = &kNodes,
                           .name = node,
                           .subresource = "status",
                           .body = R"({"status":{"capacity":{"nvidia.com/gpu":"8"}}})",
                           .patch = PatchType::kStrategicMerge});
  ASSERT_TRUE(patched.status.ok()) << patched.status.message;
  EXPECT_EQ(json::Parse(patched.body)->at("status").at("capacity").at("nvidia.com/gpu"), "8");
  EXPECT_TRUE(Call({.verb = Verb::kDelete, .resource = &kNodes, .name = node}).status.ok());
}

TEST_F(RealServerTest, APagedListIsWholeAndOfOneVersion) {
  std::set<std::string> made, seen;
  for (int i = 0; i < 25; ++i) made.insert("m" + std::to_string(i));
  for (const std::string& name : made) ASSERT_TRUE(Create(name).status.ok());
  Request list = On(Verb::kList, "");
  list.limit = 10;
  std::vector<size_t> pages;
  std::set<std::string> versions;
  do {
    Response response = Call(list);
    ASSERT_TRUE(response.status.ok()) << response.status.message;
    json::Doc page = *json::Parse(response.body);
    pages.push_back(page["items"].size());
    for (const json::Doc& item : page["items"]) seen.insert(json::GetString(item, "metadata.name"));
    versions.insert(json::GetString(page, "metadata.resourceVersion"));
    list.continue_token = json::GetString(page, "metadata.continue");
    if (pages.size() == 1) {
      EXPECT_TRUE(Call(On(Verb::kDelete, "m9")).status.ok());
    }
  } while (!list.continue_token.empty());
  EXPECT_THAT(pages, ElementsAre(10, 10, 5));
  EXPECT_EQ(seen, made) << "m9 is deleted meanwhile and still on its page";
  EXPECT_THAT(versions, SizeIs(1));
}

TEST_F(RealServerTest, AWatchSeesWhatHappensAfterAList) {
  ASSERT_TRUE(Create("before").status.ok());
  Recorder all, some;
  std::string version = ListVersion();
  auto watch_all = api_->StartWatch({.resource = &kConfigMaps, .ns = ns_, .resource_version = version}, all);
  auto watch_some = api_->StartWatch(
      {.resource = &kConfigMaps, .ns = ns_, .label_selector = "app=b", .resource_version = version}, some);
  for (const char* name : {"a", "b"}) ASSERT_TRUE(Create(name).status.ok());
  ASSERT_TRUE(Call(On(Verb::kPatch, "b", R"({"data":{"k":"2"}})")).status.ok());
  ASSERT_TRUE(Call(On(Verb::kDelete, "a")).status.ok());
  ASSERT_TRUE(Call(On(Verb::kDelete, "b")).status.ok());
  EXPECT_TRUE(WaitFor([&] { return all.events.size() == 5 && some.events.size() == 3; }));
  EXPECT_THAT(all.events, ElementsAre("ADDED a", "ADDED b", "MODIFIED b", "DELETED a", "DELETED b"));
  EXPECT_THAT(some.events, ElementsAre("ADDED b", "MODIFIED b", "DELETED b"));
  EXPECT_FALSE(all.end || some.end);
}

TEST_F(RealServerTest, AWatchEndsInOrderAndCanBeContinued) {
  HttpApiOptions options;
  options.min_watch_timeout = options.max_watch_timeout = seconds{6};
  Start(options);
  Recorder first;
  auto watch =
      api_->StartWatch({.resource = &kConfigMaps, .ns = ns_, .resource_version = ListVersion()}, first);
  ASSERT_TRUE(Create("a").status.ok());
  EXPECT_TRUE(WaitFor([&] { return !first.events.empty(); }));
  // Elsewhere, so that there is a newer version that only a bookmark can tell.
  std::string elsewhere = "elsewhere-" + std::to_string(getpid());
  Request other{
      .verb = Verb::kCreate, .resource = &kConfigMaps, .ns = "default", .body = ConfigMap(elsewhere)};
  ASSERT_TRUE(Call(other).status.ok());
  EXPECT_TRUE(WaitFor([&] { return first.end.has_value(); }));
  EXPECT_TRUE(first.end->ok()) << first.end->message;
  EXPECT_THAT(first.events, ElementsAre("ADDED a"));
  EXPECT_GE(first.bookmarks, 1) << "one comes two seconds before the end";
  ASSERT_TRUE(Create("b").status.ok());
  Recorder second;
  watch =
      api_->StartWatch({.resource = &kConfigMaps, .ns = ns_, .resource_version = first.last_version}, second);
  EXPECT_TRUE(WaitFor([&] { return !second.events.empty(); }));
  EXPECT_THAT(second.events, ElementsAre("ADDED b"));
}

// Needs a server that forgets fast: --etcd-compaction-interval=1s. Events have no watch cache, so etcd
// answers.
TEST_F(RealServerTest, AForgottenVersionIsGone) {
  if (std::getenv("LOCKSTEP_FAST_COMPACTION") == nullptr)
    GTEST_SKIP() << "the server compacts every 5 minutes";
  std::optional<Status> end;
  for (int tries = 0; !end && tries < 60; ++tries) {
    ASSERT_TRUE(Create("m" + std::to_string(tries)).status.ok());  // so that there is something to forget
    Recorder recorder;
    auto watch = api_->StartWatch({.resource = &kEvents, .ns = ns_, .resource_version = "1"}, recorder);
    loop_.RunUntilTrue([&] { return recorder.end.has_value(); }, seconds{1});
    end = recorder.end;
  }
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->gone()) << end->code << " " << end->message;
}

TEST_F(RealServerTest, ManyWritesAtOnceWhileManyWatch) {
  HttpApiOptions options;
  options.connections = 8;
  Start(options);
  constexpr int kCount = 300;
  std::string version = ListVersion();
  std::vector<Recorder> recorders(12);
  std::vector<std::unique_ptr<Watch>> watches;
  for (Recorder& recorder : recorders) {
    watches.push_back(
        api_->StartWatch({.resource = &kConfigMaps, .ns = ns_, .resource_version = version}, recorder));
  }
  int created = 0;
  for (int i = 0; i < kCount; ++i) {
    api_->Send(On(Verb::kCreate, "", ConfigMap("c" + std::to_string(i))), [&](Response response) {
      EXPECT_EQ(response.status.code, 201) << response.status.message;
      ++created;
    });
  }
  EXPECT_TRUE(WaitFor([&] { return created == kCount; }));
  EXPECT_TRUE(WaitFor([&] {
    return std::ranges::all_of(recorders, [](const Recorder& r) { return r.events.size() == kCount; });
  }));
  for (const Recorder& recorder : recorders) EXPECT_EQ(recorder.events, recorders[0].events);
}

TEST_F(RealServerTest, AWrongTokenIsUnauthorized) {
  config_.certificate_pem.clear();
  config_.key_pem.clear();
  config_.token = "wrong";
  Start();
  EXPECT_EQ(Call(On(Verb::kGet, "a")).status.code, 401);
}

}  // namespace
}  // namespace lockstep::kube
