#include "kube/model/taint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Source: k8s.io/component-helpers/scheduling/corev1 and ToleratesTaint of k8s.io/api/core/v1.
TEST(Toleration, CoversTaintsAsTheSchedulerReadsThem) {
  const Taint gpu{.key = "gpu", .value = "a100", .effect = "NoSchedule"};
  const Taint bare{.key = "gpu", .value = "", .effect = "NoExecute"};
  struct Case {
    Toleration toleration;
    bool covers_gpu, covers_bare;
  };
  const Case cases[] = {
      {{.key = "gpu", .op = "Equal", .value = "a100", .effect = "NoSchedule"}, true, false},
      {{.key = "gpu", .op = "", .value = "a100", .effect = "NoSchedule"}, true, false},
      {{.key = "gpu", .op = "Equal", .value = "a100", .effect = ""}, true, false},
      {{.key = "gpu", .op = "Equal", .value = "h100", .effect = ""}, false, false},
      {{.key = "gpu", .op = "Equal", .value = "", .effect = ""}, false, true},
      {{.key = "gpu", .op = "Equal", .value = "a100", .effect = "NoExecute"}, false, false},
      {{.key = "gpu", .op = "Exists", .value = "", .effect = "NoSchedule"}, true, false},
      {{.key = "gpu", .op = "Exists", .value = "", .effect = ""}, true, true},
      {{.key = "cpu", .op = "Exists", .value = "", .effect = ""}, false, false},
      {{.key = "", .op = "Exists", .value = "", .effect = ""}, true, true},
      {{.key = "", .op = "Exists", .value = "", .effect = "NoExecute"}, false, true},
      {{.key = "GPU", .op = "Exists", .value = "", .effect = ""}, false, false},
      {{.key = "gpu", .op = "exists", .value = "", .effect = ""}, false, false},
      {{.key = "gpu", .op = "Lt", .value = "a100", .effect = ""}, false, false},
      {{.key = "gpu", .op = "Exists", .value = "", .effect = "PreferNoSchedule"}, false, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.toleration.Tolerates(gpu), c.covers_gpu) << c.toleration.key << " " << c.toleration.op << " "
                                                         << c.toleration.value << " " << c.toleration.effect;
    EXPECT_EQ(c.toleration.Tolerates(bare), c.covers_bare)
        << c.toleration.key << " " << c.toleration.op << " " << c.toleration.value << " "
        << c.toleration.effect;
  }
}

TEST(FirstUntolerated, ReportsTheFirstTaintThatKeepsPodsAway) {
  std::vector<Taint> taints = {
      {"soft", "", "PreferNoSchedule"}, {"a", "", "NoSchedule"}, {"b", "", "NoExecute"}};
  EXPECT_EQ(FirstUntolerated(taints, {}), &taints[1]);
  EXPECT_EQ(FirstUntolerated(taints, {{.key = "a", .op = "Exists"}}), &taints[2]);
  EXPECT_EQ(FirstUntolerated(taints, {{.key = "b", .op = "Exists"}}), &taints[1]);
  EXPECT_EQ(FirstUntolerated(taints, {{.key = "a", .op = "Exists"}, {.key = "b", .op = "Exists"}}), nullptr);
  EXPECT_EQ(FirstUntolerated({}, {}), nullptr);
  EXPECT_EQ(FirstUntolerated({{"soft", "", "PreferNoSchedule"}, {"odd", "", "Whatever"}}, {}), nullptr);
}

TEST(ParseTaints, ReadsWhatItCan) {
  json::Doc doc = *json::Parse(R"([{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "x"},
                                   7, {"key": 5, "effect": "NoExecute"}])");
  EXPECT_THAT(ParseTaints(&doc), ElementsAre(Taint{"k", "v", "NoSchedule"}, Taint{"", "", "NoExecute"}));
  json::Doc wrong = json::Doc::object();
  EXPECT_THAT(ParseTaints(&wrong), IsEmpty());
  EXPECT_THAT(ParseTaints(nullptr), IsEmpty());
}

TEST(ParseTolerations, ReadsEveryField) {
  json::Doc doc =
      *json::Parse(R"([{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                                   {}])");
  EXPECT_THAT(*ParseTolerations(&doc),
              ElementsAre(Toleration{.key = "k", .op = "Exists", .effect = "NoExecute", .seconds = 300},
                          Toleration{}));
  EXPECT_THAT(*ParseTolerations(nullptr), IsEmpty());
  json::Doc null;
  EXPECT_THAT(*ParseTolerations(&null), IsEmpty());
}

TEST(ParseTolerations, ErrorsNameThePath) {
  auto error = [](const char* text) {
    json::Doc doc = *json::Parse(text);
    Result<std::vector<Toleration>> parsed = ParseTolerations(&doc);
    return parsed.ok() ? "" : parsed.error().message;
  };
  EXPECT_EQ(error("{}"), "tolerations: must be an array, is object");
  EXPECT_EQ(error("[{}, 7]"), "tolerations[1]: must be an object, is number");
  EXPECT_EQ(error(R"([{"key": 1}])"), "tolerations[0].key: must be a string, is number");
  EXPECT_EQ(error(R"([{"operator": []}])"), "tolerations[0].operator: must be a string, is array");
  EXPECT_EQ(error(R"([{"value": true}])"), "tolerations[0].value: must be a string, is boolean");
  EXPECT_EQ(error(R"([{"effect": {}}])"), "tolerations[0].effect: must be a string, is object");
  EXPECT_EQ(error(R"([{"tolerationSeconds": 1.5}])"),
            "tolerations[0].tolerationSeconds: must be an integer, is 1.5");
  EXPECT_EQ(error(R"([{"tolerationSeconds": 18446744073709551615}])"),
            "tolerations[0].tolerationSeconds: must be an integer, is 18446744073709551615");
}

}  // namespace
}  // namespace lockstep::kube
