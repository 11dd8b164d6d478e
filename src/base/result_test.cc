#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace lockstep {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{"number: must be even, is " + std::to_string(number)};
  return number / 2;
}

TEST(Result, HoldsAValueOrTheError) {
  Result<int> good = Half(8);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(*good, 4);

  Result<int> bad = Half(7);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error(), Error{"number: must be even, is 7"});
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(ResultDeathTest, TheWrongSideIsOurOwnMistake) {
  Result<int> good = Half(8), bad = Half(7);
  EXPECT_DEATH((void)*bad, "CHECK failed: ok.*holds an error");
  EXPECT_DEATH((void)good.error(), "CHECK failed: !ok.*holds a value");
}

TEST(CheckDeathTest, NamesTheConditionThePlaceAndTheText) {
  int seat = 9;
  EXPECT_DEATH(CHECK(seat < 4) << "seat outside world: " << seat,
               "result_test.cc:[0-9]+: CHECK failed: seat < 4: seat outside world: 9");
  CHECK(seat == 9) << "never evaluated: " << *static_cast<int*>(nullptr);
}

}  // namespace
}  // namespace lockstep
