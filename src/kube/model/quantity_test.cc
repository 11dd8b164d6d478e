#include "kube/model/quantity.h"

#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

TEST(ParseQuantity, ReadsThousandths) {
  EXPECT_EQ(*ParseQuantity("8"), 8000);
  EXPECT_EQ(*ParseQuantity("500m"), 500);
  EXPECT_EQ(*ParseQuantity("1Gi"), 1024LL * 1024 * 1024 * 1000);
  EXPECT_EQ(*ParseQuantity("1e99"), kMaxAmount);
  EXPECT_FALSE(ParseQuantity("eight").ok());
}

}  // namespace
}  // namespace lockstep::kube
