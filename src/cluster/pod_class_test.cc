#include "cluster/pod_class.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/testing.h"

namespace lockstep::cluster {
namespace {

using namespace testing;  // NOLINT: builders

TEST(Requests, DevicesFirstThenByNamePodsLast) {
  Columns columns;
  columns.Add("pods");
  columns.Add("cpu");
  std::vector<std::string> names;
  for (const Request& request : RequestsOf(MemoryGi(1) + Cpu(1) + Gpu(1) + Cpu(0), columns))
    names.push_back(request.name);
  EXPECT_THAT(names, ::testing::ElementsAre("nvidia.com/gpu", "cpu", "memory", "pods"));

  std::vector<Request> requests =
      RequestsOf(kube::Resources{{"cpu", 0}, {"memory", 5}, {"pods", 7000}}, columns);
  ASSERT_EQ(requests.size(), 2u);  // nothing of nothing, and one pod however many it says
  EXPECT_EQ(requests[0].column, kNoColumn);
  EXPECT_EQ(requests[1], (Request{"pods", 1000, columns.Find("pods"), false}));
}

TEST(Requests, KnowsDevicesByTheirNames) {
  EXPECT_TRUE(IsExtended("nvidia.com/gpu"));
  EXPECT_TRUE(IsExtended("rdma/hca"));
  EXPECT_FALSE(IsExtended("cpu"));
  EXPECT_FALSE(IsExtended("hugepages-2Mi"));
  EXPECT_FALSE(IsExtended("kubernetes.io/batch-cpu"));
}

TEST(PodClass, EqualNeedsHaveEqualHashesAndTellingOnesDiffer) {
  kube::PodNeed need = WithSelector(MakeNeed(Gpu(1) + Cpu(4)), "zone", "a");
  EXPECT_EQ(HashOf(need), HashOf(WithSelector(MakeNeed(Cpu(4) + Gpu(1)), "zone", "a")));
  EXPECT_NE(HashOf(need), HashOf(WithSelector(MakeNeed(Gpu(1) + Cpu(4)), "zone", "b")));
  EXPECT_NE(HashOf(need), HashOf(MakeNeed(Gpu(1) + Cpu(4))));
  EXPECT_NE(HashOf(need), HashOf(Tolerating(need, "t")));
  EXPECT_NE(HashOf(need), HashOf(WithHostPort(need, 80)));
}

TEST(PodClass, WhatAPodHoldsIsFreeOfWhereItMayRun) {
  kube::PodNeed held = Held(Tolerating(WithSelector(WithHostPort(MakeNeed(Cpu(1)), 80), "zone", "a"), "t"));
  EXPECT_EQ(held, WithHostPort(MakeNeed(Cpu(1)), 80));
}

TEST(PodClass, EnvelopeIsTheLargestAndFloorTheSmallest) {
  kube::PodNeed master = MakeNeed(Gpu(1) + Cpu(4)), worker = MakeNeed(Gpu(1) + Cpu(2) + MemoryGi(1));
  const kube::PodNeed* both[] = {&master, &worker};

  EXPECT_EQ(Envelope(both), MakeNeed(Gpu(1) + Cpu(4) + MemoryGi(1)));
  EXPECT_EQ(Floor(both), MakeNeed(Gpu(1) + Cpu(2)));

  worker = WithSelector(worker, "zone", "a");
  EXPECT_FALSE(Envelope(both));
  EXPECT_FALSE(Floor(both));
}

}  // namespace
}  // namespace lockstep::cluster
