#include "api/gang.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/patch.h"

namespace lockstep::api {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

WallTime At(int64_t microseconds) { return WallTime(Duration(microseconds)); }

GangSpec Bert() {
  return {.job = {"kubeflow.org/v1", "PyTorchJob", "bert", "uid-1"},
          .queued_at = At(1'767'225'600'123'456),
          .roles = {{"Master", 1, 1}, {"Worker", 7, 4}}};
}

GangStatus BusyStatus() {
  GangStatus status;
  status.phase = GangPhase::kStarting;
  status.attempt = 3;
  status.policy_restarts = 1;
  status.fault_restarts = 2;
  status.placement = {{"gpu-1", {{"Master", 0, 0}, {"Worker", 0, 2}}}, {"gpu-2.rack", {{"Worker", 3, 6}}}};
  status.phase_since = At(1'767'225'700'000'001);
  status.not_before = At(1'767'225'800'000'000);
  status.waiting_since = At(1'767'225'700'000'000);
  status.priority = -5;
  status.start_failures = 2;
  status.barred = {{"gpu-9", At(1'767'225'900'000'000), 4, "OutOfcpu"}};
  status.needs = {{"cpu", 1500}, {"memory", 1000LL << 30}, {"nvidia.com/gpu", 8000}};
  status.reason = {"Starting", "7 of 8 pods run"};
  return status;
}

// What the API server holds after the create and a merge patch of the status.
json::Doc Stored(const GangSpec& spec, const GangStatus& status) {
  json::Doc object = NewGangDoc("ml", spec);
  const json::Doc written = StatusDoc(status, spec.roles);
  for (const auto& [key, value] : written.items()) {
    if (!value.is_null()) object["status"][key] = value;
  }
  return object;
}

TEST(Gang, ComesBackFromStorageAsItWas) {
  Result<Gang> gang = ParseGang(Stored(Bert(), BusyStatus()));
  ASSERT_TRUE(gang.ok()) << gang.error().message;
  EXPECT_EQ(gang->spec, Bert());
  EXPECT_EQ(gang->status, BusyStatus());
  EXPECT_EQ(gang->meta.key(), "ml/pytorchjob-bert");
  EXPECT_EQ(gang->pods(), 8);
}

TEST(Gang, IsQueuedBeforeItHasAStatus) {
  Result<Gang> gang = ParseGang(NewGangDoc("ml", Bert()));
  ASSERT_TRUE(gang.ok()) << gang.error().message;
  EXPECT_EQ(gang->status, GangStatus{});
  EXPECT_EQ(gang->status.phase, GangPhase::kQueued);
}

TEST(Gang, IsOwnedByItsJobSoThatItGoesWithIt) {
  json::Doc owner = NewGangDoc("ml", Bert())["metadata"]["ownerReferences"][0];
  EXPECT_EQ(owner, json::Doc({{"apiVersion", "kubeflow.org/v1"},
                              {"kind", "PyTorchJob"},
                              {"name", "bert"},
                              {"uid", "uid-1"},
                              {"controller", true},
                              {"blockOwnerDeletion", true}}));
}

TEST(Gang, EmptyMembersAreNullSoThatAMergePatchRemovesThem) {
  GangStatus waiting;
  waiting.attempt = 3;
  json::Doc object = Stored(Bert(), BusyStatus());
  json::MergePatch(object["status"], StatusDoc(waiting, Bert().roles));
  Result<Gang> gang = ParseGang(object);
  ASSERT_TRUE(gang.ok()) << gang.error().message;
  EXPECT_EQ(gang->status, waiting);
}

TEST(Gang, ResourceThatIsNeededNoMoreIsRemovedByTheMergePatch) {
  GangStatus now = BusyStatus();
  now.needs = {{"cpu", 2000}};
  const GangStatus before = BusyStatus();
  json::Doc object = Stored(Bert(), before);
  json::MergePatch(object["status"], StatusDoc(now, Bert().roles, &before));
  Result<Gang> gang = ParseGang(object);
  ASSERT_TRUE(gang.ok()) << gang.error().message;
  EXPECT_EQ(gang->status, now);
}

TEST(Gang, ShowsPeopleWhatItNeeds) {
  GangStatus status;
  status.needs = {{"cpu", 16000}, {"memory", 1000LL << 31}, {"nvidia.com/gpu", 8000}, {"pods", 8000}};
  json::Doc doc = StatusDoc(status, Bert().roles);
  EXPECT_EQ(doc["needsText"], "8 nvidia.com/gpu, 16 cpu, 2Gi memory");
  EXPECT_EQ(doc["pods"], 8);
}

TEST(Gang, SaturatedNeedsComeBackSaturated) {
  GangStatus status;
  status.needs = {{"cpu", kube::kMaxAmount}, {"nvidia.com/gpu", 1}};
  Result<Gang> gang = ParseGang(Stored(Bert(), status));
  ASSERT_TRUE(gang.ok()) << gang.error().message;
  EXPECT_EQ(gang->status.needs, status.needs);
}

TEST(Gang, EveryPhaseHasAName) {
  for (int i = 0; i <= static_cast<int>(GangPhase::kFailed); ++i) {
    auto phase = static_cast<GangPhase>(i);
    EXPECT_EQ(ParsePhase(PhaseText(phase)), phase);
  }
  EXPECT_EQ(ParsePhase("Lost"), std::nullopt);
  EXPECT_EQ(ParsePhase(""), std::nullopt);
}

struct Broken {
  const char* pointer;  // where the document is changed
  json::Doc value;      // null removes
  const char* error;    // must be part of the message
};

TEST(Gang, ErrorsNameTheField) {
  const Broken table[] = {
      {"/metadata/name", nullptr, "metadata.name"},
      {"/spec", nullptr, "spec"},
      {"/spec", "x", "spec"},
      {"/spec/job", nullptr, "spec.job"},
      {"/spec/job", 7, "spec.job"},
      {"/spec/job/uid", nullptr, "spec.job.uid"},
      {"/spec/job/kind", 5, "spec.job.kind"},
      {"/spec/queuedAt", nullptr, "spec.queuedAt"},
      {"/spec/queuedAt", "yesterday", "spec.queuedAt"},
      {"/spec/roles", json::Doc::array(), "spec.roles"},
      {"/spec/roles", "Worker", "spec.roles"},
      {"/spec/roles/0", 1, "spec.roles"},
      {"/spec/roles/1/name", nullptr, "spec.roles[1].name"},
      {"/spec/roles/1/count", -1, "spec.roles[1].count"},
      {"/spec/roles/1/count", "7", "spec.roles[1].count"},
      {"/spec/roles/1/count", 99999999999, "spec.roles[1].count"},
      {"/spec/roles/1/minCount", 9, "spec.roles[1].minCount"},
      {"/status", 3, "status"},
      {"/status/phase", "Lost", "status.phase"},
      {"/status/attempt", -2, "status.attempt"},
      {"/status/attempt", 1.5, "status.attempt"},
      {"/status/attempt", INT64_MAX, "status.attempt"},
      {"/status/restarts", "none", "status.restarts"},
      {"/status/restarts/fault", -1, "status.restarts.fault"},
      {"/status/placement", "gpu-1", "status.placement"},
      {"/status/placement/1", 4, "status.placement"},
      {"/status/placement/1", "gpu-2", "status.placement[1]"},
      {"/status/placement/1", "=Worker/0", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=/3", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/3-", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/-3", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/5-3", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/0-99999999999", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/0-9999999", "status.placement[1]"},
      {"/status/placement/1", "gpu-2=Worker/0,", "status.placement[1]"},
      {"/status/phaseSince", "noon", "status.phaseSince"},
      {"/status/notBefore", 12, "status.notBefore"},
      {"/status/waitingSince", "then", "status.waitingSince"},
      {"/status/priority", 3'000'000'000, "status.priority"},
      {"/status/priority", "high", "status.priority"},
      {"/status/startFailures", -1, "status.startFailures"},
      {"/status/barredNodes", 1, "status.barredNodes"},
      {"/status/barredNodes/0/node", nullptr, "status.barredNodes[0].node"},
      {"/status/barredNodes/0/until", "soon", "status.barredNodes[0].until"},
      {"/status/needs", "all", "status.needs"},
      {"/status/needs/cpu", "many", "status.needs.cpu"},
      {"/status/reason", 5, "status.reason"},
  };
  for (const Broken& row : table) {
    json::Doc object = Stored(Bert(), BusyStatus());
    json::Doc::json_pointer pointer{std::string(row.pointer)};
    if (row.value.is_null()) {
      object[pointer.parent_pointer()].erase(pointer.back());
    } else {
      object[pointer] = row.value;
    }
    Result<Gang> gang = ParseGang(object);
    // A broken status is no reason to lose the gang: it counts as queued, and says what can't be read.
    bool in_status = std::string_view(row.pointer).starts_with("/status");
    ASSERT_EQ(gang.ok(), in_status) << row.pointer << " " << row.value;
    std::string error = gang.ok() ? gang->unreadable : gang.error().message;
    EXPECT_THAT(error, HasSubstr(row.error)) << row.pointer << " " << row.value;
    if (!gang.ok()) continue;
    EXPECT_EQ(gang->status.phase, GangPhase::kQueued);
    EXPECT_EQ(gang->status.attempt, 0);
    EXPECT_TRUE(gang->status.placement.empty());
  }
}

TEST(Gang, OfAnythingButAnObjectIsAnError) {
  for (const char* text : {"null", "[]", "1", "\"x\"", "{}", R"({"metadata":[]})"}) {
    EXPECT_FALSE(ParseGang(json::Doc::parse(text)).ok()) << text;
  }
}

TEST(GangName, CarriesTheKindAndIsBounded) {
  EXPECT_EQ(GangName("PyTorchJob", "bert"), "pytorchjob-bert");
  EXPECT_EQ(GangName("PyTorchJob", std::string(242, 'a')), "pytorchjob-" + std::string(242, 'a'));
  std::string first = GangName("PyTorchJob", std::string(252, 'a') + "b");
  std::string second = GangName("PyTorchJob", std::string(252, 'a') + "c");
  EXPECT_THAT(first, SizeIs(253));
  EXPECT_NE(first, second);
}

rc::Gen<std::string> Word() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ019-."))));
}

// A node's name: never a dot at its end.
rc::Gen<std::string> NodeName() {
  return rc::gen::map(Word(), [](std::string word) { return word + "z"; });
}

RC_GTEST_PROP(Gang, AnyStatusComesBackExactly, ()) {
  GangSpec spec = Bert();
  GangStatus status;
  status.phase = static_cast<GangPhase>(*rc::gen::inRange(0, 8));
  status.attempt = *rc::gen::inRange<int64_t>(0, 1'000'000'000);
  status.policy_restarts = *rc::gen::inRange(0, 1000);
  status.fault_restarts = *rc::gen::inRange(0, 1000);
  status.start_failures = *rc::gen::inRange(0, 1000);
  if (*rc::gen::arbitrary<bool>())
    status.not_before = At(*rc::gen::inRange<int64_t>(1, 4'000'000'000'000'000));
  for (const std::string& node : *rc::gen::container<std::vector<std::string>>(NodeName())) {
    int32_t first = *rc::gen::inRange(0, 20000);
    status.placement.push_back({node, {{*Word(), first, *rc::gen::inRange(first, 20000)}}});
  }
  for (const std::string& name : *rc::gen::container<std::vector<std::string>>(Word())) {
    status.needs[name] = *rc::gen::inRange<int64_t>(0, INT64_MAX);
    status.barred.push_back({name, At(*rc::gen::inRange<int64_t>(0, 4'000'000'000'000'000)), 1, *Word()});
  }
  status.reason = {*Word(), *Word()};
  Result<Gang> gang = ParseGang(Stored(spec, status));
  RC_ASSERT(gang.ok());
  RC_ASSERT(gang->status == status);
}

}  // namespace
}  // namespace lockstep::api
