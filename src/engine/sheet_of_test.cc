#include "engine/sheet_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

// Ten jobs that wait, each for a reason of its own, and what a person is told.
class SheetOfTest : public ::testing::Test {
 protected:
  // What `lockstep explain` prints, some minutes after it was submitted.
  std::string Text(const std::string& job, Duration later = minutes(5)) {
    hand_.Settle();
    hand_.now.wall += later;
    std::optional<explain::Sheet> sheet = SheetOf(hand_.world, "pytorchjobs/default/" + job, hand_.now);
    return sheet ? explain::SheetText(*sheet) : "does not wait";
  }

  void Node(const std::string& name, const json::Doc& change = json::Doc::object(), int gpus = 8) {
    json::Doc node = {{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
                      {"status",
                       {{"allocatable",
                         {{"nvidia.com/gpu", std::to_string(gpus)},
                          {"cpu", "64"},
                          {"memory", "512Gi"},
                          {"pods", "110"}}}}}};
    node.merge_patch(change);
    hand_.See(kube::kNodes, node);
  }

  // A Master and Workers of one GPU each; `pod` is merged into the pod's spec, `limits` into the container's.
  void Job(const std::string& name, int workers, const json::Doc& limits = {{"nvidia.com/gpu", 1}},
           const json::Doc& pod = json::Doc::object(), const json::Doc& policy = json::Doc::object()) {
    json::Doc container = {{"name", "pytorch"}, {"image", "i"}, {"resources", {{"limits", limits}}}};
    json::Doc spec = {{"containers", json::Doc::array({container})}};
    spec.merge_patch(pod);
    auto role = [&](int replicas) {
      return json::Doc{
          {"replicas", replicas}, {"restartPolicy", "OnFailure"}, {"template", {{"spec", spec}}}};
    };
    hand_.Submit(
        kube::kPyTorchJobs, name,
        {{"runPolicy", policy}, {"pytorchReplicaSpecs", {{"Master", role(1)}, {"Worker", role(workers)}}}});
    hand_.Settle();
    hand_.now.wall += minutes(1);
  }

  testing::HandDriven hand_;
};

TEST_F(SheetOfTest, WaitsForOneOfTwoJobsToEnd) {
  for (int i = 0; i < 2; ++i) Node("gpu-" + std::to_string(i));
  Job("bert", 7);
  Job("llama", 7);
  Job("gpt", 7);
  Job("t5", 1);
  EXPECT_EQ(Text("gpt"),
            R"(PyTorchJob default/gpt waits: needs 8 nvidia.com/gpu, 0 free; bert holds 8, llama holds 8
  since     2027-01-15T08:02:00Z, 6 minutes ago
  queue     first of 2
  needs     8 pods, all at once: 8 nvidia.com/gpu, 350m cpu, 70Mi memory
            1 Master pod: 1 nvidia.com/gpu
            7 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 8 pods (Master and Worker) on 2 nodes
            2 nodes have too little nvidia.com/gpu
  held by   bert: 8 nvidia.com/gpu, for 9 minutes
            llama: 8 nvidia.com/gpu, for 8 minutes
  starts    when bert or llama has ended
  or        with 1 more node like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
)");
  EXPECT_EQ(Text("t5"),
            R"(PyTorchJob default/t5 waits: needs 2 nvidia.com/gpu, 0 free; bert holds 8, llama holds 8
  since     2027-01-15T08:03:00Z, 10 minutes ago
  queue     2nd of 2, behind gpt
  needs     2 pods, all at once: 2 nvidia.com/gpu, 50m cpu, 10Mi memory
            1 Master pod: 1 nvidia.com/gpu
            1 Worker pod: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 2 pods (Master and Worker) on 2 nodes
            2 nodes have too little nvidia.com/gpu
  held by   bert: 8 nvidia.com/gpu, for 14 minutes
            llama: 8 nvidia.com/gpu, for 13 minutes
  starts    when bert or llama has ended
  or        with 1 more node like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
)");
}

TEST_F(SheetOfTest, WaitsForSeveralJobsToEnd) {
  for (int i = 0; i < 4; ++i) Node("gpu-" + std::to_string(i));
  for (const char* job : {"a", "b", "c", "d"}) Job(job, 7);
  Job("big", 23);
  EXPECT_EQ(
      Text("big"),
      R"(PyTorchJob default/big waits: needs 24 nvidia.com/gpu, 0 free; a holds 8, b holds 8, c holds 8, 1 more holds the rest
  since     2027-01-15T08:04:00Z, 5 minutes ago
  queue     first of 1
  needs     24 pods, all at once: 24 nvidia.com/gpu, 1150m cpu, 230Mi memory
            1 Master pod: 1 nvidia.com/gpu
            23 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 24 pods (Master and Worker) on 4 nodes
            4 nodes have too little nvidia.com/gpu
  held by   a: 8 nvidia.com/gpu, for 10 minutes
            b: 8 nvidia.com/gpu, for 9 minutes
            c: 8 nvidia.com/gpu, for 8 minutes
            d: 8 nvidia.com/gpu, for 7 minutes
  starts    when a, b and c have ended
  or        with 3 more nodes like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
)");
}

TEST_F(SheetOfTest, IsKeptAwayByTaints) {
  for (int i = 0; i < 3; ++i)
    Node("gpu-" + std::to_string(i),
         {{"spec",
           {{"taints",
             json::Doc::array({{{"key", "team"}, {"value", "vision"}, {"effect", "NoSchedule"}}})}}}});
  Job("bert", 7);
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: no node takes its pods: 3 nodes have the taint team=vision:NoSchedule
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     8 pods, all at once: 8 nvidia.com/gpu, 350m cpu, 70Mi memory
            1 Master pod: 1 nvidia.com/gpu
            7 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 8 pods (Master and Worker) on 3 nodes
            3 nodes have the taint team=vision:NoSchedule
  starts    if its pods tolerated team=vision:NoSchedule
)");
}

TEST_F(SheetOfTest, WaitsForCordonedNodes) {
  for (int i = 0; i < 3; ++i)
    Node("gpu-" + std::to_string(i),
         i == 0 ? json::Doc::object() : json::Doc{{"spec", {{"unschedulable", true}}}});
  Job("bert", 15);
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can't run while 2 nodes are cordoned: needs 16 nvidia.com/gpu, the nodes it may use have 8
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     16 pods, all at once: 16 nvidia.com/gpu, 750m cpu, 150Mi memory
            1 Master pod: 1 nvidia.com/gpu
            15 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for 8 of 15 pods (Worker) on 3 nodes
            2 nodes are cordoned
  starts    with 1 more node like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
  or        if node gpu-1 were uncordoned
  or        with 7 Worker pods instead of 15
)");
}

TEST_F(SheetOfTest, AsksForMoreThanAnyNodeHas) {
  for (int i = 0; i < 3; ++i) Node("gpu-" + std::to_string(i), json::Doc::object(), 4);
  Job("bert", 1, {{"nvidia.com/gpu", 8}});
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: needs 16 nvidia.com/gpu, the nodes it may use have 12
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     2 pods, all at once: 16 nvidia.com/gpu, 50m cpu, 10Mi memory
            1 Master pod: 8 nvidia.com/gpu
            1 Worker pod: 8 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 2 pods (Master and Worker) on 3 nodes
            3 nodes have too little nvidia.com/gpu
  starts    on nodes of at least 8 nvidia.com/gpu each; the largest here has 4
  or        with 4 nvidia.com/gpu for each pod instead of 8
)");
}

TEST_F(SheetOfTest, IsBiggerThanTheCluster) {
  for (int i = 0; i < 3; ++i) Node("gpu-" + std::to_string(i));
  Job("bert", 63);
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: needs 64 nvidia.com/gpu, the nodes it may use have 24
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     64 pods, all at once: 64 nvidia.com/gpu, 3150m cpu, 630Mi memory
            1 Master pod: 1 nvidia.com/gpu
            63 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for 24 of 63 pods (Worker) on 3 nodes
  starts    with 5 more nodes like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
  or        with 23 Worker pods instead of 63
)");
}

TEST_F(SheetOfTest, FindsTooSmallPieces) {
  for (int i = 0; i < 4; ++i) Node("gpu-" + std::to_string(i));
  for (int i = 0; i < 4; ++i) Job("a" + std::to_string(i), 1, {{"nvidia.com/gpu", 3}});
  Job("wide", 1, {{"nvidia.com/gpu", 4}});
  EXPECT_EQ(
      Text("wide"),
      R"(PyTorchJob default/wide waits: needs 8 nvidia.com/gpu, 8 free, but in too small pieces: 4 nodes have too little nvidia.com/gpu
  since     2027-01-15T08:04:00Z, 5 minutes ago
  queue     first of 1
  needs     2 pods, all at once: 8 nvidia.com/gpu, 50m cpu, 10Mi memory
            1 Master pod: 4 nvidia.com/gpu
            1 Worker pod: 4 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 2 pods (Master and Worker) on 4 nodes
            4 nodes have too little nvidia.com/gpu
  held by   a0: 6 nvidia.com/gpu, for 10 minutes
            a1: 6 nvidia.com/gpu, for 9 minutes
            a2: 6 nvidia.com/gpu, for 8 minutes
            a3: 6 nvidia.com/gpu, for 7 minutes
  starts    when a0, a1, a2 or a3 has ended
  or        with 1 more node like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
  or        with 2 nvidia.com/gpu for each pod instead of 4
)");
}

TEST_F(SheetOfTest, IsShortOfMemory) {
  for (int i = 0; i < 2; ++i) Node("gpu-" + std::to_string(i));
  Job("bert", 3, {{"nvidia.com/gpu", 1}, {"memory", "300Gi"}});
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: needs 1200Gi memory, the nodes it may use have 1Ti
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     4 pods, all at once: 4 nvidia.com/gpu, 150m cpu, 1200Gi memory
            1 Master pod: 1 nvidia.com/gpu, 300Gi memory
            3 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 300Gi memory
              50m cpu of it are not in the template, but added to the pod
  room      for 2 of 3 pods (Worker) on 2 nodes
  starts    with 2 more nodes like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
  or        with 212Gi memory for each Worker pod instead of 300Gi
  or        with 1 Worker pod instead of 3
)");
}

TEST_F(SheetOfTest, WantsLabelsThatNoNodeHas) {
  for (int i = 0; i < 2; ++i) Node("gpu-" + std::to_string(i));
  Job("bert", 3, {{"nvidia.com/gpu", 1}}, {{"nodeSelector", {{"gpu", "h200"}}}});
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: no node takes its pods: 2 nodes lack the wanted labels
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     4 pods, all at once: 4 nvidia.com/gpu, 150m cpu, 30Mi memory
            1 Master pod: 1 nvidia.com/gpu
            3 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  room      for none of 4 pods (Master and Worker) on 2 nodes
            2 nodes lack the wanted labels
  starts    without the node selector and node affinity of its pods
)");
}

TEST_F(SheetOfTest, IsHeldByAQuota) {
  Node("gpu-0");
  hand_.Quota("team", {{"requests.nvidia.com/gpu", "4"}}, {{"requests.nvidia.com/gpu", "0"}});
  Job("a", 1);
  Job("b", 3);
  EXPECT_EQ(Text("b"),
            R"(PyTorchJob default/b waits: quota team: asks for 4 requests.nvidia.com/gpu, used 2 of 4
  since     2027-01-15T08:01:00Z, 5 minutes ago
  queue     first of 1
  needs     4 pods, all at once: 4 nvidia.com/gpu, 150m cpu, 30Mi memory
            1 Master pod: 1 nvidia.com/gpu
            3 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  starts    if quota team allowed 6 requests.nvidia.com/gpu instead of 4
)");
}

TEST_F(SheetOfTest, IsSuspended) {
  Node("gpu-0");
  Job("bert", 3, {{"nvidia.com/gpu", 1}}, json::Doc::object(), {{"suspend", true}});
  EXPECT_EQ(Text("bert"), R"(PyTorchJob default/bert waits: the job is suspended
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     4 pods, all at once: 4 nvidia.com/gpu, 150m cpu, 30Mi memory
            1 Master pod: 1 nvidia.com/gpu
            3 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
            as written: nobody has said yet what admission adds
  starts    when it is resumed (spec.runPolicy.suspend: false)
)");
}

TEST_F(SheetOfTest, KeepsApart) {
  for (int i = 0; i < 2; ++i) Node("gpu-" + std::to_string(i));
  json::Doc term = {{"topologyKey", "kubernetes.io/hostname"},
                    {"labelSelector", {{"matchLabels", {{"training.kubeflow.org/job-name", "bert"}}}}}};
  Job("bert", 3, {{"nvidia.com/gpu", 1}},
      {{"affinity",
        {{"podAntiAffinity",
          {{"requiredDuringSchedulingIgnoredDuringExecution", json::Doc::array({term})}}}}}});
  EXPECT_EQ(
      Text("bert"),
      R"(PyTorchJob default/bert waits: can never run here: its 3 pods keep apart by kubernetes.io/hostname: room for 2
  since     2027-01-15T08:00:00Z, 5 minutes ago
  queue     first of 1
  needs     4 pods, all at once: 4 nvidia.com/gpu, 150m cpu, 30Mi memory
            1 Master pod: 1 nvidia.com/gpu
            3 Worker pods, each: 1 nvidia.com/gpu, 50m cpu, 10Mi memory
              50m cpu, 10Mi memory of it are not in the template, but added to the pod
  starts    with 2 more nodes like gpu-0 (8 nvidia.com/gpu, 64 cpu, 512Gi memory)
  or        with 1 Worker pod instead of 3
)");
}

}  // namespace
}  // namespace lockstep::engine
