#include "base/interner.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace lockstep {
namespace {

TEST(Interner, TheSameTextHasTheSameId) {
  Interner names;
  Interner::Id a = names.Intern("node-a"), b = names.Intern("node-b");
  EXPECT_NE(a, b);
  EXPECT_EQ(names.Intern(std::string("node-") + "a"), a);
  EXPECT_EQ(names.text(a), "node-a");
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(names.text(names.Intern("")), "");
}

TEST(Interner, TextsStayWhereTheyAre) {
  Interner names;
  const std::string& first = names.text(names.Intern("first"));
  for (int i = 0; i < 10000; ++i) names.Intern(std::to_string(i));
  EXPECT_EQ(&names.text(0), &first);
  EXPECT_EQ(names.Intern("first"), 0u);
  EXPECT_EQ(names.Intern("9999"), 10000u);
}

// The World is copied for what-if: the copy must not look into the original's strings.
TEST(Interner, ACopyStandsAlone) {
  auto original = std::make_unique<Interner>();
  Interner::Id a = original->Intern("a");
  Interner copy(*original), assigned;
  assigned = *original;
  original->Intern("only in the original");
  original.reset();
  for (Interner* interner : {&copy, &assigned}) {
    EXPECT_EQ(interner->Intern("a"), a);
    EXPECT_EQ(interner->Intern("b"), a + 1);
    EXPECT_EQ(interner->text(a), "a");
  }
}

TEST(InternerDeathTest, AnIdOfAnotherInternerIsOurOwnMistake) {
  Interner names;
  EXPECT_DEATH((void)names.text(0), "id 0 of another interner");
}

TEST(StableHash, IsTheSameOnEveryMachine) {
  // The published FNV-1a vectors: names that are stored depend on them.
  EXPECT_EQ(StableHash(""), 0xcbf29ce484222325u);
  EXPECT_EQ(StableHash("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(StableHash("foobar"), 0x85944171f73967e8u);
  EXPECT_NE(StableHash("a", 1), StableHash("a", 2));
  static_assert(StableHash("\xff") != StableHash("\x7f"));
}

TEST(StableJitter, SpreadsAttemptsWithinTheBound) {
  std::vector<int> hits(10);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    uint64_t jitter = StableJitter("uid", attempt, 10);
    ASSERT_LT(jitter, 10u);
    EXPECT_EQ(jitter, StableJitter("uid", attempt, 10));
    ++hits[jitter];
  }
  for (int count : hits) EXPECT_GT(count, 50);  // 100 each would be even
}

}  // namespace
}  // namespace lockstep
