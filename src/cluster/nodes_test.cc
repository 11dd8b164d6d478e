#include "cluster/nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "cluster/testing.h"

namespace lockstep::cluster {
namespace {

using namespace testing;  // NOLINT: builders
using ::testing::ElementsAre;

std::vector<std::string> Names(const Nodes& nodes) {
  std::vector<std::string> names;
  for (NodeId node : nodes.ByName()) names.push_back(nodes.name(node));
  return names;
}

TEST(Nodes, AreKnownByNameAndListedInItsOrder) {
  Nodes nodes;
  NodeId b = nodes.Upsert(MakeNode("b", Cpu(1)));
  nodes.Upsert(MakeNode("c", Cpu(1)));
  nodes.Upsert(MakeNode("a", Cpu(1)));

  EXPECT_THAT(Names(nodes), ElementsAre("a", "b", "c"));
  EXPECT_EQ(nodes.Find("b"), b);
  nodes.Remove("b");
  nodes.Remove("never seen");
  EXPECT_THAT(Names(nodes), ElementsAre("a", "c"));
  EXPECT_FALSE(nodes.Find("b"));
  EXPECT_FALSE(nodes.Has(b));
  nodes.Upsert(MakeNode("aa", Cpu(1)));  // takes b's slot
  EXPECT_THAT(Names(nodes), ElementsAre("a", "aa", "c"));
  EXPECT_EQ(nodes.size(), 3u);
}

TEST(Nodes, CountWhatPodsHoldAndGiveItBack) {
  Nodes nodes = MakeNodes(1, Gpu(8) + Cpu(10));
  NodeId node = *nodes.Find("node-0");
  ClassId worker = nodes.Class(MakeNeed(Gpu(1) + Cpu(2)));

  nodes.Occupy(node, worker, 3);
  EXPECT_EQ(nodes.Used(node, "nvidia.com/gpu"), 3'000);
  EXPECT_EQ(nodes.Used(node, "cpu"), 6'000);
  EXPECT_EQ(nodes.Used(node, "pods"), 3'000);
  EXPECT_EQ(nodes.Seats(worker).total(), 2);  // by CPU

  nodes.Release(node, worker, 2);
  EXPECT_EQ(nodes.Used(node, "cpu"), 2'000);
  EXPECT_EQ(nodes.Seats(worker).total(), 4);
  nodes.Release(node, worker);
  EXPECT_TRUE(nodes.occupants(node).empty());
}

TEST(Nodes, OvercommittedNodesHaveNoSeatsButRefuseOnlyWhatIsShort) {
  Nodes nodes = MakeNodes(1, Cpu(4) + MemoryGi(8));
  Busy(nodes, "node-0", Cpu(6));

  EXPECT_EQ(nodes.Seats(nodes.Class(MakeNeed(Cpu(1)))).total(), 0);
  EXPECT_EQ(nodes.Seats(nodes.Class(MakeNeed(MemoryGi(2)))).total(), 4);
  EXPECT_EQ(nodes.FreeFor(nodes.Class(MakeNeed(Cpu(1))))[0], 0);
}

TEST(Nodes, AnEqualNodeChangesNothing) {
  Nodes nodes = MakeNodes(2, Cpu(4));
  uint64_t now = nodes.generation(), empty = nodes.generation(View::kEmpty);

  nodes.Upsert(MakeNode("node-1", Cpu(4)));
  EXPECT_EQ(nodes.generation(), now);
  EXPECT_EQ(nodes.generation(View::kEmpty), empty);

  nodes.Upsert(MakeNode("node-1", Cpu(4), {{"zone", "b"}}));
  EXPECT_GT(nodes.generation(), now);
  EXPECT_GT(nodes.generation(View::kEmpty), empty);
}

TEST(Nodes, OnlyDaemonsCountOnTheEmptyCluster) {
  Nodes nodes = MakeNodes(1, Cpu(4));
  NodeId node = *nodes.Find("node-0");
  ClassId pod = nodes.Class(MakeNeed(Cpu(1)));
  nodes.Occupy(node, pod, 2);
  uint64_t empty = nodes.generation(View::kEmpty);
  EXPECT_EQ(nodes.Seats(pod, View::kEmpty).total(), 4);

  nodes.Occupy(node, pod, 1, Tenure::kDaemon);
  EXPECT_EQ(nodes.Seats(pod, View::kEmpty).total(), 3);
  EXPECT_EQ(nodes.Seats(pod).total(), 1);
  EXPECT_GT(nodes.generation(View::kEmpty), empty);

  nodes.Release(node, pod, 1, Tenure::kDaemon);
  EXPECT_EQ(nodes.Seats(pod, View::kEmpty).total(), 4);
}

TEST(Nodes, ResourceThatNoNodeListsCannotBeHadUntilOneDoes) {
  Nodes nodes = MakeNodes(1, Cpu(8));
  NodeId node = *nodes.Find("node-0");
  ClassId pod = nodes.Class(MakeNeed(kube::Resources{{"example.com/fpga", 1000}}));
  nodes.Occupy(node, pod);  // somebody bound one there all the same
  const SeatIndex& index = nodes.Seats(pod);
  ASSERT_EQ(index.total(), 0);
  EXPECT_EQ(index.row(node).refusal, (Refusal{Reason::kResource, 0}));

  nodes.Upsert(MakeNode("node-0", Cpu(8) + kube::Resources{{"example.com/fpga", 3000}}));

  EXPECT_EQ(nodes.Seats(pod).total(), 2);  // the one that is there is counted now
}

TEST(Nodes, HostileResourceNamesCostNoColumns) {
  Nodes nodes = MakeNodes(1, Cpu(8));
  for (int i = 0; i < 2'000; ++i) {
    Busy(nodes, "node-0", kube::Resources{{"x.example/" + std::to_string(i), 1}});
  }
  kube::Resources many;
  for (int i = 0; i < 2'000; ++i) many["y.example/" + std::to_string(i)] = 1000;
  nodes.Upsert(MakeNode("node-1", many));

  EXPECT_EQ(nodes.Used(*nodes.Find("node-0"), "pods"), 2'000'000);
  EXPECT_EQ(nodes.Seats(nodes.Class(MakeNeed(Cpu(1)))).total(), 0);  // 110 pods are the limit
}

TEST(Nodes, SaturatedSumsComeBack) {
  Nodes nodes = MakeNodes(1, Cpu(8));
  NodeId node = *nodes.Find("node-0");
  ClassId huge = nodes.Class(MakeNeed({{"cpu", kube::kMaxAmount / 2 + 10}}));
  ClassId small = nodes.Class(MakeNeed(Cpu(1)));
  nodes.Occupy(node, small, 3);
  nodes.Occupy(node, huge, 3);
  EXPECT_EQ(nodes.Used(node, "cpu"), kube::kMaxAmount);

  nodes.Release(node, huge, 2);
  EXPECT_EQ(nodes.Used(node, "cpu"), kube::kMaxAmount / 2 + 10 + 3'000);
  nodes.Release(node, huge);
  EXPECT_EQ(nodes.Seats(small).total(), 5);
}

TEST(Nodes, RemovedNodeForgetsItsPods) {
  Nodes nodes = MakeNodes(2, Cpu(4));
  ClassId pod = nodes.Class(MakeNeed(Cpu(1)));
  nodes.Occupy(*nodes.Find("node-0"), pod, 4);
  EXPECT_EQ(nodes.Seats(pod).total(), 4);
  EXPECT_EQ(nodes.Seats(pod).nodes(), 2);

  nodes.Remove("node-0");
  EXPECT_EQ(nodes.Seats(pod).total(), 4);
  EXPECT_EQ(nodes.Seats(pod).nodes(), 1);
  nodes.Upsert(MakeNode("node-0", Cpu(4)));
  EXPECT_EQ(nodes.Seats(pod).total(), 8);
}

TEST(Nodes, ClassesAreSharedSweptAndReused) {
  Nodes nodes = MakeNodes(1, Cpu(100));
  ClassId kept = nodes.Class(MakeNeed(Cpu(1))), running = nodes.Class(MakeNeed(Cpu(2)));
  ClassId idle = nodes.Class(WithSelector(MakeNeed(Cpu(1)), "a", "b"));
  EXPECT_NE(kept, idle);
  EXPECT_EQ(nodes.Class(MakeNeed(Cpu(1))), kept);
  EXPECT_EQ(nodes.HeldClass(WithSelector(MakeNeed(Cpu(1)), "a", "b")), kept);
  nodes.Occupy(*nodes.Find("node-0"), running);
  nodes.Seats(idle);

  nodes.SweepClasses(std::array{kept});

  EXPECT_EQ(nodes.class_count(), 2u);
  EXPECT_EQ(nodes.Class(MakeNeed(Cpu(2))), running);
  EXPECT_EQ(nodes.Class(MakeNeed(Cpu(3))), idle);  // its slot
  EXPECT_EQ(nodes.Seats(idle).total(), 32);        // (100 - 2) / 3, not the old class's seats
}

TEST(Nodes, CopiesGoTheirOwnWays) {
  Nodes nodes = MakeNodes(2, Cpu(4));
  ClassId pod = nodes.Class(MakeNeed(Cpu(1)));
  EXPECT_EQ(nodes.Seats(pod).total(), 8);

  Nodes copy = nodes;
  copy.Occupy(*copy.Find("node-0"), pod, 3);
  copy.Upsert(MakeNode("node-2", Cpu(4)));

  EXPECT_EQ(copy.Seats(pod).total(), 9);
  EXPECT_EQ(nodes.Seats(pod).total(), 8);
  nodes = Nodes();  // what the copy shared with it lives on
  EXPECT_EQ(copy.Seats(pod).total(), 9);
  EXPECT_EQ(copy.name(*copy.Find("node-1")), "node-1");
}

TEST(Nodes, TaintTextsStayBounded) {
  Nodes nodes;
  for (int i = 0; i < 5'000; ++i) {
    nodes.Upsert(
        MakeNode("node-0", Cpu(1), {}, {{"autoscaler/deleting-at", std::to_string(i), "NoSchedule"}}));
  }
  ClassId pod = nodes.Class(MakeNeed(Cpu(1)));
  Refusal refusal = nodes.Seats(pod).row(*nodes.Find("node-0")).refusal;
  EXPECT_EQ(refusal.reason, Reason::kTaint);
  EXPECT_EQ(nodes.taint(refusal.detail).key, "(another)");
}

TEST(Nodes, AnswersLastAsLongAsTheGeneration) {
  Nodes nodes = MakeNodes(1, Cpu(4));
  nodes.Remember(View::kEmpty, {1, 2}, 7);
  EXPECT_EQ(nodes.Recall(View::kEmpty, {1, 2}), 7);
  EXPECT_EQ(nodes.Recall(View::kEmpty, {1}), std::nullopt);

  nodes.Occupy(*nodes.Find("node-0"), nodes.Class(MakeNeed(Cpu(1))));
  EXPECT_EQ(nodes.Recall(View::kEmpty, {1, 2}), 7);  // a pod is nothing to the empty cluster
  nodes.Upsert(MakeNode("node-0", Cpu(5)));
  EXPECT_EQ(nodes.Recall(View::kEmpty, {1, 2}), std::nullopt);
}

// Whatever happens in whatever order, each index says what a look at every node says.
class RandomLife : public ::testing::TestWithParam<unsigned> {
 protected:
  void CheckIndex(ClassId pod_class, View view) {
    const SeatIndex& index = nodes_.Seats(pod_class, view);
    int64_t total = 0;
    std::map<std::pair<Reason, int>, int32_t> refused;
    std::map<std::pair<int, int>, std::vector<std::string>> buckets;  // (tier, seats) to names in order
    for (NodeId node : nodes_.ByName()) {
      SeatIndex::Row row = nodes_.Judge(node, pod_class, view);
      ASSERT_EQ(index.seats(node), row.seats) << nodes_.name(node);
      total += row.seats;
      if (row.seats == 0) ++refused[{row.refusal.reason, row.refusal.detail}];
      if (row.seats > 0) buckets[{row.tier, row.seats}].push_back(nodes_.name(node));
    }
    ASSERT_EQ(index.total(), total);
    ASSERT_EQ(index.nodes(), static_cast<int32_t>(nodes_.size()));
    for (const SeatIndex::Count& count : index.refused()) {
      std::pair<Reason, int> key{count.refusal.reason, count.refusal.detail};
      ASSERT_EQ(count.nodes, refused.contains(key) ? refused[key] : 0);
      refused.erase(key);
    }
    ASSERT_TRUE(refused.empty());
    decltype(buckets) walked;
    for (size_t tier = 0; tier < index.tiers(); ++tier) {
      for (int32_t b = index.BucketAtMost(tier, SeatIndex::kLastBucket); b > 0;
           b = index.BucketAtMost(tier, b - 1)) {
        for (uint32_t rank = index.NextInBucket(tier, b, 0); rank != RankSet::kEnd;
             rank = index.NextInBucket(tier, b, rank + 1)) {
          walked[{static_cast<int>(tier), b}].push_back(nodes_.name(nodes_.ByName()[rank]));
        }
      }
    }
    ASSERT_EQ(walked, buckets);
  }

  void CheckSums() {
    std::map<std::string, int64_t> gpus;
    for (const auto& [node, pod] : running_) gpus[node] += Gpus(pod);
    for (NodeId node : nodes_.ByName()) {
      ASSERT_EQ(nodes_.Used(node, "nvidia.com/gpu"), gpus[nodes_.name(node)]);
    }
  }

  int64_t Gpus(ClassId pod) {
    auto found = nodes_.pod_class(pod).need.requests.find("nvidia.com/gpu");
    return found == nodes_.pod_class(pod).need.requests.end() ? 0 : found->second;
  }

  Nodes nodes_;
  std::vector<std::pair<std::string, ClassId>> running_;
};

TEST_P(RandomLife, IndexesEqualARecount) {
  std::mt19937 random(GetParam());
  auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  const char* const effects[] = {"NoSchedule", "NoExecute", "PreferNoSchedule"};
  std::vector<ClassId> classes;
  for (int i = 0; i < 6; ++i) {
    kube::PodNeed need = MakeNeed(Gpu(i % 3) + Cpu(1 + i));
    if (i == 2) need = WithSelector(need, "zone", "1");
    if (i == 3) need = Tolerating(need, "t");
    if (i == 4) need = WithHostPort(need, 80);
    if (i == 5) {
      kube::NodeSelectorTerm zone{{{"zone", kube::SelectorOp::kIn, {"1"}}}, {}};
      need.preferred.push_back({zone, 50});
    }
    classes.push_back(nodes_.Class(need));
  }
  for (int step = 0; step < 1'500; ++step) {
    std::string name = "node-" + std::to_string(upto(80));
    switch (upto(9)) {
      case 0:
      case 1: {
        kube::Resources has = Cpu(upto(20)) + Pods(1 + upto(6));
        if (upto(1) == 0) has = has + Gpu(upto(4));
        std::vector<kube::Taint> taints;
        if (upto(4) == 0) taints.push_back({"t", std::to_string(upto(1)), effects[upto(2)]});
        kube::Node node = MakeNode(name, has, {{"zone", std::to_string(upto(1))}}, taints);
        node.unschedulable = upto(9) == 0;
        if (upto(9) == 0) node.conditions[0].status = "Unknown";
        nodes_.Upsert(node);
        break;
      }
      case 2:
        nodes_.Remove(name);
        std::erase_if(running_, [&](const auto& pod) { return pod.first == name; });
        break;
      case 3:
      case 4:
      case 5:
        if (std::optional<NodeId> node = nodes_.Find(name)) {
          ClassId pod = classes[static_cast<size_t>(upto(5))];
          nodes_.Occupy(*node, pod);
          running_.emplace_back(name, pod);
        }
        break;
      case 6:
      case 7:
        if (!running_.empty()) {
          size_t at = random() % running_.size();
          nodes_.Release(*nodes_.Find(running_[at].first), running_[at].second);
          running_.erase(running_.begin() + static_cast<ptrdiff_t>(at));
        }
        break;
      default:
        ASSERT_NO_FATAL_FAILURE(
            CheckIndex(classes[static_cast<size_t>(upto(5))], upto(1) == 0 ? View::kNow : View::kEmpty));
    }
  }
  ASSERT_NO_FATAL_FAILURE(CheckSums());
  for (ClassId pod_class : classes) {
    ASSERT_NO_FATAL_FAILURE(CheckIndex(pod_class, View::kNow));
    ASSERT_NO_FATAL_FAILURE(CheckIndex(pod_class, View::kEmpty));
  }
}

TEST_P(RandomLife, ManyMoreClassesThanIndexes) {
  std::mt19937 random(GetParam());
  nodes_ = MakeNodes(20, Cpu(64));
  for (int step = 0; step < 3000; ++step) {  // an index is dropped from the 1,025th class on
    ClassId pod = nodes_.Class(MakeNeed({{"cpu", 20 * (1 + static_cast<int64_t>(random() % 1500))}}));
    ASSERT_NO_FATAL_FAILURE(CheckIndex(pod, View::kNow));
    nodes_.Occupy(static_cast<NodeId>(random() % 20), nodes_.Class(MakeNeed({{"cpu", 1}})));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLife, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace lockstep::cluster
