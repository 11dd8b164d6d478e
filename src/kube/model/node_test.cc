#include "kube/model/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/arbitrary.h"

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

json::Doc GpuNode() {
  return *json::Parse(R"({"metadata": {"name": "node-a", "labels": {"gpu": "a100"}},
      "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
      "status": {"capacity": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "8", "pods": "110"},
                 "allocatable": {"cpu": "7910m", "memory": "31Gi", "nvidia.com/gpu": "7", "pods": "110"},
                 "nodeInfo": {"bootID": "boot-1"},
                 "conditions": [{"type": "MemoryPressure", "status": "False", "reason": "fine"},
                                {"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})");
}

TEST(ParseNode, ReadsWhatLockstepNeeds) {
  Node node = *ParseNode(GpuNode());
  EXPECT_EQ(node.meta.name, "node-a");
  EXPECT_EQ(node.meta.label("gpu"), "a100");
  EXPECT_TRUE(node.unschedulable);
  EXPECT_THAT(node.taints, ElementsAre(Taint{"k", "v", "NoSchedule"}));
  EXPECT_EQ(node.allocatable.at("cpu"), 7910);
  EXPECT_EQ(node.allocatable.at("nvidia.com/gpu"), 7000);
  EXPECT_EQ(node.allocatable.at("pods"), 110'000);
  EXPECT_EQ(node.boot_id, "boot-1");
  EXPECT_TRUE(node.ready());
}

TEST(ParseNode, CapacityStandsInForAllocatable) {
  json::Doc doc = GpuNode();
  doc["status"].erase("allocatable");
  EXPECT_EQ(ParseNode(doc)->allocatable.at("nvidia.com/gpu"), 8000);
  doc["status"].erase("capacity");
  EXPECT_THAT(ParseNode(doc)->allocatable, IsEmpty());
  doc.erase("status");
  EXPECT_FALSE(ParseNode(doc)->ready());
}

TEST(ParseNode, IsReadyOnlyWhenTheConditionIsTrue) {
  for (const char* status : {"False", "Unknown", "", "true"}) {
    json::Doc doc = GpuNode();
    doc["status"]["conditions"][1]["status"] = status;
    EXPECT_FALSE(ParseNode(doc)->ready()) << status;
  }
}

TEST(ParseNode, ErrorsNameThePath) {
  auto error = [](const char* pointer, const json::Doc& value) {
    json::Doc doc = GpuNode();
    doc[json::Doc::json_pointer(pointer)] = value;
    Result<Node> node = ParseNode(doc);
    return node.ok() ? "" : node.error().message;
  };
  EXPECT_EQ(error("/spec", 1), "spec: must be an object, is number");
  EXPECT_EQ(error("/spec/unschedulable", "yes"), "spec.unschedulable: must be true or false, is string");
  EXPECT_EQ(error("/status/allocatable/cpu", -1), "") << "a lie, and less than nothing is nothing";
  EXPECT_THAT(error("/status/allocatable/cpu", "much"), StartsWith("status.allocatable.cpu: "));
  EXPECT_EQ(error("/status/allocatable", 7), "status.allocatable: must be an object, is number");
  EXPECT_EQ(error("/status/conditions", 7), "status.conditions: must be an array, is number");
  EXPECT_EQ(error("/status/conditions/1/type", 7), "status.conditions[1].type: must be a string, is number");
  EXPECT_EQ(error("/metadata", json::Doc::object()), "metadata.name: must be a name, is missing");
  EXPECT_EQ(error("/spec/taints", 7), "");  // no taints
  EXPECT_EQ(ParseNode(json::Doc(7)).error().message, "node: must be an object, is number");
}

RC_GTEST_PROP(ParseNode, NeverCrashes, ()) {
  json::DocShape shape{.keys = {"metadata", "name", "spec", "taints", "unschedulable", "status",
                                "allocatable", "capacity", "cpu", "conditions", "type", "nodeInfo", "bootID"},
                       .values = {"x", true, "8", "500m", "Ready", "1e99"}};
  json::Doc doc = *json::ArbitraryDoc(shape, 5);
  Result<Node> node = ParseNode(doc);
  if (!node.ok()) RC_ASSERT(!node.error().message.empty());
}

}  // namespace
}  // namespace lockstep::kube
