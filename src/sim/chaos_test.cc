#include "sim/chaos.h"

#include <gmock/gmock.h>

#include <set>

#include "sim/scenario.h"
#include "sim/shrink.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Chaos, ASeedTellsOneStoryAndEveryStoryIsAScenario) {
  std::set<std::string> stories;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::string story = TellChaos(seed);
    EXPECT_EQ(story, TellChaos(seed));
    Result<Scenario> scenario = ParseScenario(story, "chaos.scenario");
    ASSERT_TRUE(scenario.ok()) << scenario.error().message << "\n" << story;
    stories.insert(std::move(story));
  }
  EXPECT_EQ(stories.size(), 200U);
}

// What the stories of a few hundred seeds bring about at least once.
TEST(Chaos, TellsOfEverythingThatCanGoWrong) {
  std::string all;
  for (uint64_t seed = 1; seed <= 300; ++seed) all += TellChaos(seed);
  for (const char* what : {"crash operator", "crash leader",
                           "stop leader",    "fault update leases",
                           " lost",          " dropped",
                           " late ",         " slow ",
                           "stalls",         "expires",
                           "refused",        "compact",
                           "submit tfjob",   "submit pytorchjob",
                           "near=zone",      "apart=",
                           "spread=",        "port=",
                           "priority=",      "suspend ",
                           "resume ",        "scale ",
                           "delete job",     "delete gang",
                           "delete pod",     "cordon ",
                           "taint ",         "kubelet freeze",
                           "kubelet crash",  "kubelet restart",
                           "add node",       "pod stranger-",
                           "exit=137",       "exit=3"}) {
    EXPECT_THAT(all, HasSubstr(what));
  }
}

TEST(Shrink, KeepsWhatTheFailureNeedsAndNothingElse) {
  std::string text =
      "# A story.\nat 0s cluster nodes=8 gpu=4\nat 1s submit tfjob a workers=8\nat 1s submit tfjob ab "
      "workers=8\n"
      "at 2s fault all all lost count=5\nat 3s crash operator\nby 9s expect over\nby 9s expect succeeded a\n"
      "by 9s expect succeeded ab\n";
  auto fails = [](const std::string& tried) -> std::optional<std::string> {
    bool both =
        tried.find("crash operator") != std::string::npos && tried.find("tfjob ab ") != std::string::npos;
    if (!both) return {};
    return "invariant 1";
  };
  std::string small = Shrink(text, fails, 1000);
  EXPECT_EQ(small,
            "# A story.\nat 1s submit tfjob ab workers=0\nat 3s crash operator\nby 9s expect over\n"
            "by 9s expect succeeded ab\n");
  EXPECT_THAT(small, Not(HasSubstr("fault")));
}

TEST(Shrink, AnotherKindOfFailureDoesNotCount) {
  auto fails = [](const std::string& tried) -> std::optional<std::string> {
    return tried.find("compact") == std::string::npos ? "invariant 2" : "invariant 1";
  };
  EXPECT_THAT(Shrink("# A story.\nat 1s compact\nat 2s crash operator\n", fails, 100), HasSubstr("compact"));
  EXPECT_THAT(Shrink("# A story.\nat 1s compact\nat 2s crash operator\n", fails, 100),
              Not(HasSubstr("crash")));
}

}  // namespace
}  // namespace lockstep::sim
