#include "engine/group.h"

#include <algorithm>
#include <charconv>

#include "api/labels.h"
#include "jobs/pod_set.h"

namespace lockstep::engine {

using api::GangReason;
using cluster::GangState;
using cluster::PodPtr;
using cluster::PodRecord;
using cluster::World;

namespace {

using Pods = std::vector<PodPtr>;

// More would not fit the record (api/gang.cc).
constexpr size_t kMaxNeeds = 64;

std::string OwnerText(const PodRecord& pod) {
  const kube::OwnerRef& owner = pod.group->owner;
  return owner.kind.empty() ? "nobody" : owner.kind + " " + owner.name;
}

std::string LimitText() { return "must be 1 to " + std::to_string(jobs::kMaxGangPods); }

std::variant<int64_t, GangReason> SizeOfPodGroup(const World& world, const GangState& gang,
                                                 const std::string& name) {
  auto found = world.pod_groups.find(gang.ns + "/" + name);
  if (found == world.pod_groups.end())
    return GangReason{"PodGroupMissing", "its pods name the PodGroup " + name + ", which does not exist"};
  if (found->second >= 1 && found->second <= jobs::kMaxGangPods) return found->second;
  return GangReason{"SizeInvalid", "spec.minMember of the PodGroup " + name + " " + LimitText() + ", is " +
                                       std::to_string(found->second)};
}

// The size that the group's pods agree on, or what is wrong with what they say.
std::variant<int64_t, GangReason> SizeOf(const World& world, const GangState& gang, const Pods& pods) {
  const PodRecord& first = *pods.front();
  const std::string label(api::kGangSizeLabel);
  if (first.group->pod_group) return SizeOfPodGroup(world, gang, first.group->name);
  for (const PodPtr& pod : pods) {
    if (pod->group->size == first.group->size) continue;
    return GangReason{"SizesDiffer", "pods " + first.name + " and " + pod->name +
                                         " of one gang have different sizes in " + label + ": \"" +
                                         first.group->size.substr(0, 40) + "\" and \"" +
                                         pod->group->size.substr(0, 40) + "\""};
  }
  const std::string& text = first.group->size;
  if (text.empty())
    return GangReason{"SizeMissing", "pod " + first.name + " has no label or annotation " + label};
  int64_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && size >= 1 && size <= jobs::kMaxGangPods) return size;
  return GangReason{"SizeInvalid", label + " of pod " + first.name + " " + LimitText() + ", is \"" +
                                       text.substr(0, 40) + "\""};
}

// What only a scheduler of Kubernetes can do on a node can't be done where we bind.
std::optional<GangReason> NeedsScheduler(const World& world, const PodRecord& pod) {
  const kube::PodNeed& need = pod.group->need;
  std::string what = need.finisher;
  for (const std::string& claim : need.claims) {
    if (world.nodes.volumes().StateOf(claim) == cluster::ClaimState::kWaitsForConsumer)
      what = "the claim " + claim.substr(claim.find('/') + 1) + ", which waits for its first consumer";
  }
  if (what.empty() || !pod.group->ours_to_bind) return {};
  return GangReason{"Unsupported", "pod " + pod.name + " uses " + what +
                                       ": such pods need the scheduling gate " + std::string(api::kGangGate) +
                                       " and another schedulerName than " + std::string(api::kSchedulerName)};
}

std::optional<GangReason> Flaw(const World& world, const Pods& unbound, const Pods& all) {
  std::set<std::string> needs;
  for (const PodPtr& pod : all) needs.insert(pod->group->role_now);
  if (needs.size() > kMaxNeeds)
    return GangReason{"Unsupported", "its pods have " + std::to_string(needs.size()) +
                                         " different needs; one gang may have " + std::to_string(kMaxNeeds)};
  for (const PodPtr& pod : unbound) {
    if (std::optional<GangReason> loose = LooseEnd(*pod)) return loose;
    if (std::optional<GangReason> unmet = NeedsScheduler(world, *pod)) return unmet;
  }
  return {};
}

std::optional<GangReason> TwoOwners(const Pods& pods) {
  const PodRecord& first = *pods.front();
  for (const PodPtr& pod : pods) {
    if (pod->owner_uid == first.owner_uid) continue;
    return GangReason{"TwoOwners", "pods " + first.name + " and " + pod->name +
                                       " say that they are of one gang, and belong to " + OwnerText(first) +
                                       " and " + OwnerText(*pod) + "; together they are more than its size"};
  }
  return {};
}

}  // namespace

std::vector<PodPtr> Group::unbound() const {
  Pods pods = steered;
  pods.insert(pods.end(), pending.begin(), pending.end());
  return pods;
}

std::vector<PodPtr> Group::live() const {
  Pods pods = seated, rest = unbound();
  pods.insert(pods.end(), rest.begin(), rest.end());
  return pods;
}

bool IsGroup(const GangState& gang) { return gang.framework == &jobs::PodSets(); }

Group LookAt(const GangState& gang) {
  Group group;
  for (const auto& [name, pod] : gang.pods) {
    if (pod->deleting) {  // what its process says last is no success
      if (!pod->node.empty() && pod->holds) group.leaving.push_back(pod);
    } else if (pod->phase == kube::PodPhase::kSucceeded) {
      group.done.push_back(pod);
    } else if (pod->phase == kube::PodPhase::kFailed) {
      group.failed.push_back(pod);
    } else if (!pod->node.empty()) {
      group.seated.push_back(pod);
    } else {
      (pod->group->seat.empty() ? group.pending : group.steered).push_back(pod);
    }
  }
  for (Pods* pods : {&group.seated, &group.steered, &group.pending})
    std::ranges::stable_sort(*pods, {}, [](const PodPtr& pod) { return pod->group->created; });
  return group;
}

std::optional<GangReason> LooseEnd(const PodRecord& pod) {
  const cluster::GroupMark& mark = *pod.group;
  const std::string gate(api::kGangGate), scheduler(api::kSchedulerName);
  if (mark.name.empty())
    return GangReason{"GangMissing",
                      "pod " + pod.name + " has " +
                          (mark.gated ? "the scheduling gate " + gate : "the schedulerName " + scheduler) +
                          ", and no label " + std::string(api::kGangLabel) +
                          " says with which pods it starts"};
  if (!mark.ours_to_bind && !mark.gated && mark.seat.empty())
    return GangReason{"GateMissing", "pod " + pod.name + " has neither the scheduling gate " + gate +
                                         " nor the schedulerName " + scheduler +
                                         ": another scheduler may place it at any time"};
  for (const std::string& other : mark.gates) {
    if (other == gate) continue;
    return GangReason{"OtherGate",
                      "pod " + pod.name + " is held back by the scheduling gate " + other + " too"};
  }
  return {};
}

std::variant<std::vector<PodPtr>, GangReason> PodsToSeat(const World& world, const GangState& gang,
                                                         const Group& group) {
  Pods unbound = group.unbound(), all = group.live();
  if (std::optional<GangReason> flaw = Flaw(world, unbound, all)) return *std::move(flaw);
  std::variant<int64_t, GangReason> told = SizeOf(world, gang, all);
  if (auto* reason = std::get_if<GangReason>(&told)) return std::move(*reason);
  auto size = static_cast<size_t>(std::get<int64_t>(told));
  size_t done = std::min(size, group.done.size());
  if (unbound.size() + group.seated.size() > size) {
    if (std::optional<GangReason> owners = TwoOwners(all)) return *std::move(owners);
  }
  if (group.seated.size() >= size)
    return GangReason{"MorePodsThanSize", "the gang has " + std::to_string(size) +
                                              " pods, and they have their nodes; pod " +
                                              unbound.front()->name + " is one more"};
  // Those that have ended well need no place again, and a gang that runs takes each that comes for one it has
  // lost.
  if (group.seated.empty() && unbound.size() < size - done)
    return GangReason{"PodsMissing",
                      std::to_string(unbound.size()) + " of " + std::to_string(size - done) + " pods exist"};
  unbound.resize(std::min(unbound.size(), size - group.seated.size()));
  return unbound;
}

api::Way WayOfGroup(const GangState& gang) {
  bool elsewhere = std::ranges::any_of(gang.pods, [](const auto& entry) {
    return entry.second->node.empty() && !entry.second->group->ours_to_bind;
  });
  return elsewhere ? api::Way::kSteer : api::Way::kBind;
}

std::string UidOf(const GangState& gang, const PodRecord& pod) {
  return pod.owner_uid.empty() ? "podset-" + gang.job_name : pod.owner_uid;
}

}  // namespace lockstep::engine
