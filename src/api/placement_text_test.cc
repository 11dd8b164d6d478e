#include "api/placement_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "json/doc.h"

namespace lockstep::api {
namespace {

using ::testing::ElementsAre;

std::vector<NodeSeats> Read(const std::vector<std::string>& entries) {
  std::vector<NodeSeats> placement;
  for (const std::string& entry : entries) EXPECT_TRUE(ParsePlacementText(entry, 20'000, placement)) << entry;
  return placement;
}

std::vector<std::string> RoundTrip(const std::vector<NodeSeats>& placement) {
  std::vector<std::string> entries = PlacementText(placement);
  EXPECT_EQ(Read(entries), placement);
  return entries;
}

TEST(PlacementText, OneNodeIsWrittenOut) {
  EXPECT_THAT(RoundTrip({{"gpu-7", {{"Master", 0, 0}, {"Worker", 0, 6}}}, {"gpu-8", {{"Worker", 7, 14}}}}),
              ElementsAre("gpu-7=Master/0,Worker/0-6", "gpu-8=Worker/7-14"));
}

TEST(PlacementText, AlikeNodesThatFollowEachOtherAreOneEntry) {
  EXPECT_THAT(RoundTrip({{"gpu-07", {{"W", 0, 7}}},
                         {"gpu-08", {{"W", 8, 15}}},
                         {"gpu-09", {{"W", 16, 23}}},
                         {"gpu-11", {{"W", 24, 31}}}}),
              ElementsAre("gpu-{07..09,11}=W/0-31"));
  EXPECT_THAT(RoundTrip({{"a.x.io", {{"W", 0, 0}}}, {"b.x.io", {{"W", 1, 1}}}, {"c.y.io", {{"W", 2, 2}}}}),
              ElementsAre("{a,b}.x.io=W/0-1", "c.y.io=W/2"));
  EXPECT_THAT(RoundTrip({{"n-1", {{"PS", 0, 0}, {"W", 0, 1}}}, {"n-2", {{"PS", 1, 1}, {"W", 2, 3}}}}),
              ElementsAre("n-{1,2}=PS/0-1,W/0-3"));
  EXPECT_THAT(RoundTrip({{"pool-4fa1-x7k2", {{"W", 0, 0}}}, {"pool-4fa1-x7p9", {{"W", 1, 1}}}}),
              ElementsAre("pool-4fa1-x7{k2,p9}=W/0-1"));
}

TEST(PlacementText, NodesWithDifferentNumbersOfPodsSayHowMany) {
  EXPECT_THAT(RoundTrip({{"gpu-1", {{"W", 0, 1}}}, {"gpu-4", {{"W", 2, 2}}}, {"gpu-9", {{"W", 3, 5}}}}),
              ElementsAre("gpu-{1*2,4,9*3}=W/0-5"));
}

TEST(PlacementText, WhatDoesNotFollowIsNotJoined) {
  EXPECT_THAT(
      RoundTrip(
          {{"n-1", {{"W", 0, 0}}}, {"n-2", {{"W", 2, 2}}}, {"n-3", {{"V", 3, 3}}}, {"m-4", {{"V", 4, 4}}}}),
      ElementsAre("n-1=W/0", "n-2=W/2", "n-3=V/3", "m-4=V/4"));
  EXPECT_THAT(RoundTrip({{"n-9", {{"W", 0, 0}}}, {"n-10", {{"W", 1, 1}}}, {"n-11", {{"W", 2, 2}}}}),
              ElementsAre("n-{9,10,11}=W/0-2"));
}

TEST(PlacementText, WhatCannotBeReadIsRefused) {
  for (const char* bad : {"",
                          "gpu-7",
                          "=W/0",
                          "gpu-7=",
                          "gpu-7=W",
                          "gpu-{1=W/0",
                          "gpu-1}=W/0",
                          "gpu-{}=W/0",
                          "gpu-{1,}=W/0-1",
                          "gpu-{1,2}=W/0",
                          "gpu-{1,2}=W/0-2",
                          "gpu-{1*2,2}=W/0-1",
                          "gpu-{1*2,2}=W/0-3",
                          "gpu-{1*0,2}=W/0",
                          "gpu-{1*2,2}=W/0-2,V/0-2",
                          "gpu-{3..1}=W/0",
                          "gpu-{1..10}=W/0-9",
                          "gpu-{a..c}=W/0-2",
                          "gpu-{000000000..999999999}=W/0-999999",
                          "gpu-{00000..99999}=W/0-99999"}) {
    std::vector<NodeSeats> placement;
    EXPECT_FALSE(ParsePlacementText(bad, 20'000, placement)) << bad;
  }
}

// Names of 20,000 nodes as platforms give them.
std::string Base(uint64_t number, const char* digits, size_t width) {
  std::string text;
  for (; text.size() < width; number /= std::string_view(digits).size())
    text.insert(text.begin(), digits[number % std::string_view(digits).size()]);
  return text;
}
constexpr const char* kAlphanumeric = "0123456789abcdefghijklmnopqrstuvwxyz";

const std::vector<std::pair<const char*, std::function<std::string(int)>>> kPlatforms = {
    {"racks",
     [](int i) {
       return "gpu-rack" + Base(i / 32, "0123456789", 3) + "-node" + Base(i % 32, "0123456789", 2);
     }},
    {"numbers", [](int i) { return "dgx-a100-" + std::to_string(i); }},
    {"GKE",
     [](int i) {
       return "gke-prod-training-pool-" + Base(StableHash(std::to_string(i / 1000)), "0123456789abcdef", 8) +
              "-" + Base(StableHash(std::to_string(i)), kAlphanumeric, 4);
     }},
    {"AKS", [](int i) { return "aks-gpupool-31415926-vmss" + Base(i, kAlphanumeric, 6); }},
    {"addresses",
     [](int i) {
       uint64_t host = StableHash(std::to_string(i)) % 65536;
       return "ip-10-23-" + std::to_string(host / 256) + "-" + std::to_string(host % 256) +
              ".us-east-2.compute.internal";
     }},
};

size_t BytesOf(const std::function<std::string(int)>& name, int pods, int per_node) {
  std::vector<std::string> nodes;
  for (int i = 0; i * per_node < pods; ++i) nodes.push_back(name(i));
  std::ranges::sort(nodes);
  std::vector<NodeSeats> placement;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
    placement.push_back({nodes[i], {{"Worker", i * per_node, (i + 1) * per_node - 1}}});
  return json::Dump(json::Doc(RoundTrip(placement))).size();
}

TEST(PlacementText, IsShortOnTheNamesOfPlatforms) {
  for (const auto& [platform, name] : kPlatforms) {
    for (int per_node : {1, 8}) {
      size_t small = BytesOf(name, 5'000, per_node), large = BytesOf(name, 20'000, per_node);
      std::printf("%-10s %d a node: 5,000 pods %zu bytes, 20,000 pods %zu bytes\n", platform, per_node, small,
                  large);
      EXPECT_LE(small, 62u << 10) << platform;   // of 64 KiB for the whole status
      EXPECT_LE(large, 254u << 10) << platform;  // of 256 KiB
    }
  }
}

TEST(PlacementText, UnevenNodesStayShortToo) {
  std::vector<NodeSeats> placement;
  int next = 0;
  for (int i = 0; next < 20'000; ++i) {
    int pods = 1 + static_cast<int>(StableHash(std::to_string(i)) % 3);
    placement.push_back({kPlatforms[0].second(i), {{"Worker", next, next + pods - 1}}});
    next += pods;
  }
  EXPECT_LE(json::Dump(json::Doc(RoundTrip(placement))).size(), 128u << 10);
}

}  // namespace
}  // namespace lockstep::api
