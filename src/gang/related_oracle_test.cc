// Small random clusters against a model of kube-scheduler that shares nothing with cluster/ and gang/: pods
// are let on nodes one by one as its filters InterPodAffinity and PodTopologySpread say, in every order. A
// gang fits if and only if some order seats all of its pods.
#include <gtest/gtest.h>

#include <random>

#include "gang/related.h"
#include "gang/testing.h"

namespace lockstep::gang {
namespace {

using cluster::NodeId;
using cluster::Nodes;
using cluster::Tenure;
using namespace cluster::testing;  // NOLINT: builders

enum PlainKey { kHost, kZone, kKeys };
const char* const kKeyNames[] = {"host", "zone"};

struct PlainTerm {
  int team = 0;  // -1: every pod
  PlainKey key = kHost;
};

struct PlainSpread {
  int team = 0;
  PlainKey key = kHost;
  int max_skew = 1, min_domains = 1;
  bool honors_taints = false;
};

struct PlainPod {
  int cpu = 1, team = 0;
  bool tolerates = false;
  std::vector<PlainTerm> near, apart;
  std::vector<PlainSpread> spread;
  int volume = 0;  // 0: none; 1 is for one node, 2 for one pod
};

struct PlainNode {
  int cpu = 0;
  int domain[kKeys] = {-1, -1};  // -1: no such label
  bool tainted = false;
};

struct Standing {
  const PlainPod* pod = nullptr;
  int node = 0;
  bool leaving = false, daemon = false;
};

struct Instance {
  std::vector<PlainNode> nodes;
  std::vector<PlainPod> kinds;
  std::vector<int> counts;
  std::vector<PlainPod> other_pods;
  std::vector<Standing> others;
};

bool Picks(int team, const PlainPod& pod) { return team < 0 || team == pod.team; }

// The filters, one after another, for one pod and one node.
class Scheduler {
 public:
  explicit Scheduler(const std::vector<PlainNode>& nodes) : nodes_(nodes) {}

  bool Lets(const PlainPod& pod, int node, const std::vector<Standing>& there) const {
    return HasRoom(pod, node, there) && KeepsApart(pod, node, there) && IsNear(pod, node, there) &&
           StaysEven(pod, node, there) && SharesVolume(pod, node, there);
  }

 private:
  int At(int node, PlainKey key) const { return nodes_[static_cast<size_t>(node)].domain[key]; }
  bool Together(int a, int b, PlainKey key) const { return At(a, key) >= 0 && At(a, key) == At(b, key); }

  bool HasRoom(const PlainPod& pod, int node, const std::vector<Standing>& there) const {
    const PlainNode& at = nodes_[static_cast<size_t>(node)];
    int free = at.cpu - pod.cpu;
    for (const Standing& other : there) free -= other.node == node ? other.pod->cpu : 0;
    return free >= 0 && (!at.tainted || pod.tolerates);
  }

  bool KeepsApart(const PlainPod& pod, int node, const std::vector<Standing>& there) const {
    for (const Standing& other : there) {
      for (const PlainTerm& term : pod.apart) {
        if (Picks(term.team, *other.pod) && Together(node, other.node, term.key)) return false;
      }
      for (const PlainTerm& term : other.pod->apart) {
        if (Picks(term.team, pod) && Together(node, other.node, term.key)) return false;
      }
    }
    return true;
  }

  static bool SharesVolume(const PlainPod& pod, int node, const std::vector<Standing>& there) {
    return pod.volume == 0 || std::ranges::all_of(there, [&](const Standing& other) {
             return other.pod->volume != pod.volume || (pod.volume == 1 && other.node == node);
           });
  }

  static bool PicksAll(const std::vector<PlainTerm>& terms, const PlainPod& pod) {
    for (const PlainTerm& term : terms) {
      if (!Picks(term.team, pod)) return false;
    }
    return true;
  }

  bool IsNear(const PlainPod& pod, int node, const std::vector<Standing>& there) const {
    bool all_met = true, anybody = false;
    for (const PlainTerm& term : pod.near) {
      if (At(node, term.key) < 0) return false;
      bool met = false;
      for (const Standing& other : there) {
        if (!PicksAll(pod.near, *other.pod)) continue;
        anybody |= At(other.node, term.key) >= 0;
        met |= Together(node, other.node, term.key);
      }
      all_met &= met;
    }
    return all_met || (!anybody && PicksAll(pod.near, pod));
  }

  bool StaysEven(const PlainPod& pod, int node, const std::vector<Standing>& there) const {
    for (const PlainSpread& rule : pod.spread) {
      if (At(node, rule.key) < 0) return false;
      std::map<int, int> counts;
      auto counts_node = [&](int other) {
        for (const PlainSpread& each : pod.spread) {
          if (At(other, each.key) < 0) return false;
        }
        return !rule.honors_taints || pod.tolerates || !nodes_[static_cast<size_t>(other)].tainted;
      };
      for (int other = 0; other < static_cast<int>(nodes_.size()); ++other) {
        if (counts_node(other)) counts[At(other, rule.key)];
      }
      for (const Standing& other : there) {
        if (!other.leaving && counts_node(other.node) && Picks(rule.team, *other.pod))
          ++counts[At(other.node, rule.key)];
      }
      int fewest = 1 << 30;
      for (const auto& [domain, count] : counts) fewest = std::min(fewest, count);
      if (static_cast<int>(counts.size()) < rule.min_domains) fewest = 0;
      if (counts[At(node, rule.key)] + Picks(rule.team, pod) - fewest > rule.max_skew) return false;
    }
    return true;
  }

  const std::vector<PlainNode>& nodes_;
};

// Every order of putting pods on nodes; `most` (kind × node) bounds where they go.
class EveryOrder {
 public:
  EveryOrder(const Instance& instance, std::vector<Standing> there, std::vector<int> most)
      : instance_(instance),
        scheduler_(instance.nodes),
        there_(std::move(there)),
        most_(std::move(most)),
        put_(most_.size()) {}

  bool Seats(std::vector<int> left) {
    left_ = std::move(left);
    return Next();
  }

 private:
  bool Next() {
    if (std::ranges::all_of(left_, [](int pods) { return pods == 0; })) return true;
    if (!seen_.insert(put_).second) return false;
    for (size_t kind = 0; kind < left_.size(); ++kind) {
      for (size_t node = 0; left_[kind] > 0 && node < instance_.nodes.size(); ++node) {
        size_t at = kind * instance_.nodes.size() + node;
        const PlainPod& pod = instance_.kinds[kind];
        if (put_[at] == most_[at] || !scheduler_.Lets(pod, static_cast<int>(node), there_)) continue;
        ++put_[at], --left_[kind], there_.push_back({&pod, static_cast<int>(node)});
        bool found = Next();
        --put_[at], ++left_[kind], there_.pop_back();
        if (found) return true;
      }
    }
    return false;
  }

  const Instance& instance_;
  Scheduler scheduler_;
  std::vector<Standing> there_;
  std::vector<int> most_, put_, left_;
  std::set<std::vector<int>> seen_;
};

bool BruteForce(const Instance& instance, const std::vector<Standing>& there) {
  std::vector<int> most(instance.kinds.size() * instance.nodes.size(), 1 << 20);
  return EveryOrder(instance, there, most).Seats(instance.counts);
}

// Whether the placement could come about pod by pod.
bool Holds(const Instance& instance, const Nodes& nodes, const Placement& placement) {
  std::vector<int> most(instance.kinds.size() * instance.nodes.size());
  std::vector<int> seated(instance.kinds.size());
  for (const Seats& seats : placement.seats) {
    auto role = static_cast<size_t>(seats.role);
    most[role * instance.nodes.size() + std::stoul(nodes.name(seats.node).substr(5))] += seats.count;
    seated[role] += seats.count;
  }
  return seated == instance.counts && EveryOrder(instance, instance.others, most).Seats(instance.counts);
}

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int Upto(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most + 1)); }
  bool OneIn(int n) { return Upto(n - 1) == 0; }

 private:
  std::mt19937 random_;
};

PlainKey AnyKey(Dice& dice) { return dice.OneIn(2) ? kHost : kZone; }
int AnyTeam(Dice& dice) { return dice.OneIn(6) ? -1 : dice.Upto(1); }

Instance RandomInstance(Dice& dice, int kinds, bool volumes = false) {
  Instance instance;
  bool unlabelled = dice.OneIn(4), tainted = dice.OneIn(4);
  for (int count = 1 + dice.Upto(4); count > 0; --count) {
    PlainNode node{
        .cpu = 1 + dice.Upto(4), .domain = {count, dice.Upto(2)}, .tainted = tainted && dice.OneIn(3)};
    if (unlabelled && dice.OneIn(3)) node.domain[dice.Upto(1)] = -1;
    instance.nodes.push_back(node);
  }
  for (int kind = 0; kind < kinds; ++kind) {
    PlainPod pod{.cpu = 1 + dice.Upto(1), .team = dice.Upto(1), .tolerates = tainted && dice.OneIn(2)};
    if (dice.OneIn(2)) pod.near.push_back({AnyTeam(dice), AnyKey(dice)});
    if (dice.OneIn(8)) pod.near.push_back({AnyTeam(dice), AnyKey(dice)});
    if (dice.OneIn(3)) pod.apart.push_back({AnyTeam(dice), AnyKey(dice)});
    for (PlainKey key : {kHost, kZone}) {
      if (!dice.OneIn(3)) continue;
      pod.spread.push_back(
          {AnyTeam(dice), key, 1 + dice.Upto(1), 1 + (dice.OneIn(4) ? dice.Upto(3) : 0), dice.OneIn(3)});
    }
    instance.kinds.push_back(pod);
    instance.counts.push_back(1 + dice.Upto(8 / kinds - 1));
  }
  int others = dice.Upto(3);
  for (int i = 0; i < others; ++i) {
    PlainPod pod{.cpu = dice.Upto(1), .team = dice.Upto(2)};
    if (dice.OneIn(3)) pod.apart.push_back({AnyTeam(dice), AnyKey(dice)});
    instance.other_pods.push_back(pod);
  }
  if (volumes) {
    for (PlainPod& pod : instance.kinds) pod.volume = dice.OneIn(2) ? 1 : dice.OneIn(4) ? 2 : 0;
    if (others > 0 && dice.OneIn(3)) instance.other_pods[0].volume = 1 + dice.Upto(1);
  }
  for (const PlainPod& pod : instance.other_pods) {
    instance.others.push_back(
        {&pod, dice.Upto(static_cast<int>(instance.nodes.size()) - 1), dice.OneIn(5), dice.OneIn(3)});
  }
  return instance;
}

kube::PodQuery QueryOf(int team) {
  if (team >= 0) return Labelled("team", std::to_string(team));
  kube::PodQuery every;
  every.namespaces = {"default"};
  return every;
}

kube::PodNeed NeedOf(const PlainPod& pod) {
  kube::PodNeed need = MakeNeed(Cpu(pod.cpu));
  if (pod.tolerates) need = Tolerating(need, "t");
  for (const PlainTerm& term : pod.near) need = Near(need, QueryOf(term.team), kKeyNames[term.key]);
  for (const PlainTerm& term : pod.apart) need = Apart(need, QueryOf(term.team), kKeyNames[term.key]);
  for (const PlainSpread& rule : pod.spread) {
    need = Spread(need, QueryOf(rule.team), kKeyNames[rule.key], rule.max_skew);
    need.rules.spread.back().min_domains = rule.min_domains;
    need.rules.spread.back().honors_taints = rule.honors_taints;
  }
  if (pod.volume == 0) return need;
  need.claims = {"default/" + std::to_string(pod.volume)};
  if (pod.volume == 1) {
    need.rules.together.push_back({cluster::UsersOf(need.claims[0]), std::string(cluster::kSameNode)});
  } else {
    need.rules.anti_affinity.push_back(
        {cluster::UsersOf(need.claims[0]), std::string(cluster::kWholeCluster)});
  }
  return need;
}

cluster::PodIdentityPtr IdentityOf(const PlainPod& pod) {
  kube::PodNeed need = NeedOf(pod);
  return Who("x", cluster::WithClaims({{"team", std::to_string(pod.team)}}, need), need);
}

struct World {
  Nodes nodes;
  Need need;
};

World Build(const Instance& instance) {
  World world;
  for (const char* volume : {"1", "2"}) {
    world.nodes.volumes().SetClaim(std::string("default/") + volume, kube::VolumeClaim{volume, "", "Bound"});
    world.nodes.volumes().SetVolume(volume, kube::Volume{});
  }
  for (size_t i = 0; i < instance.nodes.size(); ++i) {
    const PlainNode& node = instance.nodes[i];
    kube::Labels labels;
    for (int key = 0; key < kKeys; ++key) {
      if (node.domain[key] >= 0) labels[kKeyNames[key]] = std::to_string(node.domain[key]);
    }
    std::vector<kube::Taint> taints;
    if (node.tainted) taints.push_back({"t", "", "NoSchedule"});
    world.nodes.Upsert(MakeNode("node-" + std::to_string(i), Cpu(node.cpu), labels, taints));
  }
  for (const Standing& other : instance.others) {
    world.nodes.Occupy(*world.nodes.Find("node-" + std::to_string(other.node)),
                       world.nodes.HeldClass(NeedOf(*other.pod)), 1,
                       other.daemon ? Tenure::kDaemon : Tenure::kPod, IdentityOf(*other.pod), other.leaving);
  }
  for (size_t kind = 0; kind < instance.kinds.size(); ++kind) {
    world.need.roles.push_back({world.nodes.Class(NeedOf(instance.kinds[kind])), instance.counts[kind],
                                IdentityOf(instance.kinds[kind])});
  }
  return world;
}

class RelatedAgainstEveryOrder : public ::testing::TestWithParam<int> {};

TEST_P(RelatedAgainstEveryOrder, PlaceFindsSeatsIfAndOnlyIfSomeOrderDoes) {
  Dice dice(static_cast<unsigned>(GetParam()) * 7919);
  int fitted = 0, refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    Instance instance = RandomInstance(dice, GetParam());
    World world = Build(instance);

    auto result = Place(world.nodes, world.need);

    bool possible = BruteForce(instance, instance.others);
    ASSERT_EQ(std::holds_alternative<Placement>(result), possible) << "round " << round;
    EXPECT_EQ(Fits(world.nodes, world.need), possible);
    if (possible) {
      ++fitted;
      ASSERT_TRUE(Holds(instance, world.nodes, std::get<Placement>(result))) << "round " << round;
    } else {
      ++refused;
      ASSERT_TRUE(std::get<NoFit>(result).proved) << "round " << round;
    }
    std::vector<Standing> daemons;
    std::ranges::copy_if(instance.others, std::back_inserter(daemons), &Standing::daemon);
    ASSERT_EQ(IsPossible(world.nodes, world.need), BruteForce(instance, daemons)) << "round " << round;
  }
  EXPECT_GT(fitted, 300);  // both answers were really tested
  EXPECT_GT(refused, 300);
}

TEST_P(RelatedAgainstEveryOrder, VolumesForOneNodeOrOnePodAreSharedSo) {
  Dice dice(static_cast<unsigned>(GetParam()) * 15'485'863);
  int fitted = 0, refused = 0;
  for (int round = 0; round < 6'000; ++round) {
    Instance instance = RandomInstance(dice, GetParam(), /*volumes=*/true);
    World world = Build(instance);

    auto result = Place(world.nodes, world.need);

    bool possible = BruteForce(instance, instance.others);
    ASSERT_EQ(std::holds_alternative<Placement>(result), possible) << "round " << round;
    if (possible) {
      ++fitted;
      ASSERT_TRUE(Holds(instance, world.nodes, std::get<Placement>(result))) << "round " << round;
    } else {
      ++refused;
      ASSERT_TRUE(std::get<NoFit>(result).proved) << "round " << round;
    }
  }
  EXPECT_GT(fitted, 300);  // both answers were really tested
  EXPECT_GT(refused, 300);
}

// Counts are kept up to date as pods come and go: a world with a history answers as one made anew.
TEST_P(RelatedAgainstEveryOrder, ItsHistoryMakesNoDifference) {
  Dice dice(static_cast<unsigned>(GetParam()) * 104'729);
  for (int round = 0; round < 500; ++round) {
    Instance instance = RandomInstance(dice, GetParam());
    World world = Build(instance);
    for (int turn = 0; turn < 4; ++turn) {
      Fits(world.nodes, world.need);
      PlainPod passing{.cpu = 0, .team = dice.Upto(1), .apart = {{dice.Upto(1), kZone}}};
      NodeId node =
          world.nodes.ByName()[static_cast<size_t>(dice.Upto(static_cast<int>(world.nodes.size()) - 1))];
      cluster::ClassId held = world.nodes.HeldClass(NeedOf(passing));
      world.nodes.Occupy(node, held, 1, Tenure::kPod, IdentityOf(passing));
      Fits(world.nodes, world.need);
      world.nodes.Release(node, held, 1, Tenure::kPod, IdentityOf(passing));
    }
    World fresh = Build(instance);
    auto text = [](World& at) { return testing::Text(at.nodes, Place(at.nodes, at.need)); };
    ASSERT_EQ(text(world), text(fresh)) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RelatedAgainstEveryOrder, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace lockstep::gang
