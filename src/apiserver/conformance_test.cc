#include "apiserver/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/memory_api.h"
#include "base/virtual_loop.h"

namespace lockstep::apiserver {
namespace {

class Conformance : public ::testing::Test {
 protected:
  std::vector<std::string> Run() {
    return RunConformance({api, "conformance", [this](const std::function<bool()>& done, Duration limit) {
                             return loop.RunUntilTrue(done, limit);
                           }});
  }

  VirtualLoop loop;
  Server server;
  MemoryApi api{loop, server};
};

TEST_F(Conformance, TheServerInMemoryPassesEveryCase) { EXPECT_THAT(Run(), ::testing::IsEmpty()); }

TEST_F(Conformance, SlowAnswersAndLateEventsMakeNoDifference) {
  api.SetFaults([](const kube::Request&) {
    return Fault{.apply_after = milliseconds(20), .answer_after = milliseconds(30)};
  });
  api.SetWatchDelay([](const kube::Resource&) { return milliseconds(500); });
  EXPECT_THAT(Run(), ::testing::IsEmpty());
}

// The suite must be able to fail, or it says nothing about a real server.
TEST_F(Conformance, AServerThatForgetsItsRulesIsFoundOut) {
  server.SetMutator(kube::kPods, [](json::Doc& pod, const kube::Request&) {
    pod["spec"]["restartPolicy"] = "Never";
    return std::nullopt;
  });
  EXPECT_THAT(Run(),
              ::testing::Contains(::testing::HasSubstr("pod-defaults: spec.restartPolicy is \"Never\"")));
}

TEST_F(Conformance, ADeadServerIsFoundOut) {
  api.SetDown(true);
  EXPECT_GT(Run().size(), 25u);
}

}  // namespace
}  // namespace lockstep::apiserver
