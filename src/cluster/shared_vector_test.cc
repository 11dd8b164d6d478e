#include "cluster/shared_vector.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::cluster {
namespace {

TEST(SharedVector, WhatOneCopyChangesTheOthersDoNotSee) {
  SharedVector<int> first;
  first.resize(200);
  first.Edit(100) = 1;
  SharedVector<int> second = first;
  second.Edit(100) = 2;
  second.Edit(0) = 3;
  EXPECT_EQ(first[100], 1);
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(second[100], 2);
  EXPECT_EQ(&first[199], &second[199]);  // shared still
}

TEST(SharedVector, BehavesAsAStandardVector) {
  std::mt19937 random(7);
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  SharedVector<int> vector;
  std::vector<int> model;
  std::vector<std::pair<SharedVector<int>, std::vector<int>>> copies;
  for (int round = 0; round < 5000; ++round) {
    if (below(4) == 0) {
      size_t size = below(400);
      vector.resize(size);
      model.resize(size);
    } else if (!model.empty()) {
      size_t at = below(model.size());
      vector.Edit(at) = model[at] = round;
    }
    if (round % 500 == 0) copies.emplace_back(vector, model);
    ASSERT_EQ(vector.size(), model.size());
    for (size_t i = 0; i < model.size(); ++i) ASSERT_EQ(vector[i], model[i]);
  }
  for (const auto& [copy, as_it_was] : copies) {
    ASSERT_EQ(copy.size(), as_it_was.size());
    for (size_t i = 0; i < as_it_was.size(); ++i) ASSERT_EQ(copy[i], as_it_was[i]);
  }
}

}  // namespace
}  // namespace lockstep::cluster
