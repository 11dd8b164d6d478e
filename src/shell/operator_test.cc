#include "shell/operator.h"

#include <gmock/gmock.h>

#include "apiserver/memory_api.h"
#include "base/virtual_loop.h"

namespace lockstep::shell {
namespace {

// Counts the lists of pods that go through it.
class CountingApi final : public kube::Api {
 public:
  CountingApi(Loop& loop, apiserver::Server& server) : api_(loop, server) {}
  Loop& loop() override { return api_.loop(); }
  void Send(kube::Request request, Done done) override {
    if (request.verb == kube::Verb::kList && request.resource == &kube::kPods) ++lists;
    api_.Send(std::move(request), std::move(done));
  }
  std::unique_ptr<kube::Watch> StartWatch(kube::WatchRequest request, kube::WatchHandler& handler) override {
    return api_.StartWatch(std::move(request), handler);
  }
  int lists = 0;

 private:
  apiserver::MemoryApi api_;
};

struct Process {
  Process(Loop& loop, apiserver::Server& server, const std::string& name) : api(loop, server) {
    OperatorOptions options;
    options.identity = name;
    options.leader.emplace();
    options.leader->identity = name;
    op = std::make_unique<Operator>(api, options);
    op->Start();
  }
  CountingApi api;
  std::unique_ptr<Operator> op;
};

class OperatorTest : public testing::Test {
 protected:
  OperatorTest() : user(loop, server) {
    json::Doc node = {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n"}}}};
    Create(kube::kNodes, "", node);
    kube::Request status;
    status.verb = kube::Verb::kPatch;
    status.resource = &kube::kNodes;
    status.name = "n";
    status.subresource = "status";
    status.body = R"({"status": {"allocatable": {"cpu": "100", "pods": "100"}}})";
    user.Send(std::move(status),
              [](const kube::Response& r) { EXPECT_TRUE(r.status.ok()) << r.status.message; });
    loop.RunFor(seconds(1));
  }

  void Create(const kube::Resource& resource, const std::string& ns, const json::Doc& object) {
    kube::Request request;
    request.verb = kube::Verb::kCreate;
    request.resource = &resource;
    request.ns = ns;
    request.body = json::Dump(object);
    user.Send(std::move(request),
              [](const kube::Response& r) { EXPECT_TRUE(r.status.ok()) << r.status.message; });
  }

  void Submit(const std::string& name) {
    json::Doc container = {
        {"name", "pytorch"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
    json::Doc worker = {{"replicas", 2}};
    worker["template"]["spec"]["containers"] = json::Doc::array({container});
    json::Doc job = {
        {"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}, {"metadata", {{"name", name}}}};
    job["spec"]["pytorchReplicaSpecs"]["Worker"] = worker;
    Create(kube::kPyTorchJobs, "default", job);
  }

  bool AllCreated(const Process& process, size_t pods) {
    return loop.RunUntilTrue([&] { return process.op->world().pods.size() == pods; }, seconds(5));
  }

  VirtualLoop loop;
  apiserver::Server server;
  apiserver::MemoryApi user;
};

TEST_F(OperatorTest, WhoIsHandedTheLeaseGoesOnFromWhatItFollowed) {
  Process a(loop, server, "a");
  loop.RunFor(seconds(2));
  Process b(loop, server, "b");
  EXPECT_THAT(b.op->trouble(), testing::HasSubstr("first list")) << "a standby is ready when it follows";
  loop.RunFor(seconds(2));
  ASSERT_TRUE(a.op->leading());
  Submit("first");
  ASSERT_TRUE(AllCreated(b, 2)) << "the standby follows";
  EXPECT_EQ(b.op->trouble(), "") << "and is ready";
  int lists = b.api.lists;
  bool stopped = false;
  Submit("second");
  a.op->Stop([&] { stopped = true; });
  EXPECT_TRUE(loop.RunUntilTrue([&] { return b.op->leading(); }, seconds(1)));
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(AllCreated(b, 4)) << "what came meanwhile is placed";
  EXPECT_EQ(b.api.lists, lists);
}

TEST_F(OperatorTest, WhoTakesALeaseThatRanOutListsEverythingFirst) {
  auto a = std::make_unique<Process>(loop, server, "a");
  loop.RunFor(seconds(2));
  Process b(loop, server, "b");
  loop.RunFor(seconds(2));
  ASSERT_TRUE(a->op->leading());
  int lists = b.api.lists;
  a.reset();  // killed
  EXPECT_TRUE(loop.RunUntilTrue([&] { return b.op->leading(); }, seconds(5)));
  Submit("first");
  EXPECT_TRUE(AllCreated(b, 2));
  EXPECT_GT(b.api.lists, lists);
}

}  // namespace
}  // namespace lockstep::shell
