#include "cluster/shared_map.h"

#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>
#include <string>

namespace lockstep::cluster {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(SharedMap, IsAMapInTheOrderOfItsKeys) {
  SharedMap<std::string, int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.At("b").second);
  map.Put("c", 3);
  map.Put("a", 1);
  *map.Edit("b") = 2;
  EXPECT_FALSE(map.At("b").second);
  EXPECT_THAT(map, ElementsAre(Pair("a", 1), Pair("b", 2), Pair("c", 3)));
  EXPECT_EQ(map.Edit("d"), nullptr);
  EXPECT_EQ(map.Get("d"), nullptr);
  EXPECT_EQ(*map.Get("c"), 3);
  EXPECT_TRUE(map.erase("b"));
  EXPECT_FALSE(map.erase("b"));
  EXPECT_EQ(map.upper_bound("a")->first, "c");
  EXPECT_EQ(map.lower_bound("d"), map.end());
}

TEST(SharedMap, WhatOneCopyChangesTheOthersDoNotSee) {
  SharedMap<int, std::string> first;
  for (int i = 0; i < 1000; ++i) first.Put(i, "as it was");
  SharedMap<int, std::string> second = first;
  *second.Edit(500) = "edited";
  second.erase(501);
  second.Put(2000, "new");
  EXPECT_EQ(*first.Get(500), "as it was");
  EXPECT_TRUE(first.contains(501));
  EXPECT_FALSE(first.contains(2000));
  *first.Edit(500) = "edited too";
  EXPECT_EQ(*second.Get(500), "edited");
}

TEST(SharedMap, CopiesShareAllThatNeitherChanged) {
  SharedMap<int, std::string> first;
  for (int i = 0; i < 1000; ++i) first.Put(i, "as it was");
  SharedMap<int, std::string> second = first;
  *second.Edit(500) = "edited";
  int shared = 0;
  for (int i = 0; i < 1000; ++i) shared += first.Get(i) == second.Get(i) ? 1 : 0;
  EXPECT_EQ(shared, 999);
}

TEST(SharedMap, AValueStaysWhereItIsWhileOthersComeAndGo) {
  SharedMap<int, std::string> map;
  std::string& value = map.At(500).first;
  for (int i = 0; i < 1000; ++i) map.At(i);
  for (int i = 0; i < 1000; ++i) {
    if (i != 500) map.erase(i);
  }
  EXPECT_EQ(map.Edit(500), &value);
}

TEST(SharedSet, HasEachOnce) {
  SharedSet<std::string> set;
  EXPECT_TRUE(set.insert("b"));
  EXPECT_TRUE(set.insert("a"));
  EXPECT_FALSE(set.insert("b"));
  EXPECT_THAT(set, ElementsAre("a", "b"));
}

// Against std::map, each of several copies having its own fate.
TEST(SharedMap, BehavesAsAStandardMap) {
  std::mt19937 random(7);
  auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  std::vector<std::pair<SharedMap<int, int>, std::map<int, int>>> pairs(1);
  for (int round = 0; round < 60'000; ++round) {
    auto& [map, model] = pairs[static_cast<size_t>(below(static_cast<int>(pairs.size())))];
    int key = below(400);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        map.Put(key, round);
        model[key] = round;
        break;
      case 3:
      case 4:
        EXPECT_EQ(map.erase(key), model.erase(key) > 0);
        break;
      case 5:
        if (int* value = map.Edit(key)) ++*value;
        if (auto found = model.find(key); found != model.end()) ++found->second;
        break;
      case 6:
        EXPECT_EQ(std::distance(map.begin(), map.lower_bound(key)),
                  std::distance(model.begin(), model.lower_bound(key)));
        break;
      default:
        if (round % 100 == 0 && pairs.size() < 8) {
          auto copy = pairs.front();
          pairs.push_back(std::move(copy));
        } else if (round % 100 == 50 && pairs.size() > 2) {
          pairs.erase(pairs.begin());
        }
    }
    if (round % 97 != 0) continue;
    for (const auto& [is, wanted] : pairs) {
      ASSERT_EQ(is.size(), wanted.size());
      ASSERT_TRUE(std::equal(is.begin(), is.end(), wanted.begin(), wanted.end()));
      ASSERT_TRUE(std::equal(std::make_reverse_iterator(is.end()), std::make_reverse_iterator(is.begin()),
                             wanted.rbegin(), wanted.rend()));
    }
  }
}

}  // namespace
}  // namespace lockstep::cluster
