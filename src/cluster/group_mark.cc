#include "cluster/group_mark.h"

#include "api/labels.h"
#include "base/hash.h"
#include "cluster/identity.h"
#include "cluster/pod_class.h"

namespace lockstep::cluster {

namespace {

std::string LabelOrAnnotation(const kube::Meta& meta, std::string_view key) {
  std::string label = meta.label(key);
  return label.empty() ? meta.annotation(key) : label;
}

std::string Hex(uint64_t hash, int digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < digits; ++i, hash >>= 4) text += kDigits[hash & 15];
  return text;
}

// An annotation may hold any text; the gang's name is an object's too. Without dots, which the others have.
std::string AsName(const std::string& text) {
  constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  bool fits = text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
              text.find_first_not_of(kAllowed) == std::string::npos;
  return fits ? text : "x" + Hex(StableHash(text), 16);
}

std::string RoleNamed(const kube::PodNeed& need, const kube::Labels& labels) {
  uint64_t hash = HashOf(need);
  // With rules between pods it matters which labels they have; those of single pods can't be told apart.
  if (!need.rules.empty()) {
    hash = StableHash(std::to_string(MakeIdentity("", labels, need.rules, "")->hash), hash);
  }
  return "pods-" + Hex(hash, 8);
}

}  // namespace

GroupMarkPtr ReadGroupMark(const kube::Pod& pod, const json::Doc& object) {
  GroupMark mark;
  mark.ours_to_bind = pod.scheduler_name == api::kSchedulerName;
  const json::Doc* gates = json::Find(object, "spec.schedulingGates");
  for (const json::Doc& gate : gates != nullptr && gates->is_array() ? *gates : json::Doc::array()) {
    mark.gates.push_back(json::GetString(gate, "name"));
    mark.gated |= mark.gates.back() == api::kGangGate;
  }
  std::string pod_group = pod.meta.label(api::kPodGroupLabel);
  if (!pod_group.empty() && !mark.ours_to_bind) return nullptr;
  mark.pod_group = !pod_group.empty();
  mark.name = mark.pod_group ? pod_group : LabelOrAnnotation(pod.meta, api::kGangLabel);
  bool waits_for_us = pod.node_name.empty() && (mark.gated || mark.ours_to_bind);
  if (mark.name.empty() && !waits_for_us) return nullptr;
  mark.size = LabelOrAnnotation(pod.meta, api::kGangSizeLabel);
  mark.seat = pod.meta.annotation(api::kSeatAnnotation);
  constexpr const char* kRequired =
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
  if (const json::Doc* required = json::Find(object, kRequired))
    mark.required = std::make_shared<const json::Doc>(*required);
  if (const kube::OwnerRef* owner = pod.meta.controller()) mark.owner = *owner;
  mark.labels = pod.meta.labels;
  mark.created = pod.meta.created;
  mark.need = pod.need;
  mark.priority = pod.priority;
  mark.role_now = RoleNamed(pod.need, mark.labels);
  std::string before = pod.meta.annotation(api::kRoleAnnotation);
  mark.role = mark.seat.empty() || before.empty() ? mark.role_now : before;
  return std::make_shared<const GroupMark>(std::move(mark));
}

std::string GroupName(const kube::Meta& pod, const GroupMark& mark) {
  if (mark.name.empty()) return "of." + AsName(mark.owner.kind.empty() ? pod.name : mark.owner.name);
  return (mark.pod_group ? "podgroup." : "") + AsName(mark.name);
}

}  // namespace lockstep::cluster
