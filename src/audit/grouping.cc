#include "audit/grouping.h"

#include <algorithm>
#include <charconv>

#include "api/labels.h"

namespace lockstep::audit {

namespace {

// A label or annotation that names the pod's group, and one that tells the group's size, if there is one.
struct Mark {
  std::string_view name, size;
};

constexpr Mark kMarks[] = {
    {"lockstep.dev/gang", "lockstep.dev/gang-size"},
    // scheduler-plugins' coscheduling, now and before its PodGroup had an API of its own
    {"scheduling.x-k8s.io/pod-group", ""},
    {"pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/min-available"},
    // Volcano, and what came from kube-batch
    {"scheduling.k8s.io/group-name", ""},
    {"scheduling.volcano.sh/group-name", ""},
    {"gang.scheduling.koordinator.sh/name", "gang.scheduling.koordinator.sh/min-available"},
    {"kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"},
};

constexpr int64_t kMaxSize = 1'000'000;  // so that hostile counts can't overflow a sum

int64_t Bounded(int64_t count) { return std::clamp<int64_t>(count, 0, kMaxSize); }

std::string LabelOrAnnotation(const kube::Meta& meta, std::string_view key) {
  std::string value = meta.label(key);
  return value.empty() ? meta.annotation(key) : value;
}

std::optional<int64_t> Number(const std::string& text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return Bounded(number);
}

std::string GroupKey(const std::string& ns, const std::string& name) { return "group " + ns + "/" + name; }

Membership OfGroup(const kube::Meta& meta, const json::Doc& pod) {
  for (const Mark& mark : kMarks) {
    std::string group = LabelOrAnnotation(meta, mark.name);
    if (group.empty()) continue;
    Membership gang{.key = GroupKey(meta.ns, group), .name = meta.ns + "/" + group};
    if (!mark.size.empty()) gang.size = Number(LabelOrAnnotation(meta, mark.size));
    return gang;
  }
  // Kubernetes' own gangs (KEP-4671).
  std::string group = json::GetString(pod, "spec.schedulingGroup.podGroupName");
  if (group.empty()) return {};
  return {.key = GroupKey(meta.ns, group), .name = meta.ns + "/" + group};
}

// kubeflow.org: the sum over xReplicaSpecs.
int64_t ReplicasOf(const json::Doc& spec) {
  int64_t size = 0;
  for (const auto& [field, roles] : spec.items()) {
    if (!field.ends_with("ReplicaSpecs") || !roles.is_object()) continue;
    for (const auto& [role, replica] : roles.items()) size += Bounded(json::GetInt(replica, "replicas", 1));
  }
  return size;
}

// Gang: the sum of its roles' minimum counts.
int64_t MinimumOf(const json::Doc& spec) {
  const json::Doc* roles = json::Key(&spec, "roles");
  if (roles == nullptr || !roles->is_array()) return 0;
  int64_t size = 0;
  for (const json::Doc& role : *roles) {
    size += Bounded(json::GetInt(role, "minCount", json::GetInt(role, "count")));
  }
  return size;
}

// batch/v1: as many as may run at once; Volcano's Job of the same name says it itself.
int64_t ParallelismOf(const json::Doc& spec) {
  if (int64_t available = json::GetInt(spec, "minAvailable"); available > 0) return Bounded(available);
  if (json::Key(&spec, "tasks") != nullptr) return 0;
  int64_t parallelism = Bounded(json::GetInt(spec, "parallelism", 1));
  return std::min(parallelism, Bounded(json::GetInt(spec, "completions", parallelism)));
}

}  // namespace

Membership GangOf(const kube::Meta& meta, const json::Doc& pod, const Grouping& grouping) {
  const kube::OwnerRef* owner = meta.controller();
  bool owned = owner != nullptr && !owner->uid.empty();
  bool ours = owned && !meta.label(api::kAttemptLabel).empty();
  if (Membership gang = OfGroup(meta, pod); !ours && !gang.key.empty()) return gang;
  std::string job = meta.label(grouping.job_label);
  if (owned && (!job.empty() || owner->kind.ends_with("Job"))) {
    return {.key = owner->uid, .name = meta.ns + "/" + owner->name};
  }
  if (job.empty()) return {};
  return {.key = meta.ns + "/" + job, .name = meta.ns + "/" + job};
}

std::string IndexOf(const kube::Meta& meta, const Grouping& grouping) {
  std::string index = meta.label(grouping.index_label);
  return index.empty() ? LabelOrAnnotation(meta, "batch.kubernetes.io/job-completion-index") : index;
}

bool IsGroup(std::string_view resource) { return resource == "gangs" || resource == "podgroups"; }

std::string KeyOfOwner(std::string_view resource, const json::Doc& object, const std::string& ns,
                       const std::string& name) {
  if (resource == "gangs") return json::GetString(object, "spec.job.uid");
  if (resource == "podgroups") return GroupKey(ns, name);
  std::string uid = json::GetString(object, "metadata.uid");
  return uid.empty() ? ns + "/" + name : uid;
}

std::optional<int64_t> SizeOfOwner(std::string_view resource, const json::Doc& object) {
  const json::Doc* spec = json::Key(&object, "spec");
  if (spec == nullptr || !spec->is_object()) return std::nullopt;
  int64_t size = 0;
  if (resource == "gangs") {
    size = MinimumOf(*spec);
  } else if (resource == "podgroups") {
    size = Bounded(json::GetInt(*spec, "minMember", json::GetInt(*spec, "schedulingPolicy.gang.minCount")));
  } else if (resource == "jobs") {
    size = ParallelismOf(*spec);
  } else {
    size = ReplicasOf(*spec);
  }
  return size > 0 ? std::optional(size) : std::nullopt;
}

}  // namespace lockstep::audit
