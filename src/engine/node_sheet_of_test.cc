#include "engine/node_sheet_of.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace lockstep::engine {
namespace {

class NodeSheetOfTest : public ::testing::Test {
 protected:
  std::string Text(const std::string& node) {
    hand_.Settle();
    std::optional<explain::NodeSheet> sheet = NodeSheetOf(hand_.world, node);
    return sheet ? explain::NodeSheetText(*sheet) : "no such node";
  }

  testing::HandDriven hand_;
};

TEST_F(NodeSheetOfTest, SaysWhatWaitsAndWhyNotHere) {
  hand_.Node("a", 8);
  hand_.Node("b", 2);
  hand_.See(kube::kNodes,
            {{"metadata", {{"name", "c"}}},
             {"spec",
              {{"taints", json::Doc::array({{{"key", "team"}, {"value", "x"}, {"effect", "NoSchedule"}}})}}},
             {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}, {"memory", "1Ti"}, {"pods", "110"}}}}}});
  hand_.Job("bert", 8);
  hand_.Settle();
  hand_.Job("gpt", 4);
  hand_.Job("t5", 3);
  EXPECT_EQ(Text("a"), R"(Node a is full
  free      0 of 8 nvidia.com/gpu
            1Ti of 1Ti memory
  held by   bert: 8 pods, 8 nvidia.com/gpu
  waiting   2 jobs (gpt and t5): it has too little nvidia.com/gpu
)");
  EXPECT_EQ(Text("b"), R"(Node b is empty
  free      2 of 2 nvidia.com/gpu
            1Ti of 1Ti memory
  waiting   2 jobs (gpt and t5): a pod would fit here, but not all of its gang in the cluster
)");
  EXPECT_EQ(Text("c"), R"(Node c is empty; it has the taint team=x:NoSchedule
  free      8 of 8 nvidia.com/gpu
            1Ti of 1Ti memory
  waiting   2 jobs (gpt and t5): it has the taint team=x:NoSchedule
)");
  EXPECT_EQ(Text("d"), "no such node");
}

}  // namespace
}  // namespace lockstep::engine
