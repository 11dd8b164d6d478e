#include "cluster/seat_index.h"

#include <gtest/gtest.h>

namespace lockstep::cluster {
namespace {

SeatIndex::Row RowOf(int32_t seats, uint8_t tier = 0) {
  return {.seats = seats,
          .facts_version = 1,
          .refusal = {seats == 0 ? Reason::kResource : Reason::kNone},
          .tier = tier,
          .present = true};
}

TEST(SeatIndex, FindsTheRoomiestAndTheTightestBucket) {
  SeatIndex index;
  index.Resize(4);
  int32_t seats[] = {3, 8, 0, 64};
  for (NodeId node = 0; node < 4; ++node) index.Set(node, RowOf(seats[node]), node, true);

  EXPECT_EQ(index.BucketAtMost(0, 1000), 64);
  EXPECT_EQ(index.BucketAtMost(0, 63), 8);
  EXPECT_EQ(index.BucketAtMost(0, 2), 0);
  EXPECT_EQ(index.BucketAtLeast(0, 0), 3);
  EXPECT_EQ(index.BucketAtLeast(0, 4), 8);
  EXPECT_EQ(index.BucketAtLeast(0, 9), 64);
  EXPECT_EQ(index.BucketAtLeast(0, 65), 0);
  EXPECT_EQ(index.tiers(), 1u);
  EXPECT_EQ(index.total(), 75);
}

TEST(SeatIndex, KeepsTotalsExactBeyondTheLastBucket) {
  SeatIndex index;
  index.Resize(2);
  index.Set(0, RowOf(INT32_MAX), 0, true);
  index.Set(1, RowOf(INT32_MAX), 1, true);
  EXPECT_EQ(index.total(), 2 * int64_t{INT32_MAX});
  EXPECT_EQ(index.BucketAtMost(0, INT32_MAX), SeatIndex::kLastBucket);
  EXPECT_EQ(index.BucketAtLeast(0, INT32_MAX), SeatIndex::kLastBucket);

  index.Set(0, RowOf(2), 0, true);
  EXPECT_EQ(index.NextInBucket(0, SeatIndex::kLastBucket, 0), 1u);
  EXPECT_EQ(index.NextInBucket(0, 2, 0), 0u);
}

TEST(SeatIndex, MovesNodesBetweenTiersAndForgetsThem) {
  SeatIndex index;
  index.Resize(1);
  index.Set(0, RowOf(2, 0), 0, true);
  index.Set(0, RowOf(2, 1), 0, true);
  EXPECT_FALSE(index.has_seats(0));
  EXPECT_TRUE(index.has_seats(1));
  EXPECT_EQ(index.BucketAtLeast(0, 1), 0);

  index.Set(0, {}, 0, true);
  EXPECT_EQ(index.total(), 0);
  EXPECT_EQ(index.nodes(), 0);
  EXPECT_EQ(index.BucketAtLeast(1, 1), 0);
}

TEST(SeatIndex, RebuildsItsBucketsInANewOrder) {
  SeatIndex index;
  index.Resize(2);
  index.Set(0, RowOf(1), 0, true);
  index.Set(1, RowOf(1), 1, true);
  index.Set(0, RowOf(5), 0, /*keep_buckets=*/false);

  NodeId reversed[] = {1, 0};
  index.RebuildBuckets(reversed);

  EXPECT_EQ(index.NextInBucket(0, 1, 0), 0u);  // node 1 is first now
  EXPECT_EQ(index.NextInBucket(0, 5, 0), 1u);
  EXPECT_EQ(index.NextInBucket(0, 1, 1), RankSet::kEnd);
}

}  // namespace
}  // namespace lockstep::cluster
