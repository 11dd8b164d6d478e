#include "cluster/residents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/testing.h"

namespace lockstep::cluster {
namespace {

using namespace testing;  // NOLINT: builders
using ::testing::ElementsAre;

constexpr size_t kNow = 0, kEmpty = 1;

std::vector<int32_t> Counts(Residents& residents, const Residents::Question& question, size_t view = kNow) {
  std::span<const int32_t> counts = residents.Count(view, question);
  return {counts.begin(), counts.end()};
}

TEST(Residents, AreCountedByWhoTheyAre) {
  Residents residents;
  residents.Resize(3);
  PodIdentityPtr red = Who("r", {{"color", "red"}}), blue = Who("b", {{"color", "blue"}});
  Residents::Question reds{{Labelled("color", "red")}, false};
  EXPECT_THAT(Counts(residents, reds), ElementsAre(0, 0, 0));
  residents.Add(kNow, 0, red, false, 2);
  residents.Add(kNow, 2, red, true, 1);
  residents.Add(kNow, 2, blue, false, 5);
  residents.Add(kEmpty, 1, red, false, 1);

  EXPECT_THAT(Counts(residents, reds), ElementsAre(2, 0, 1));
  EXPECT_THAT(Counts(residents, {reds.queries, true}), ElementsAre(2, 0, 0));  // without those that leave
  EXPECT_THAT(Counts(residents, reds, kEmpty), ElementsAre(0, 1, 0));

  residents.Subtract(kNow, 0, red, false, 1);
  residents.Clear(2);
  EXPECT_THAT(Counts(residents, reds), ElementsAre(1, 0, 0));
}

TEST(Residents, AnIdThatIsUsedAgainIsSomebodyElse) {
  Residents residents;
  residents.Resize(1);
  Residents::Question reds{{Labelled("color", "red")}, false};
  residents.Add(kNow, 0, Who("r", {{"color", "red"}}), false, 1);
  EXPECT_THAT(Counts(residents, reds), ElementsAre(1));
  residents.Subtract(kNow, 0, Who("r", {{"color", "red"}}), false, 1);
  EXPECT_EQ(residents.identity_count(), 0u);
  residents.Add(kNow, 0, Who("b", {{"color", "blue"}}), false, 1);
  EXPECT_THAT(Counts(residents, reds), ElementsAre(0));
}

TEST(Residents, PodsThatAreEqualShareOneIdentity) {
  Residents residents;
  residents.Resize(1);
  PodIdentityPtr one = Who("r", {{"color", "red"}}), other = Who("r", {{"color", "red"}});
  EXPECT_EQ(residents.Shared(other), other);
  residents.Add(kNow, 0, one, false, 1);
  EXPECT_EQ(residents.Shared(other), one);
  EXPECT_NE(residents.Shared(Who("s", {{"color", "red"}})), one);
}

TEST(Residents, TellWhomTheyKeepAway) {
  Residents residents;
  residents.Resize(3);
  PodIdentityPtr shy = Who("shy", {}, Apart({}, Labelled("color", "red"), "zone"));
  kube::PodQuery any;
  any.namespaces = {"default"};
  PodIdentityPtr hermit = Who("hermit", {}, Apart({}, any, "host"));
  EXPECT_FALSE(residents.any_keepers(kNow));
  residents.Add(kNow, 2, shy, false, 1);
  residents.Add(kNow, 0, shy, false, 1);
  residents.Add(kNow, 1, hermit, true, 1);  // also while it leaves

  auto keepers = residents.KeepersOf(kNow, *Who("x", {{"color", "red"}}));
  ASSERT_EQ(keepers.size(), 2u);
  EXPECT_EQ(keepers[0].who->name, "hermit");
  EXPECT_EQ(keepers[1].term->topology_key, "zone");
  EXPECT_THAT(keepers[1].nodes, ElementsAre(0, 2));
  EXPECT_EQ(residents.KeepersOf(kNow, *Who("x", {{"color", "blue"}})).size(), 1u);
  EXPECT_FALSE(residents.IsKeptAway(kEmpty, *Who("x", {{"color", "red"}})));
  residents.Subtract(kNow, 1, hermit, true, 1);
  EXPECT_FALSE(residents.IsKeptAway(kNow, *Who("x", {{"color", "blue"}})));
}

TEST(Residents, CopiesCountForThemselves) {
  Residents residents;
  residents.Resize(1);
  Residents::Question reds{{Labelled("color", "red")}, false};
  residents.Add(kNow, 0, Who("r", {{"color", "red"}}), false, 1);
  EXPECT_THAT(Counts(residents, reds), ElementsAre(1));
  Residents copy = residents;
  copy.Add(kNow, 0, Who("r", {{"color", "red"}}), false, 1);
  EXPECT_THAT(Counts(copy, reds), ElementsAre(2));
  EXPECT_THAT(Counts(residents, reds), ElementsAre(1));
}

TEST(PodIdentity, RulesAboutALabelOfEachPodAreNamedAndTakenToMatch) {
  kube::PodNeed need = Apart({}, Labelled("training.kubeflow.org/replica-index", "0"), "host");
  EXPECT_EQ(PerPodLabelIn(need.rules), "training.kubeflow.org/replica-index");
  EXPECT_EQ(PerPodLabelIn(Near({}, Labelled("app", "x"), "host").rules), "");
  PodIdentityPtr pod = Who("x", {{"app", "x"}});
  EXPECT_TRUE(MayBeKeptAway(need.rules.anti_affinity[0], *pod));
  need.rules.anti_affinity[0].pods.labels.requirements.push_back({"app", kube::SelectorOp::kIn, {"y"}});
  EXPECT_FALSE(MayBeKeptAway(need.rules.anti_affinity[0], *pod));
}

}  // namespace
}  // namespace lockstep::cluster
