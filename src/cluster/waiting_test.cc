#include "cluster/waiting.h"

#include <gmock/gmock.h>

namespace lockstep::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

WallTime At(int64_t second) { return WallTime(seconds(second)); }

std::vector<std::string> Order(const SharedSet<QueueKey>& keys) {
  std::vector<std::string> order;
  for (const QueueKey& key : keys) order.push_back(key.gang);
  return order;
}

TEST(Waiting, EqualsAreFirstInFirstOut) {
  Waiting waiting;
  waiting.Put({.queued_at = At(2), .gang = "b"}, {{1, 8}});
  waiting.Put({.queued_at = At(1), .gang = "c"}, {{1, 8}});
  waiting.Put({.queued_at = At(2), .gang = "a"}, {{1, 8}});
  EXPECT_THAT(Order(waiting.all()), ElementsAre("c", "a", "b"));
}

TEST(Waiting, PriorityGoesBeforeTimeAndAgeBeforeBoth) {
  Waiting waiting;
  waiting.Put({.priority = 0, .queued_at = At(1), .gang = "low"}, {{1, 8}});
  waiting.Put({.priority = 9, .queued_at = At(5), .gang = "high"}, {{1, 8}});
  waiting.Put({.young = false, .priority = -9, .queued_at = At(3), .gang = "aged"}, {{1, 8}});
  waiting.Put({.young = false, .priority = 9, .queued_at = At(4), .gang = "aged-high"}, {{1, 8}});
  EXPECT_THAT(Order(waiting.all()), ElementsAre("aged", "aged-high", "high", "low"));
}

TEST(Waiting, AMovedGangHasOnePlace) {
  Waiting waiting;
  waiting.Put({.queued_at = At(1), .gang = "a"}, {{1, 8}});
  waiting.Put({.queued_at = At(2), .gang = "b"}, {{1, 8}});
  waiting.Put({.young = false, .queued_at = At(2), .gang = "b"}, {{1, 4}});
  EXPECT_THAT(Order(waiting.all()), ElementsAre("b", "a"));
  EXPECT_THAT(waiting.by_kind(), SizeIs(2));
  waiting.Remove("b");
  waiting.Remove("b");
  EXPECT_THAT(Order(waiting.all()), ElementsAre("a"));
  EXPECT_THAT(waiting.by_kind(), SizeIs(1));
  waiting.Remove("a");
  EXPECT_THAT(waiting.by_kind(), IsEmpty());
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace lockstep::cluster
