#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hollow/test_cluster.h"

namespace lockstep::hollow {
namespace {

using json::Doc;

// ---- what happens to machines ----

TEST(FleetMachines, AFrozenKubeletSeesEverythingInOrderWhenItThaws) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 8);
  Annotations stubborn = {{"run-time", "forever"}, {"ignore-term", "true"}};
  cluster.CreatePod("graceful", "node-0", 1, stubborn);
  cluster.CreatePod("both", "node-0", 1, stubborn);
  cluster.CreatePod("forced", "node-0", 1, stubborn);
  cluster.CreatePod("ends", "node-0", 1, {{"run-time", "5s"}});
  cluster.loop.RunFor(seconds(1));
  cluster.fleet->Freeze("node-0");
  cluster.DeletePod("graceful", 1);
  cluster.DeletePod("both");
  cluster.DeletePod("both", 0);
  cluster.DeletePod("forced", 0);
  cluster.CreatePod("new", "node-0", 1);
  cluster.CreatePod("never-seen", "node-0", 1);
  cluster.DeletePod("never-seen", 0);
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.Phase("ends"), "Running");
  EXPECT_EQ(cluster.Phase("new"), "Pending");
  EXPECT_EQ(cluster.Phase("graceful"), "Running");
  EXPECT_EQ(cluster.fleet->processes(), 4u) << "nobody has counted the end of one";

  cluster.fleet->Thaw("node-0");
  cluster.loop.RunFor(milliseconds(10));
  EXPECT_EQ(cluster.Phase("ends"), "Succeeded");
  EXPECT_EQ(cluster.Phase("new"), "Running");
  cluster.loop.RunFor(seconds(3));
  EXPECT_EQ(cluster.Phase("graceful"), "gone") << "measured: 19.1 after a freeze of 15";
  EXPECT_EQ(cluster.fleet->processes(), 2u) << "the new one, and the one that has its whole grace";
  cluster.loop.RunFor(seconds(28));
  EXPECT_EQ(cluster.fleet->processes(), 0u)
      << "measured: 46.2 after a freeze of 15; and the new one has ended";
}

TEST(FleetMachines, ANewKubeletKnowsOnlyWhatItLists) {
  Cluster cluster;
  cluster.AddGpuNodes(1, 8);
  Annotations stubborn = {{"run-time", "forever"}, {"ignore-term", "true"}};
  cluster.CreatePod("both", "node-0", 1, stubborn);
  cluster.loop.RunFor(seconds(1));
  cluster.fleet->StopKubelet("node-0");
  cluster.DeletePod("both");
  cluster.DeletePod("both", 0);
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.fleet->processes(), 1u);
  cluster.fleet->Thaw("node-0");
  cluster.loop.RunFor(milliseconds(2200));
  EXPECT_EQ(cluster.fleet->processes(), 0u) << "an orphan: measured 17.3 after a stop of 15";
}

TEST(FleetMachines, ACrashEndsEveryProcessAndTheBootTells) {
  Cluster cluster;
  cluster.AddGpuNodes(2, 8);
  cluster.CreatePod("runs", "node-0", 1, {{"run-time", "forever"}});
  cluster.CreatePod("deleted", "node-0", 1, {{"run-time", "forever"}});
  cluster.CreatePod("neighbour", "node-1", 1, {{"run-time", "forever"}});
  cluster.loop.RunFor(seconds(1));
  std::string boot_id = kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id;

  cluster.fleet->Crash("node-0");
  EXPECT_EQ(cluster.fleet->processes(), 1u);
  cluster.DeletePod("deleted");
  cluster.loop.RunFor(seconds(15));
  EXPECT_EQ(cluster.Phase("runs"), "Running") << "nobody has said otherwise";
  EXPECT_EQ(kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id, boot_id);

  cluster.fleet->Boot("node-0");
  cluster.loop.RunFor(seconds(3));
  EXPECT_NE(kube::ParseNode(cluster.Get(kube::kNodes, "node-0"))->boot_id, boot_id);
  Doc pod = cluster.Get(kube::kPods, "runs");
  EXPECT_EQ(json::GetString(pod, "status.phase"), "Failed");
  EXPECT_EQ(json::GetInt(pod, "status.containerStatuses.0.state.terminated.exitCode"), 255);
  EXPECT_EQ(cluster.Phase("deleted"), "gone");
  EXPECT_EQ(cluster.Phase("neighbour"), "Running");
}

// ---- the API server has bad days ----

TEST(FleetUnderFaults, WritesAreRepeatedUntilTheServerTakesThem) {
  Cluster cluster({.defaults = {.run_time = seconds(5)}});
  cluster.AddGpuNodes(1, 8);
  int asked = 0;
  cluster.fleet_api->SetFaults([&](const kube::Request& request) {
    apiserver::Fault fault;
    if (request.subresource == "status" && ++asked <= 6)
      fault.refuse = kube::ErrorStatus(500, "InternalError", "no");
    return fault;
  });
  cluster.CreatePod("a", "node-0", 1);
  EXPECT_TRUE(cluster.WaitPhase("a", "Succeeded", minutes(2)));
  EXPECT_GE(cluster.fleet->write_counts().retried, 6);
}

TEST(FleetUnderFaults, NothingIsLostWhileTheServerIsAway) {
  Cluster cluster({.defaults = {.run_time = seconds(5)}});
  cluster.AddGpuNodes(2, 8);
  cluster.CreatePod("before", "node-0", 1);
  cluster.loop.RunFor(seconds(1));
  cluster.fleet_api->SetDown(true);
  cluster.CreatePod("meanwhile", "node-1", 1);
  cluster.DeletePod("before", 0);
  cluster.CreatePod("before", "node-0", 1, {{"exit-code", "3"}});
  cluster.loop.RunFor(minutes(2));
  EXPECT_EQ(cluster.Phase("meanwhile"), "Pending");
  cluster.server.Compact();  // the watch will be too old as well
  cluster.fleet_api->SetDown(false);
  EXPECT_TRUE(cluster.WaitPhase("meanwhile", "Succeeded", minutes(2)));
  EXPECT_TRUE(cluster.WaitPhase("before", "Failed", minutes(2)));
}

TEST(FleetUnderFaults, ARestartedFleetTakesOverRunningPodsAndRefusesNoneOfThem) {
  Cluster cluster({.defaults = {.run_time = seconds(60)}});
  cluster.AddGpuNodes(1, 2);
  cluster.CreatePod("b-runs", "node-0", 1);
  cluster.CreatePod("c-runs", "node-0", 1);
  cluster.loop.RunFor(seconds(10));
  cluster.RestartFleet();
  cluster.CreatePod("a-waits", "node-0", 1);  // first in every list, last in its rights
  cluster.fleet->AddNodes(cluster.Gpus(1, 2));
  cluster.fleet->Start();
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.Phase("b-runs"), "Running");
  EXPECT_EQ(cluster.Phase("c-runs"), "Running");
  EXPECT_EQ(cluster.Reason("a-waits"), "OutOfnvidia.com/gpu");
  cluster.loop.RunFor(seconds(50));
  EXPECT_EQ(cluster.Phase("b-runs"), "Succeeded") << "60 s from its own start";
}

// ---- many ----

TEST(FleetSmoke, AThousandNodesRunAThousandPodsAtOnce) {
  Cluster cluster({.defaults = {.run_time = seconds(30)}});
  cluster.AddGpuNodes(1000, 8);
  for (int i = 0; i < 1000; ++i) {
    cluster.CreatePod("p" + std::to_string(i), "node-" + std::to_string(i), 8, {{"rendezvous", "all/1000"}});
  }
  EXPECT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->processes() == 1000; }, minutes(1)));
  EXPECT_TRUE(cluster.loop.RunUntilTrue([&] { return cluster.fleet->counts().ended == 1000; }, minutes(1)));
  cluster.loop.RunFor(seconds(1));
  EXPECT_EQ(cluster.fleet->counts().refused, 0);
  EXPECT_EQ(cluster.Phase("p0"), "Succeeded");
  EXPECT_EQ(cluster.Phase("p999"), "Succeeded");
  EXPECT_EQ(cluster.fleet->write_counts().retried, 0);
  EXPECT_TRUE(cluster.fleet->idle());
}

}  // namespace
}  // namespace lockstep::hollow
