#include "kube/model/pod.h"

#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

TEST(ParsePod, NamesTheFieldThatIsWrong) {
  json::Doc pod = *json::Parse(R"({"metadata": {"name": "a"}, "spec": {"containers": [
      {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "lots"}}}]}})");
  ASSERT_FALSE(ParsePod(pod).ok());
  EXPECT_EQ(ParsePod(pod).error().message.substr(0, 61),
            "spec.containers[0].resources.limits.nvidia.com/gpu: not a qua");
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = 8;
  EXPECT_EQ(ParsePod(pod)->need.requests, (Resources{{"nvidia.com/gpu", 8000}}));
}

}  // namespace
}  // namespace lockstep::kube
