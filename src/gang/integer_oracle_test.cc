// Gangs of several kinds of pods against an integer program: larger than brute force can go.
#include "gang/integer_oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace lockstep::gang {
namespace {

using testing::Build;
using testing::Fault;
using testing::IntegerOracle;
using testing::OracleCluster;
using testing::OracleInstance;

struct Size {
  int nodes, kinds, pods, rounds;
  bool always_proved = true;  // within the bound of the exact search

  friend std::ostream& operator<<(std::ostream& out, const Size& size) {
    return out << size.nodes << " nodes, " << size.kinds << " kinds";
  }
};

// LOCKSTEP_ORACLE_ROUNDS: so many times as many instances; LOCKSTEP_ORACLE_SEED: others than CI's.
int FromEnvironment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

class AgainstZ3 : public ::testing::TestWithParam<Size> {};

TEST_P(AgainstZ3, PlaceFindsSeatsIfAndOnlyIfThereAreSome) {
  Size size = GetParam();
  int seed = FromEnvironment("LOCKSTEP_ORACLE_SEED", 1);
  int rounds = size.rounds * FromEnvironment("LOCKSTEP_ORACLE_ROUNDS", 1);
  IntegerOracle oracle;
  int fitted = 0, refused = 0, unproved = 0, missed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(seed * 1'000'003 + round));
    OracleInstance instance = testing::RandomInstance(random, size.nodes, size.kinds, size.pods);
    OracleCluster made = Build(instance);

    auto result = Place(made.nodes, made.need);

    bool possible = oracle.IsPossible(instance);
    const NoFit* no_fit = std::get_if<NoFit>(&result);
    if (no_fit != nullptr && !no_fit->proved) {
      ASSERT_FALSE(size.always_proved) << "seed " << seed << " round " << round;
      ++unproved;
      missed += possible;
      continue;
    }
    ASSERT_EQ(no_fit == nullptr, possible) << "seed " << seed << " round " << round;
    if (possible)
      ASSERT_EQ(Fault(made.nodes, made.need, std::get<Placement>(result)), "") << "round " << round;
    ++(possible ? fitted : refused);
  }
  std::printf(
      "seed %d: %d instances of %d nodes and %d kinds: %d placed, %d proved impossible, %d not proved, of "
      "which %d are possible\n",
      seed, rounds, size.nodes, size.kinds, fitted, refused, unproved, missed);
  EXPECT_LE(unproved, rounds / 20);
  EXPECT_GT(fitted, rounds / 20);  // both answers were really tested
  EXPECT_GT(refused, rounds / 20);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AgainstZ3,
                         ::testing::Values(Size{3, 2, 8, 300}, Size{5, 3, 9, 300}, Size{8, 4, 10, 150, false},
                                           Size{12, 3, 14, 100}));

}  // namespace
}  // namespace lockstep::gang
