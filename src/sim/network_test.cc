#include "sim/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/memory_api.h"
#include "apiserver/server.h"
#include "base/virtual_loop.h"

namespace lockstep::sim {
namespace {

using testing::ElementsAre;

class NetworkTest : public testing::Test, public kube::WatchHandler {
 protected:
  static NetworkOptions Options() {
    NetworkOptions options;
    options.latency = milliseconds(1);
    return options;
  }

  void Create(const std::string& name, bool dry_run = false) {
    kube::Request request;
    request.verb = kube::Verb::kCreate;
    request.resource = &kube::kConfigMaps;
    request.ns = "default";
    request.dry_run = dry_run;
    request.body = json::Dump(json::Doc{{"metadata", {{"name", name}}}});
    client->Send(std::move(request),
                 [this](kube::Response response) { answers.push_back(response.status.code); });
  }
  bool Exists(const std::string& name) {
    return server.store().Find(kube::kConfigMaps, "default/" + name) != nullptr;
  }
  void Add(const std::string& text) {
    Result<Scenario> scenario = ParseScenario("# x\nfault " + text + "\n", "x.scenario");
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    network.Add(std::get<Fault>(scenario->statements[0].deed));
  }
  void OnEvent(kube::WatchEventType, std::string object) override {
    seen.push_back(json::GetString(*json::Parse(object), "metadata.name"));
  }
  void OnEnd(kube::Status status) override { ends.push_back(status.code); }

  VirtualLoop loop;
  apiserver::Server server;
  apiserver::MemoryApi api{loop, server};
  Network network{api, Options()};
  std::unique_ptr<kube::Api> client = network.Connect();
  std::vector<int> answers, ends;
  std::vector<std::string> seen;
};

TEST_F(NetworkTest, AnAnswerTakesTheWayThereAndBack) {
  Create("a");
  loop.RunFor(Duration(1999));
  EXPECT_TRUE(Exists("a"));
  EXPECT_THAT(answers, ElementsAre());
  loop.RunFor(Duration(1));
  EXPECT_THAT(answers, ElementsAre(201));
}

TEST_F(NetworkTest, WhatACrashedClientHadSentArrives) {
  Create("a");
  client.reset();
  loop.RunFor(seconds(1));
  EXPECT_TRUE(Exists("a"));
  EXPECT_THAT(answers, ElementsAre());
  EXPECT_EQ(network.writes(), 1);
}

TEST_F(NetworkTest, LostDroppedLateAndFailedDiffer) {
  Add("create configmaps lost count=1");
  Add("create configmaps dropped count=1");
  Add("create configmaps late 5s count=1");
  Add("create configmaps fails 500 count=1");
  for (const char* name : {"lost", "dropped", "late", "failed", "good"}) Create(name);

  loop.RunFor(seconds(1));
  EXPECT_THAT(answers, testing::UnorderedElementsAre(0, 0, 0, 500, 201));
  EXPECT_FALSE(Exists("lost") || Exists("late") || Exists("failed"));
  EXPECT_TRUE(Exists("dropped") && Exists("good"));
  loop.RunFor(seconds(5));
  EXPECT_TRUE(Exists("late"));
}

TEST_F(NetworkTest, FaultsEndAndHitOnlyWhatTheyName) {
  Add("create configmaps fails 429 for 2s name=bad");
  Create("bad-1");
  Create("good");
  Create("bad-dry", /*dry_run=*/true);
  loop.RunFor(seconds(1));
  EXPECT_THAT(answers, testing::UnorderedElementsAre(429, 201, 201));
  EXPECT_TRUE(network.troubled());

  loop.RunFor(seconds(1));
  EXPECT_FALSE(network.troubled());
  Create("bad-2");
  loop.RunFor(seconds(1));
  EXPECT_TRUE(Exists("bad-2"));
}

TEST_F(NetworkTest, AStalledWatchIsSilentAndThenTellsAll) {
  kube::WatchRequest request;
  request.resource = &kube::kConfigMaps;
  std::unique_ptr<kube::Watch> watch = client->StartWatch(request, *this);
  Create("a");
  loop.RunFor(seconds(1));
  Add("watch configmaps stalls for 10s");
  Create("b");
  loop.RunFor(seconds(5));
  Create("c");
  loop.RunFor(seconds(4));
  EXPECT_THAT(seen, ElementsAre("a"));
  loop.RunFor(seconds(2));
  EXPECT_THAT(seen, ElementsAre("a", "b", "c"));
  EXPECT_THAT(ends, ElementsAre());
}

TEST_F(NetworkTest, WatchesBreakExpireAndAreRefused) {
  kube::WatchRequest request;
  request.resource = &kube::kConfigMaps;
  std::unique_ptr<kube::Watch> first = client->StartWatch(request, *this);
  Add("watch pods breaks");
  loop.RunFor(seconds(1));
  EXPECT_THAT(ends, ElementsAre()) << "another kind's";
  Add("watch configmaps breaks");
  loop.RunFor(seconds(1));
  EXPECT_THAT(ends, ElementsAre(0));

  std::unique_ptr<kube::Watch> second = client->StartWatch(request, *this);
  Add("watch all expires");
  Add("watch all refused for 1s");
  std::unique_ptr<kube::Watch> third = client->StartWatch(request, *this);
  loop.RunFor(seconds(1));
  EXPECT_THAT(ends, testing::UnorderedElementsAre(0, 410, 500));
}

TEST_F(NetworkTest, ARankDoesWhatTheStorySays) {
  Rank rank{"a-worker-3", 2, {{"hollow.lockstep.dev/exit-code", "1"}}};
  network.SetRank(rank);
  auto create = [&](const std::string& name, const std::string& index, const std::string& attempt) {
    json::Doc labels = {{"training.kubeflow.org/job-name", "a"},
                        {"training.kubeflow.org/replica-type", "worker"},
                        {"training.kubeflow.org/replica-index", index},
                        {"lockstep.dev/attempt", attempt}};
    json::Doc container = {{"name", "c"}, {"image", "i"}};
    kube::Request request;
    request.verb = kube::Verb::kCreate;
    request.resource = &kube::kPods;
    request.ns = "default";
    request.body = json::Dump(json::Doc{{"metadata", {{"name", name}, {"labels", labels}}},
                                        {"spec", {{"containers", json::Doc::array({container})}}}});
    client->Send(std::move(request), [](kube::Response) {});
    loop.RunFor(seconds(1));
    apiserver::ObjectPtr pod = server.store().Find(kube::kPods, "default/" + name);
    EXPECT_NE(pod, nullptr);
    return pod != nullptr && pod->bytes.find("hollow.lockstep.dev/exit-code") != std::string::npos;
  };

  EXPECT_FALSE(create("a-worker-3", "3", "1"));
  EXPECT_FALSE(create("a-worker-2-r2", "2", "2"));
  EXPECT_TRUE(create("a-worker-3-r2", "3", "2"));
}

}  // namespace
}  // namespace lockstep::sim
