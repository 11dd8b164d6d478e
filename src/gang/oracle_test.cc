// Small random clusters against brute force: what Place finds must be allowed and what it refuses must be
// impossible, by arithmetic that shares nothing with cluster/ and gang/.
#include <gtest/gtest.h>

#include <random>

#include "gang/exact.h"
#include "gang/mixed.h"
#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using namespace cluster::testing;  // NOLINT: builders
using testing::Fault;

struct PlainPod {
  int cpu = 0, gpu = 0, zone = -1, port = 0;
  bool tolerates = false;

  friend bool operator==(const PlainPod&, const PlainPod&) = default;
};

struct PlainNode {
  int cpu = 0, gpu = 0, zone = 0, pods = 0;
  bool tainted = false;
  std::vector<int> ports;

  bool Take(const PlainPod& pod) {
    bool fits = pod.cpu <= cpu && pod.gpu <= gpu && pods > 0 && (pod.zone < 0 || pod.zone == zone) &&
                (!tainted || pod.tolerates) && (pod.port == 0 || std::ranges::count(ports, pod.port) == 0);
    if (!fits) return false;
    cpu -= pod.cpu, gpu -= pod.gpu, --pods;
    if (pod.port != 0) ports.push_back(pod.port);
    return true;
  }
};

// Whether pods[next..] have seats; alike pods go to nodes in ascending order, so no permutation is tried
// twice.
bool Possible(const std::vector<PlainNode>& nodes, const std::vector<PlainPod>& pods, size_t next,
              size_t from) {
  if (next == pods.size()) return true;
  for (size_t node = from; node < nodes.size(); ++node) {
    std::vector<PlainNode> after = nodes;
    if (!after[node].Take(pods[next])) continue;
    bool alike = next + 1 < pods.size() && pods[next + 1] == pods[next];
    if (Possible(after, pods, next + 1, alike ? node : 0)) return true;
  }
  return false;
}

struct Instance {
  std::vector<PlainNode> nodes;
  std::vector<PlainPod> kinds;
  std::vector<int> counts;
};

Instance RandomInstance(std::mt19937& random, int kinds) {
  auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  Instance instance;
  for (int count = 1 + upto(3); count > 0; --count) {
    instance.nodes.push_back(
        {.cpu = upto(12), .gpu = upto(4), .zone = upto(1), .pods = 1 + upto(5), .tainted = upto(4) == 0});
  }
  bool ports = upto(3) == 0, constrained = upto(2) == 0;
  for (int kind = 0; kind < kinds; ++kind) {
    PlainPod pod{.cpu = 1 + upto(5), .gpu = upto(2) == 0 ? upto(3) : upto(1)};
    if (constrained && upto(2) == 0) pod.zone = upto(1);
    if (constrained) pod.tolerates = upto(1) == 0;
    if (ports) pod.port = upto(2);
    instance.kinds.push_back(pod);
    instance.counts.push_back(1 + upto(8 / kinds));
  }
  return instance;
}

kube::PodNeed NeedOf(const PlainPod& pod) {
  kube::PodNeed need = MakeNeed(Cpu(pod.cpu) + Gpu(pod.gpu));
  if (pod.zone >= 0) need = WithSelector(need, "zone", std::to_string(pod.zone));
  if (pod.tolerates) need = Tolerating(need, "t");
  if (pod.port != 0) need = WithHostPort(need, pod.port);
  return need;
}

struct World {
  Nodes nodes;
  Need need;
};

World Build(const Instance& instance) {
  World world;
  for (size_t i = 0; i < instance.nodes.size(); ++i) {
    const PlainNode& node = instance.nodes[i];
    std::vector<kube::Taint> taints;
    if (node.tainted) taints.push_back({"t", "", "NoSchedule"});
    world.nodes.Upsert(MakeNode("node-" + std::to_string(i), Cpu(node.cpu) + Gpu(node.gpu) + Pods(node.pods),
                                {{"zone", std::to_string(node.zone)}}, taints));
  }
  for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
    world.need.roles.push_back({world.nodes.Class(NeedOf(instance.kinds[kind])), instance.counts[kind]});
  }
  return world;
}

bool BruteForce(const Instance& instance) {
  std::vector<PlainPod> pods;
  for (size_t kind = 0; kind < instance.kinds.size(); ++kind)
    pods.insert(pods.end(), instance.counts[kind], instance.kinds[kind]);
  return Possible(instance.nodes, pods, 0, 0);
}

// The placement replayed on the plain nodes.
bool Holds(const Instance& instance, const Nodes& nodes, const Placement& placement) {
  std::vector<PlainNode> plain = instance.nodes;
  for (const Seats& seats : placement.seats) {
    PlainNode& node = plain[std::stoul(nodes.name(seats.node).substr(5))];
    for (int i = 0; i < seats.count; ++i) {
      if (!node.Take(instance.kinds[seats.role])) return false;
    }
  }
  return true;
}

class AgainstBruteForce : public ::testing::TestWithParam<int> {};

TEST_P(AgainstBruteForce, PlaceFindsSeatsIfAndOnlyIfThereAreSome) {
  std::mt19937 random(static_cast<unsigned>(GetParam()) * 7919);
  int fitted = 0, refused = 0;
  for (int round = 0; round < 8'000; ++round) {
    Instance instance = RandomInstance(random, GetParam());
    World world = Build(instance);

    auto result = Place(world.nodes, world.need);

    bool possible = BruteForce(instance);
    ASSERT_EQ(std::holds_alternative<Placement>(result), possible) << "round " << round;
    EXPECT_EQ(Fits(world.nodes, world.need), possible);
    EXPECT_EQ(IsPossible(world.nodes, world.need), possible);  // the cluster is empty
    if (possible) {
      ++fitted;
      ASSERT_EQ(Fault(world.nodes, world.need, std::get<Placement>(result)), "") << "round " << round;
      ASSERT_TRUE(Holds(instance, world.nodes, std::get<Placement>(result))) << "round " << round;
    } else {
      ++refused;
      ASSERT_TRUE(std::get<NoFit>(result).proved) << "round " << round;
      ASSERT_TRUE(std::get<NoFit>(result).never);
    }
  }
  EXPECT_GT(fitted, 300);  // both answers were really tested
  EXPECT_GT(refused, 300);
}

TEST_P(AgainstBruteForce, TheExactSearchAloneAgreesToo) {
  std::mt19937 random(static_cast<unsigned>(GetParam()) * 104'729);
  int fitted = 0;
  for (int round = 0; round < 8'000; ++round) {
    Instance instance = RandomInstance(random, GetParam());
    World world = Build(instance);
    bool distinct = true;
    for (size_t i = 0; i < world.need.roles.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        distinct &= world.need.roles[i].pod_class != world.need.roles[j].pod_class;
    }
    if (!distinct) continue;

    MixedResult result = PlaceExactly(world.nodes, cluster::View::kNow, world.need.roles, {});

    ASSERT_TRUE(result.proved);
    ASSERT_EQ(!result.shares.empty(), BruteForce(instance)) << "round " << round;
    fitted += !result.shares.empty();
  }
  EXPECT_GT(fitted, 300);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AgainstBruteForce, ::testing::Values(1, 2, 3));

// The same cluster made known in another order, and with other ids, gives the same seats on the same names.
TEST(PlaceGang, DependsOnNamesAloneNotOnTheOrderOfArrival) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Instance instance = RandomInstance(random, 1 + round % 3);
    World world = Build(instance);

    World other;
    other.nodes.Upsert(MakeNode("gone", Cpu(1)));
    for (size_t kind = instance.kinds.size(); kind-- > 0;) other.nodes.Class(NeedOf(instance.kinds[kind]));
    for (size_t i = instance.nodes.size(); i-- > 0;) {
      other.nodes.Upsert(MakeNode("node-" + std::to_string(i), {}));
      kube::Node node = MakeNode("node-" + std::to_string(i), {});
      const cluster::NodeFacts& facts = world.nodes.facts(*world.nodes.Find(node.meta.name));
      node.meta.labels = facts.labels, node.taints = facts.taints, node.allocatable = facts.allocatable;
      other.nodes.Upsert(node);
      other.nodes.Remove("gone");
    }
    for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
      other.need.roles.push_back({other.nodes.Class(NeedOf(instance.kinds[kind])), instance.counts[kind]});
    }

    auto described = [](World& at) {
      std::string text;
      auto result = Place(at.nodes, at.need);
      if (!std::holds_alternative<Placement>(result)) return std::string("none");
      for (const Seats& seats : std::get<Placement>(result).seats) {
        text += at.nodes.name(seats.node) + "/" + std::to_string(seats.role) + "/" +
                std::to_string(seats.first) + "+" + std::to_string(seats.count) + " ";
      }
      return text;
    };
    ASSERT_EQ(described(world), described(other)) << "round " << round;
  }
}

}  // namespace
}  // namespace lockstep::gang
