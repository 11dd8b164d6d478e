#include "audit/record.h"

#include <algorithm>

#include "api/labels.h"
#include "kube/model/pod.h"

namespace lockstep::audit {

namespace {

// The object as stored, or as sent where the policy keeps no response.
const json::Doc& Object(const Entry& entry, std::string_view kind) {
  return json::GetString(entry.response, "kind") == kind ? entry.response : entry.request;
}

void Earliest(std::optional<WallTime>& time, WallTime seen) { time = time ? std::min(*time, seen) : seen; }

bool Terminal(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }

// Resources whose writes a controller owes to a job; what users and the cluster itself write is not counted.
bool Counts(const Entry& entry) {
  if (entry.group == "kubeflow.org") return !entry.subresource.empty() || entry.verb == "patch";
  if (entry.group.empty()) {
    return entry.resource == "pods" || entry.resource == "services" || entry.resource == "events";
  }
  return entry.group == "lockstep.dev" || entry.group == "events.k8s.io" || entry.group == "batch" ||
         entry.resource == "podgroups";
}

}  // namespace

kube::Resources NodeRecord::MostBetween(WallTime from, WallTime to) const {
  kube::Resources most;
  for (size_t i = 0; i < changes.size(); ++i) {
    bool over = i + 1 < changes.size() && changes[i + 1].done < from;
    if (over || (changes[i].sent > to && i > 0)) continue;
    kube::MaxInto(most, changes[i].allocatable);
  }
  return most;
}

int64_t WriteCounts::controllers() const {
  int64_t sum = 0;
  for (const auto& [what, count] : others) sum += count;
  return sum;
}

void Record::Take(const Entry& entry) {
  Earliest(first_, entry.received);
  last_ = last_ ? std::max(*last_, entry.done) : entry.done;
  CountWrite(entry);
  if (entry.dry_run || !entry.ok()) return;
  if (entry.group.empty() && entry.resource == "pods") return TakePod(entry);
  if (entry.group.empty() && entry.resource == "nodes") return TakeNode(entry);
  if (entry.group == "lockstep.dev" && entry.resource == "gangs") return TakeGang(entry);
  if (entry.group == "kubeflow.org" && entry.subresource.empty()) return TakeJob(entry);
}

void Record::CountWrite(const Entry& entry) {
  if (!Counts(entry)) return;
  if (entry.dry_run) {
    ++writes_.dry_run;
  } else if (!entry.ok()) {
    ++writes_.refused;
  } else if (entry.writer == Writer::kKubelet) {
    ++writes_.kubelet;
  } else {
    std::string what = entry.verb + " " + entry.resource;
    if (!entry.subresource.empty()) what += "/" + entry.subresource;
    ++writes_.others[what];
  }
}

void Record::TakePod(const Entry& entry) {
  if (entry.subresource == "binding") return TakeBinding(entry);
  if (entry.subresource == "status") return TakePodStatus(entry);
  if (entry.subresource == "eviction") {
    Earliest(PodOf("", entry.ns, entry.name).leaving, entry.received);
    return;
  }
  if (!entry.subresource.empty()) return;
  if (entry.verb == "create") return TakePodCreate(entry);
  if (entry.verb == "delete" || entry.verb == "deletecollection") return TakePodDelete(entry);
}

void Record::TakePodCreate(const Entry& entry) {
  const json::Doc& object = Object(entry, "Pod");
  std::string name = json::GetString(object, "metadata.name", entry.name);
  std::string uid = json::GetString(object, "metadata.uid");
  // What had the name before is gone, whether the log told of it or not.
  if (auto former = by_name_.find(entry.ns + "/" + name); former != by_name_.end()) {
    PodRecord& old = pods_[former->second];
    if (old.uid != uid && old.create_sent && !old.ended) old.ended = entry.received;
    if (old.uid.empty() && old.create_sent) by_name_.erase(former);
  }
  PodRecord& pod = PodOf(uid, entry.ns, name);
  Identify(pod, object);
  pod.create_sent = entry.received;
  pod.created = entry.done;
  if (!pod.node.empty()) pod.assigned = entry.done;
}

void Record::TakePodStatus(const Entry& entry) {
  PodRecord& pod = PodOf(json::GetString(entry.request, "metadata.uid"), entry.ns, entry.name);
  std::string phase = json::GetString(entry.request, "status.phase");
  if (phase == "Running") Earliest(pod.running, entry.done);
  if (Terminal(phase)) Earliest(pod.ended, entry.received);
}

void Record::TakeBinding(const Entry& entry) {
  PodRecord& pod = PodOf(json::GetString(entry.request, "metadata.uid"), entry.ns, entry.name);
  pod.node = json::GetString(entry.request, "target.name");
  pod.assigned = entry.done;
}

void Record::TakePodDelete(const Entry& entry) {
  const json::Doc* grace = json::Key(&entry.request, "gracePeriodSeconds");
  bool force = grace != nullptr && grace->is_number_integer() && *grace == 0;
  if (entry.verb == "delete") return EndPod(entry, entry.response, entry.name, force);
  const json::Doc* items = json::Key(&entry.response, "items");
  if (items == nullptr || !items->is_array()) return;
  for (const json::Doc& pod : *items) EndPod(entry, pod, json::GetString(pod, "metadata.name"), force);
}

void Record::EndPod(const Entry& entry, const json::Doc& object, std::string_view name, bool at_once) {
  std::string uid = json::GetString(object, "metadata.uid");
  if (uid.empty()) uid = json::GetString(entry.request, "preconditions.uid");
  PodRecord& pod = PodOf(uid, entry.ns, std::string(name));
  if (pod.job.empty())
    Identify(pod, object);  // created before the log began, or by a request without an answer
  Earliest(pod.leaving, entry.received);
  // The API server deletes at once what no kubelet runs: pods without a node and terminal ones.
  const json::Doc* grace = json::Find(object, "metadata.deletionGracePeriodSeconds");
  bool gone = at_once || (grace != nullptr && *grace == 0) ||
              Terminal(json::GetString(object, "status.phase")) ||
              (object.contains("spec") && json::GetString(object, "spec.nodeName").empty());
  if (gone) Earliest(pod.ended, entry.received);
}

PodRecord& Record::PodOf(const std::string& uid, const std::string& ns, const std::string& name) {
  std::string key = ns + "/" + name;
  if (auto known = by_uid_.find(uid); !uid.empty() && known != by_uid_.end()) return pods_[known->second];
  if (auto named = by_name_.find(key); named != by_name_.end()) {
    PodRecord& pod = pods_[named->second];
    if (uid.empty() || pod.uid.empty()) {
      if (!uid.empty()) by_uid_[pod.uid = uid] = named->second;
      return pod;
    }
  }
  pods_.push_back({.ns = ns, .name = name, .uid = uid});
  by_name_[key] = pods_.size() - 1;
  if (!uid.empty()) by_uid_[uid] = pods_.size() - 1;
  return pods_.back();
}

void Record::Identify(PodRecord& pod, const json::Doc& object) const {
  kube::Meta meta = kube::ParseMeta(object);
  std::string job = meta.label(grouping_.job_label);
  const kube::OwnerRef* owner = meta.controller();
  if (owner != nullptr && !owner->uid.empty() && (!job.empty() || owner->kind.ends_with("Job"))) {
    pod.job = owner->uid;
    pod.job_name = pod.ns + "/" + owner->name;
  } else if (!job.empty()) {
    pod.job = pod.job_name = pod.ns + "/" + job;
  }
  pod.attempt = meta.label(api::kAttemptLabel);
  pod.role = meta.label(grouping_.role_label);
  pod.index = meta.label(grouping_.index_label);
  if (std::string node = json::GetString(object, "spec.nodeName"); !node.empty()) pod.node = node;
  Result<kube::PodNeed> need = kube::ParsePodNeed(object);
  if (need.ok()) {
    pod.requests = need->requests;
  } else {
    pod.request_error = need.error().message;
  }
}

void Record::TakeNode(const Entry& entry) {
  NodeRecord& node = nodes_[entry.name];
  const json::Doc* allocatable = json::Find(entry.request, "status.allocatable");
  if (entry.verb == "delete") return void(node.changes.push_back({entry.received, entry.done, {}}));
  if (allocatable == nullptr || !allocatable->is_object()) return;
  bool merge = entry.verb == "patch" && !node.changes.empty();
  kube::Resources now = merge ? node.changes.back().allocatable : kube::Resources();
  for (const auto& [name, amount] : allocatable->items()) {
    if (amount.is_null()) {
      now.erase(name);
    } else if (Result<kube::Amount> parsed = kube::ParseQuantity(amount); parsed.ok()) {
      now[name] = *parsed;
    }
  }
  if (node.changes.empty() || node.changes.back().allocatable != now)
    node.changes.push_back({entry.received, entry.done, now});
}

void Record::TakeJob(const Entry& entry) {
  if (entry.verb != "create") return;
  const json::Doc& object = entry.response.is_object() ? entry.response : entry.request;
  kube::Meta meta = kube::ParseMeta(object);
  JobRecord& job = jobs_[meta.uid.empty() ? entry.ns + "/" + meta.name : meta.uid];
  job.name = entry.ns + "/" + meta.name;
  job.submitted = entry.received;
  const json::Doc* spec = json::Key(&object, "spec");
  if (spec == nullptr || !spec->is_object()) return;
  int64_t size = 0;
  for (const auto& [field, roles] : spec->items()) {
    if (!field.ends_with("ReplicaSpecs") || !roles.is_object()) continue;
    for (const auto& [role, replica] : roles.items()) {
      // Bounded so that hostile counts can't overflow the sum.
      size += std::clamp<int64_t>(json::GetInt(replica, "replicas", 1), 0, 1'000'000);
    }
  }
  if (size > 0) job.size = size;
}

void Record::TakeGang(const Entry& entry) {
  if (!entry.subresource.empty() || entry.verb == "delete" || entry.verb == "deletecollection") return;
  const json::Doc* roles = json::Find(entry.request, "spec.roles");
  std::string uid = json::GetString(entry.request, "spec.job.uid");
  if (uid.empty() || roles == nullptr || !roles->is_array()) return;
  int64_t size = 0;
  for (const json::Doc& role : *roles) {
    int64_t count = json::GetInt(role, "count");
    size += std::clamp<int64_t>(json::GetInt(role, "minCount", count), 0, 1'000'000);
  }
  jobs_[uid].min_size = size;
}

}  // namespace lockstep::audit
