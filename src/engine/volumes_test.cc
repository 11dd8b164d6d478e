// Jobs whose pods use claims, through whole steps.
#include <gmock/gmock.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

using cluster::ActionKind;
using ::testing::ElementsAre;
using testing::HandDriven;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VolumesTest : public ::testing::Test {
 protected:
  // Of one GPU each, in zone z<index>.
  void Nodes(int count, int gpus) {
    for (int i = 0; i < count; ++i) {
      engine.See(kube::kNodes,
                 {{"metadata",
                   {{"name", "node-" + std::to_string(i)}, {"labels", {{"zone", "z" + std::to_string(i)}}}}},
                  {"status",
                   {{"allocatable",
                     {{"nvidia.com/gpu", std::to_string(gpus)},
                      {"cpu", "8"},
                      {"memory", "8Gi"},
                      {"pods", "110"}}}}}});
    }
  }

  json::Doc Role(int replicas, const std::vector<std::string>& claims) {
    json::Doc container = {
        {"name", "pytorch"}, {"image", "i"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}};
    json::Doc spec = {{"containers", json::Doc::array({container})}};
    for (const std::string& claim : claims)
      spec["volumes"].push_back({{"name", claim}, {"persistentVolumeClaim", {{"claimName", claim}}}});
    return {{"replicas", replicas}, {"restartPolicy", "OnFailure"}, {"template", {{"spec", spec}}}};
  }

  // `workers` one-GPU pods with these claims.
  void Job(const std::string& name, int workers, const std::vector<std::string>& claims) {
    engine.Submit(kube::kPyTorchJobs, name, {{"pytorchReplicaSpecs", {{"Worker", Role(workers, claims)}}}});
  }

  void Claim(const std::string& name, const std::string& mode = "ReadWriteOnce",
             const std::string& phase = "Bound", const std::string& storage_class = "") {
    json::Doc claim = {{"metadata", {{"name", name}, {"namespace", "default"}}},
                       {"spec", {{"accessModes", json::Doc::array({mode})}}},
                       {"status", {{"phase", phase}}}};
    if (phase == "Bound") claim["spec"]["volumeName"] = "pv-" + name;
    if (!storage_class.empty()) claim["spec"]["storageClassName"] = storage_class;
    engine.See(kube::kPersistentVolumeClaims, claim);
  }

  void Volume(const std::string& claim, const std::string& mode = "ReadWriteOnce",
              const std::string& zone = "") {
    json::Doc volume = {{"metadata", {{"name", "pv-" + claim}}},
                        {"spec",
                         {{"accessModes", json::Doc::array({mode})},
                          {"csi", {{"driver", "disk.example.com"}, {"volumeHandle", claim}}}}}};
    if (!zone.empty()) {
      json::Doc term = {
          {"matchExpressions",
           json::Doc::array({{{"key", "zone"}, {"operator", "In"}, {"values", json::Doc::array({zone})}}})}};
      volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = json::Doc::array({term});
    }
    engine.See(kube::kPersistentVolumes, volume);
  }

  void Bound(const std::string& claim, const std::string& mode = "ReadWriteOnce",
             const std::string& zone = "") {
    Claim(claim, mode);
    Volume(claim, mode, zone);
  }

  void ForeignPod(const std::string& name, const std::string& node, const std::string& claim) {
    json::Doc volume = {{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim}}}};
    engine.See(kube::kPods, {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
                             {"spec",
                              {{"nodeName", node},
                               {"volumes", json::Doc::array({volume})},
                               {"containers", json::Doc::array({{{"name", "c"}}})}}}});
  }

  void Limit(const std::string& node, int count) {
    json::Doc driver = {{"name", "disk.example.com"}, {"nodeID", node}, {"allocatable", {{"count", count}}}};
    engine.See(kube::kCSINodes,
               {{"metadata", {{"name", node}}}, {"spec", {{"drivers", json::Doc::array({driver})}}}});
  }

  std::vector<std::string> NodesOf(const std::string& job) {
    std::vector<std::string> nodes;
    for (const api::NodeSeats& seats : engine.Gang(job).status().placement) nodes.push_back(seats.node);
    return nodes;
  }
  const api::GangReason& ReasonOf(const std::string& job) { return engine.Gang(job).status().reason; }

  HandDriven engine;
};

TEST_F(VolumesTest, ANodeMustReachTheVolume) {
  Nodes(3, 2);
  Bound("data", "ReadWriteOnce", "z1");
  Job("a", 2, {"data"});
  Job("b", 1, {"data"});
  Bound("far", "ReadWriteMany", "z9");
  Job("c", 1, {"data", "far"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-1"));
  EXPECT_EQ(ReasonOf("b").message, "needs 1 nvidia.com/gpu, 0 free; a holds 2");
  EXPECT_THAT(ReasonOf("c").message, HasSubstr("2 nodes can't reach the volume of the claim data"));
  EXPECT_THAT(ReasonOf("c").message, HasSubstr("1 node can't reach the volume of the claim far"));
}

TEST_F(VolumesTest, PodsOfAReadWriteOnceVolumeShareANode) {
  Nodes(3, 4);
  engine.Node("node-9", 3);
  Bound("data");
  Job("a", 3, {"data"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-9"));
  Job("b", 1, {"data"});  // full where the volume is
  Job("c", 5, {"other"});
  Bound("other");
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), IsEmpty());
  EXPECT_EQ(ReasonOf("b").code, "VolumeInUse");
  EXPECT_EQ(ReasonOf("c").code, "Impossible");
  EXPECT_THAT(ReasonOf("c").message, HasSubstr("share a ReadWriteOnce volume, so one node: room for 4"));
}

TEST_F(VolumesTest, ForeignPodsHoldAReadWriteOnceVolumeToo) {
  Nodes(3, 1);
  Bound("data");
  ForeignPod("notebook", "node-2", "data");
  Job("a", 1, {"data"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-2"));
}

TEST_F(VolumesTest, ARoleWithItsOwnVolumeLeavesTheOthersFree) {
  Nodes(3, 2);
  Bound("data", "ReadWriteOnce", "z2");
  Bound("shared", "ReadWriteMany");
  engine.Submit(
      kube::kPyTorchJobs, "a",
      {{"pytorchReplicaSpecs", {{"Master", Role(1, {"data", "shared"})}, {"Worker", Role(5, {"shared"})}}}});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-2", "node-0", "node-1")) << ReasonOf("a").message;
}

TEST_F(VolumesTest, AReadWriteOncePodClaimHasOneUser) {
  Nodes(3, 2);
  Bound("data", "ReadWriteOncePod");
  Job("a", 2, {"data"});
  Job("b", 1, {"data"});
  engine.Settle();
  EXPECT_EQ(ReasonOf("a").code, "Impossible");
  EXPECT_THAT(ReasonOf("a").message, HasSubstr("its 2 pods share a ReadWriteOncePod claim: room for 1"));
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0"));
  Job("c", 1, {"data"});
  engine.Settle();
  EXPECT_EQ(ReasonOf("c").code, "VolumeInUse");
}

TEST_F(VolumesTest, TheLimitOfADriverCountsVolumesOfEverybodyOnce) {
  Nodes(2, 8);
  Limit("node-0", 2);
  Limit("node-1", 1);
  for (const char* claim : {"x", "y", "z"}) Bound(claim, "ReadWriteMany");
  ForeignPod("one", "node-0", "x");
  ForeignPod("two", "node-0", "x");  // the same volume
  Job("a", 4, {"y"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0"));
  Job("b", 2, {"x", "z"});
  engine.Settle();
  EXPECT_THAT(ReasonOf("b").message, HasSubstr("2 nodes take no more volumes"));
  Limit("node-1", 2);
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-1"));
}

TEST_F(VolumesTest, WhatIsStillAttachedCounts) {
  Nodes(2, 8);
  Limit("node-0", 1);
  Bound("old", "ReadWriteMany");
  Bound("new", "ReadWriteMany");
  engine.See(kube::kVolumeAttachments, {{"metadata", {{"name", "csi-1"}}},
                                        {"spec",
                                         {{"attacher", "disk.example.com"},
                                          {"nodeName", "node-0"},
                                          {"source", {{"persistentVolumeName", "pv-old"}}}}}});
  Job("a", 1, {"new"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-1"));
  Job("b", 8, {"old"});  // it is there already
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0"));
}

TEST_F(VolumesTest, RolesWithDifferentVolumesShareTheLimitOfANode) {
  Nodes(2, 8);
  Limit("node-0", 1);
  Limit("node-1", 1);
  Bound("x", "ReadWriteMany");
  Bound("y", "ReadWriteMany");
  engine.Submit(kube::kPyTorchJobs, "a",
                {{"pytorchReplicaSpecs", {{"Master", Role(1, {"x"})}, {"Worker", Role(2, {"y"})}}}});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ::testing::SizeIs(2));
}

TEST_F(VolumesTest, AClaimThatIsNotReadyIsWaitedForByName) {
  Nodes(1, 8);
  Job("a", 1, {"data"});
  engine.Settle();
  EXPECT_EQ(ReasonOf("a").code, "ClaimNotReady");
  EXPECT_EQ(ReasonOf("a").message, "its pods use the claim data, which does not exist");
  engine.now.mono += minutes(1);
  engine.now.wall += minutes(1);
  Claim("data", "ReadWriteOnce", "Pending", "slow");
  engine.Settle();
  EXPECT_EQ(ReasonOf("a").message, "its pods use the claim data, which is not bound to a volume yet");
  engine.See(kube::kStorageClasses,
             {{"metadata", {{"name", "slow"}}}, {"volumeBindingMode", "WaitForFirstConsumer"}});
  engine.Settle();
  EXPECT_EQ(engine.Gang("a").status().way, api::Way::kSteer) << "a scheduler finds the volume, on our seat";
  Bound("data");
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0"));
  EXPECT_THAT(engine.Step(), IsEmpty());
}

TEST_F(VolumesTest, NobodyWaitsForAJobThatWaitsForItsClaim) {
  Nodes(1, 1);
  Job("a", 1, {"missing"});
  Job("b", 1, {});
  engine.Settle();
  EXPECT_THAT(NodesOf("b"), ElementsAre("node-0"));
}

TEST_F(VolumesTest, ShapesOfPodsThatAreGoneAreForgotten) {
  Nodes(1, 8);
  Job("a", 1, {"mine"});
  engine.Settle();
  for (int i = 0; i < 3000; ++i) {
    std::string name = "pod-" + std::to_string(i);
    ForeignPod(name, "node-0", "claim-" + std::to_string(i));
    engine.Step();
    engine.Gone(kube::kPods, "pods/default/" + name);
    engine.Step();
  }
  EXPECT_LE(engine.world.nodes.class_count(), 1100u);
  Bound("mine");
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0"));
}

TEST_F(VolumesTest, GangsThatDifferInTheirClaimsAloneAreOneKind) {
  Nodes(1, 1);
  for (const char* claim : {"x", "y", "z"}) Bound(claim, "ReadWriteMany");
  Job("a", 1, {"x"});
  Job("b", 1, {"y"});
  Job("c", 1, {"z"});
  engine.Settle();
  EXPECT_THAT(NodesOf("a"), ElementsAre("node-0"));
  EXPECT_EQ(engine.world.waiting.by_kind().size(), 1u);
  EXPECT_EQ(ReasonOf("c").message, "needs 1 nvidia.com/gpu, 0 free; a holds 1");
}

TEST_F(VolumesTest, DisksInThePodItselfAreRefusedByName) {
  Nodes(1, 1);
  json::Doc role = Role(1, {});
  role["template"]["spec"]["volumes"] =
      json::Doc::array({{{"name", "v"}, {"rbd", {{"image", "i"}, {"monitors", json::Doc::array({"m"})}}}}});
  engine.Submit(kube::kPyTorchJobs, "a", {{"pytorchReplicaSpecs", {{"Worker", role}}}});
  engine.Settle();
  EXPECT_EQ(ReasonOf("a").code, "Unsupported");
  EXPECT_THAT(ReasonOf("a").message, HasSubstr("spec.volumes[0].rbd"));
}

}  // namespace
}  // namespace lockstep::engine
