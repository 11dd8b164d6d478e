#include "cluster/quotas.h"

#include <gmock/gmock.h>

namespace lockstep::cluster {
namespace {

using json::Doc;

const WallTime kNow{seconds(1'800'000'000)};

Doc QuotaDoc(const std::string& name, Doc hard, Doc used, Doc scopes = Doc::array()) {
  return {{"metadata", {{"namespace", "ns"}, {"name", name}}},
          {"spec", {{"hard", hard}, {"scopes", std::move(scopes)}}},
          {"status", {{"hard", hard}, {"used", std::move(used)}}}};
}

QuotaChargePtr Gpus(int count) {
  Doc container = {{"resources", {{"limits", {{"nvidia.com/gpu", count}}}}}};
  return std::make_shared<const kube::QuotaCharge>(
      kube::ChargeOf({{"spec", {{"containers", Doc::array({container})}}}}));
}

std::vector<QuotaAsk> Asks(int pods, int gpus) { return {{Gpus(gpus), pods}}; }

class QuotasTest : public ::testing::Test {
 protected:
  Quotas quotas;
  std::optional<QuotaLack> Lack(int pods, int gpus = 1, WallTime now = kNow) {
    return quotas.Lack("ns", Asks(pods, gpus), now);
  }
};

TEST_F(QuotasTest, WithoutAQuotaThereIsRoomForAll) {
  quotas.Charge("ns", Gpus(1), 100);
  EXPECT_FALSE(Lack(1000));
  quotas.TakeIn(QuotaDoc("q", {{"pods", "1"}}, {{"pods", "0"}}), false);
  EXPECT_TRUE(Lack(1));
  EXPECT_FALSE(quotas.Lack("elsewhere", Asks(1, 1), kNow));
  quotas.TakeIn(QuotaDoc("q", {{"pods", "1"}}, {{"pods", "0"}}), true);
  EXPECT_FALSE(Lack(1000));
}

TEST_F(QuotasTest, TheWholeGangIsAskedForAndThePromisedCounts) {
  quotas.TakeIn(QuotaDoc("q", {{"requests.nvidia.com/gpu", "16"}}, {{"requests.nvidia.com/gpu", "0"}}),
                false);
  EXPECT_FALSE(Lack(8, 2));
  quotas.Charge("ns", Gpus(2), 1);
  EXPECT_EQ(Lack(8, 2), (QuotaLack{"q", "requests.nvidia.com/gpu", 16'000, 2'000, 16'000}));
  quotas.Discharge("ns", Gpus(2), 1);
  EXPECT_FALSE(Lack(8, 2));
}

TEST_F(QuotasTest, TheLargerCountIsTheUsedOne) {
  quotas.TakeIn(QuotaDoc("q", {{"pods", "8"}}, {{"pods", "5"}}), false);
  quotas.Charge("ns", Gpus(1), 3);
  EXPECT_FALSE(Lack(3));
  EXPECT_EQ(Lack(4)->used, 5'000) << "the controller knows of more";
  quotas.Charge("ns", Gpus(2), 3);
  EXPECT_EQ(Lack(4)->used, 6'000) << "we know of more";
}

TEST_F(QuotasTest, MoreThanTheQuotaAllowsIsNever) {
  quotas.TakeIn(QuotaDoc("a", {{"pods", "4"}}, {{"pods", "4"}}), false);
  quotas.TakeIn(QuotaDoc("b", {{"requests.nvidia.com/gpu", "2"}}, {{"requests.nvidia.com/gpu", "0"}}), false);
  std::optional<QuotaLack> lack = Lack(3);
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->quota, "b") << "what will never be goes before what is not yet";
  EXPECT_TRUE(lack->never);
  EXPECT_FALSE(Lack(1)->never);
}

TEST_F(QuotasTest, ALimitThatWasLoweredOrRaisedHoldsAsSoonAsBothSaySo) {
  Doc quota = QuotaDoc("q", {{"pods", "4"}}, {{"pods", "0"}});
  quota["spec"]["hard"]["pods"] = "8";
  quotas.TakeIn(quota, false);
  std::optional<QuotaLack> raised = Lack(8);
  ASSERT_TRUE(raised) << "the API server goes by the status";
  EXPECT_FALSE(raised->never);
  quota["spec"]["hard"]["pods"] = "2";
  quotas.TakeIn(quota, false);
  EXPECT_TRUE(Lack(4)->never);
}

TEST_F(QuotasTest, AQuotaThatNobodyHasCountedHoldsWhatItNames) {
  Doc quota = QuotaDoc("q", {{"pods", "8"}}, Doc::object());
  quotas.TakeIn(quota, false);
  EXPECT_TRUE(Lack(1)->unknown);
}

TEST_F(QuotasTest, AQuotaThatComesLaterFindsWhatIsThere) {
  quotas.Charge("ns", Gpus(1), 6);
  quotas.TakeIn(QuotaDoc("q", {{"pods", "8"}}, {{"pods", "0"}}), false);
  EXPECT_EQ(Lack(3)->used, 6'000);
}

TEST_F(QuotasTest, ScopesSelectWhatIsCounted) {
  quotas.TakeIn(QuotaDoc("q", {{"pods", "4"}}, {{"pods", "0"}}, Doc::array({"Terminating"})), false);
  quotas.Charge("ns", Gpus(1), 100);
  EXPECT_FALSE(Lack(100));
  kube::QuotaCharge bounded = *Gpus(1);
  bounded.terminating = true;
  auto charge = std::make_shared<const kube::QuotaCharge>(bounded);
  EXPECT_TRUE(quotas.Lack("ns", std::vector<QuotaAsk>{{charge, 5}}, kNow));
}

TEST_F(QuotasTest, ALeavingPodIsChargedForUntilItsTimeIsUp) {
  quotas.TakeIn(QuotaDoc("q", {{"pods", "4"}, {"count/pods", "100"}}, {{"pods", "0"}, {"count/pods", "0"}}),
                false);
  quotas.ChargeUntil("ns", kNow + seconds(30), Gpus(1));
  EXPECT_TRUE(Lack(4));
  EXPECT_EQ(quotas.NextRelease("ns", kNow), kNow + seconds(30));
  EXPECT_FALSE(Lack(4, 1, kNow + seconds(30)));
  EXPECT_FALSE(quotas.NextRelease("ns", kNow + seconds(30)));
  quotas.DischargeUntil("ns", kNow + seconds(30), Gpus(1));
  EXPECT_FALSE(Lack(4));
}

TEST_F(QuotasTest, EnormousAmountsComeAndGoWithoutATrace) {
  quotas.TakeIn(QuotaDoc("q", {{"requests.nvidia.com/gpu", "8"}}, {{"requests.nvidia.com/gpu", "0"}}), false);
  kube::QuotaCharge huge = *Gpus(1);
  huge.amounts["requests.nvidia.com/gpu"] = kube::kMaxAmount;
  auto charge = std::make_shared<const kube::QuotaCharge>(huge);
  quotas.Charge("ns", charge, 1000);
  quotas.Charge("ns", Gpus(1), 2);
  EXPECT_EQ(Lack(1)->used, kube::kMaxAmount);
  quotas.Discharge("ns", charge, 1000);
  EXPECT_FALSE(Lack(6));
  EXPECT_TRUE(Lack(7));
}

TEST_F(QuotasTest, OverdrawnIsWhatIsUsedAndPromisedBeyondTheLimit) {
  quotas.TakeIn(QuotaDoc("q", {{"pods", "4"}}, {{"pods", "4"}}), false);
  EXPECT_FALSE(quotas.Overdrawn("ns", Asks(1, 1), kNow));
  quotas.Charge("ns", Gpus(1), 5);
  EXPECT_TRUE(quotas.Overdrawn("ns", Asks(1, 1), kNow));
}

TEST_F(QuotasTest, AlikeChargesAreShared) {
  QuotaChargePtr first = quotas.Shared("ns", *Gpus(1));
  quotas.Charge("ns", first, 1);
  EXPECT_EQ(quotas.Shared("ns", *Gpus(1)), first);
}

}  // namespace
}  // namespace lockstep::cluster
