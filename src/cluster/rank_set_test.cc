#include "cluster/rank_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace lockstep::cluster {
namespace {

TEST(RankSet, FindsTheNextMemberAcrossEmptyWordsAndBlocks) {
  RankSet set;
  EXPECT_TRUE(set.empty());
  for (uint32_t rank : {0u, 63u, 64u, 4'095u, 4'096u, 20'000u}) set.Insert(rank);

  EXPECT_EQ(set.Next(0), 0u);
  EXPECT_EQ(set.Next(1), 63u);
  EXPECT_EQ(set.Next(64), 64u);
  EXPECT_EQ(set.Next(65), 4'095u);
  EXPECT_EQ(set.Next(4'097), 20'000u);
  EXPECT_EQ(set.Next(20'001), RankSet::kEnd);
  EXPECT_EQ(set.Next(1'000'000), RankSet::kEnd);
}

TEST(RankSet, ErasingWhatIsNotThereIsHarmless) {
  RankSet set;
  set.Erase(77);
  set.Insert(5);
  set.Erase(6);
  set.Erase(70'000);
  EXPECT_EQ(set.Next(0), 5u);
  set.Erase(5);
  EXPECT_TRUE(set.empty());
}

TEST(RankSet, AgreesWithAnOrderedSet) {
  std::mt19937 random(3);
  RankSet set;
  std::set<uint32_t> model;
  for (int step = 0; step < 20'000; ++step) {
    uint32_t rank = random() % (step % 2 == 0 ? 10'000 : 100);
    if (random() % 2 == 0) {
      set.Insert(rank), model.insert(rank);
    } else {
      set.Erase(rank), model.erase(rank);
    }
    uint32_t from = random() % 12'000;
    auto next = model.lower_bound(from);
    ASSERT_EQ(set.Next(from), next == model.end() ? RankSet::kEnd : *next);
  }
}

}  // namespace
}  // namespace lockstep::cluster
