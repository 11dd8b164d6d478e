#include "sim/picture.h"

#include <algorithm>
#include <charconv>

#include "api/labels.h"
#include "base/ascii.h"
#include "cluster/world.h"
#include "jobs/framework.h"
#include "jobs/pod.h"

namespace lockstep::sim {

namespace {

template <class Number>
Number ParseNumber(const std::string& text, Number fallback) {
  Number number = fallback;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : fallback;
}

bool IsJob(const kube::Resource& resource) { return jobs::FrameworkOf(resource) != nullptr; }

// What the training operator gives every pod of a role. Source: training-operator GetPodFromTemplate.
json::Doc MetadataOf(const jobs::Framework& framework, const json::Doc& job, const json::Doc& role,
                     std::string_view type) {
  json::Doc labels = json::Doc::object();
  const json::Doc* own = json::Find(role, "template.metadata.labels");
  if (own != nullptr && own->is_object()) labels = *own;
  labels[std::string(api::kOperatorNameLabel)] = jobs::OperatorName(framework);
  labels[std::string(api::kJobNameLabel)] = json::GetString(job, "metadata.name");
  labels[std::string(api::kReplicaTypeLabel)] = AsciiLower(type);
  return {{"namespace", json::GetString(job, "metadata.namespace")}, {"labels", std::move(labels)}};
}

// Workers beside a master wait for it in an init container. Source: training-operator, pkg/config init
// container.
void AddInitContainer(const jobs::Framework& framework, const json::Doc& roles, std::string_view type,
                      kube::PodNeed& need) {
  if (&framework.resource() != &kube::kPyTorchJobs || type != "Worker" || !roles.contains("Master")) return;
  for (const auto& [resource, amount] : {std::pair("cpu", "50m"), std::pair("memory", "10Mi")}) {
    kube::Amount& asked = need.requests[resource];
    asked = std::max(asked, *kube::ParseQuantity(amount));
  }
}

std::vector<RoleAsk> AsksOf(const jobs::Framework& framework, const json::Doc& job,
                            const kube::Resources& injected) {
  std::vector<RoleAsk> asks;
  const json::Doc* roles = jobs::RoleSpecs(framework.kind(), job);
  if (roles == nullptr) return {};
  for (const auto& [key, role] : roles->items()) {
    const json::Doc* pod_spec = json::Find(role, "template.spec");
    if (pod_spec == nullptr) return {};
    std::string type(jobs::TypeOf(framework.kind(), key));
    json::Doc pod = {{"spec", *pod_spec}, {"metadata", MetadataOf(framework, job, role, type)}};
    Result<kube::PodNeed> need = kube::ParsePodNeed(pod);
    if (!need.ok()) return {};
    kube::AddTo(need->requests, injected);
    AddInitContainer(framework, *roles, type, *need);
    kube::QuotaCharge charge = kube::ChargeOf(pod, need->requests);
    asks.push_back({std::move(type), static_cast<int32_t>(json::GetInt(role, "replicas", 1)),
                    *std::move(need), kube::ParseMeta(pod).labels, std::move(charge)});
  }
  return asks;
}

// `before`: the same job as it was, or null. What it asked for is kept, also in memory, while its spec is the
// same.
SeenJob ReadJob(const kube::Resource& resource, const json::DocPtr& object, SeenJob* before,
                const kube::Resources& injected) {
  SeenJob job;
  job.meta = kube::ParseMeta(*object);
  job.object = object;
  job.resource = &resource;
  job.succeeded = job.is_true("Succeeded");
  job.failed = job.is_true("Failed");
  std::string manager = json::GetString(*object, "spec.runPolicy.managedBy");
  job.ours = manager.empty() || manager == "kubeflow.org/training-operator";
  job.suspended = json::GetBool(*object, "spec.runPolicy.suspend");
  job.gang = job.meta.ns + "/" + api::GangName(resource.kind, job.meta.name);
  bool same_spec = before != nullptr && before->meta.uid == job.meta.uid && job.meta.generation != 0 &&
                   before->meta.generation == job.meta.generation;
  job.asks = same_spec ? std::move(before->asks) : AsksOf(*jobs::FrameworkOf(resource), *object, injected);
  return job;
}

// The pod is on the same node as before and holds the same.
bool HoldsTheSame(const kube::Pod& a, const kube::Pod& b) {
  return a.meta.uid == b.meta.uid && a.node_name == b.node_name &&
         kube::HoldsResources(a) == kube::HoldsResources(b) &&
         a.meta.deleted_at.has_value() == b.meta.deleted_at.has_value() && a.meta.labels == b.meta.labels &&
         a.nominated_node == b.nominated_node && a.need == b.need;
}

// It is there on a cluster without jobs too.
bool IsPermanent(const kube::Pod& pod) {
  const kube::OwnerRef* owner = pod.meta.controller();
  return owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node");
}

bool TakesTheSame(const kube::Node& a, const kube::Node& b) {
  return a.unschedulable == b.unschedulable && a.ready() == b.ready() && a.taints == b.taints &&
         a.allocatable == b.allocatable && a.meta.labels == b.meta.labels && a.meta.uid == b.meta.uid &&
         a.meta.deleted_at.has_value() == b.meta.deleted_at.has_value();
}

}  // namespace

const json::Doc* SeenJob::condition(std::string_view type) const {
  const json::Doc* conditions = json::Find(*object, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const json::Doc& one : *conditions) {
    if (json::GetString(one, "type") == type) return &one;
  }
  return nullptr;
}

bool SeenJob::is_true(std::string_view type) const {
  const json::Doc* found = condition(type);
  return found != nullptr && json::GetString(*found, "status") == "True";
}

std::string SeenJob::state() const {
  const json::Doc* conditions = json::Find(*object, "status.conditions");
  if (conditions == nullptr || !conditions->is_array() || conditions->empty()) return "";
  return json::GetString(conditions->back(), "type");
}

std::vector<const kube::Resource*> PictureResources() {
  std::vector<const kube::Resource*> resources = {&kube::kNodes,     &kube::kPods,  &kube::kServices,
                                                  &kube::kEvents,    &kube::kGangs, &kube::kResourceQuotas,
                                                  &kube::kDaemonSets};
  for (const jobs::Framework* framework : jobs::AllFrameworks()) resources.push_back(&framework->resource());
  return resources;
}

void Picture::TakePod(const json::Doc& object, const std::string& key) {
  SeenPod seen;
  Result<kube::Pod> pod = kube::ParsePod(object);
  if (!pod.ok()) return;
  seen.pod = *std::move(pod);
  const kube::Meta& meta = seen.pod.meta;
  std::string job = meta.label(api::kJobNameLabel);
  if (!job.empty()) {
    seen.job = meta.ns + "/" + job;
    seen.role = meta.label(api::kReplicaTypeLabel);
    seen.index = ParseNumber<int32_t>(meta.label(api::kReplicaIndexLabel), -1);
    seen.attempt = ParseNumber<int64_t>(meta.label(api::kAttemptLabel), 0);
  }
  if (const kube::OwnerRef* owner = meta.controller()) seen.owner_uid = owner->uid;
  auto known = pods.find(key);
  if (known == pods.end() || !HoldsTheSame(known->second.pod, seen.pod)) {
    ++seats_version;
    if (IsPermanent(seen.pod)) ++nodes_version;
  }
  const SeenPod& stored = pods.insert_or_assign(key, std::move(seen)).first->second;
  if (!stored.job.empty()) pods_of_[stored.job][key] = &stored;
}

void Picture::TakeNode(const json::Doc& object, const std::string& key, bool gone) {
  Result<kube::Node> node = kube::ParseNode(object);
  auto known = nodes.find(key);
  bool there = !gone && node.ok();
  bool same = there ? known != nodes.end() && TakesTheSame(known->second, *node) : known == nodes.end();
  if (!same) ++nodes_version, ++seats_version;
  if (there) {
    nodes.insert_or_assign(key, *std::move(node));
  } else {
    nodes.erase(key);
  }
}

void Picture::TakeJob(const kube::Resource& resource, const json::DocPtr& object, const std::string& key) {
  auto known = jobs.find(key);
  SeenJob* before = known == jobs.end() || known->second.resource != &resource ? nullptr : &known->second;
  bool finished = before != nullptr && before->finished();
  int64_t generation = before == nullptr ? 0 : before->meta.generation;
  SeenJob job = ReadJob(resource, object, before, injected);
  if (before == nullptr || finished != job.finished() || generation != job.meta.generation) ++seats_version;
  jobs.insert_or_assign(key, std::move(job));
}

void Picture::TakeGang(const json::Doc& object, const std::string& key) {
  Result<api::Gang> gang = api::ParseGang(object);
  if (!gang.ok()) return;
  if (gang->status.attempt > 0) {
    // Decided when the phase began: writes of one decision may arrive in any order.
    first_placed.try_emplace(gang->meta.ns + "/" + gang->spec.job.name,
                             gang->status.phase_since.value_or(gang->spec.queued_at));
  }
  gangs.insert_or_assign(key, *std::move(gang));
}

void Picture::Take(const kube::Resource& resource, const json::DocPtr& object, bool gone) {
  std::string key = kube::KeyOf(*object);
  if (&resource == &kube::kPods) {
    if (gone) {
      auto found = pods.find(key);
      if (found != pods.end()) {
        ++seats_version;
        if (IsPermanent(found->second.pod)) ++nodes_version;
        pods_of_[found->second.job].erase(key);
        pods.erase(found);
      }
    } else {
      TakePod(*object, key);
    }
  } else if (&resource == &kube::kNodes) {
    TakeNode(*object, key, gone);
  } else if (&resource == &kube::kGangs) {
    ++seats_version;
    if (gone) {
      gangs.erase(key);
    } else {
      TakeGang(*object, key);
    }
  } else if (&resource == &kube::kServices) {
    if (gone) {
      services.erase(key);
    } else {
      services.insert_or_assign(key, kube::ParseMeta(*object));
    }
  } else if (&resource == &kube::kDaemonSets) {
    Result<kube::DaemonSet> set = kube::ParseDaemonSet(*object);
    ++nodes_version, ++seats_version;
    if (gone || !set.ok()) {
      daemon_sets.erase(key);
    } else {
      daemon_sets.insert_or_assign(key, *std::move(set));
    }
  } else if (&resource == &kube::kEvents) {
    if (!gone) events.insert_or_assign(key, object);
  } else if (&resource == &kube::kResourceQuotas) {
    if (gone) {
      quotas.erase(key);
    } else {
      quotas.insert_or_assign(key, kube::ParseResourceQuota(*object));
    }
  } else if (IsJob(resource)) {
    if (gone) {
      ++seats_version;
      jobs.erase(key);
    } else {
      TakeJob(resource, object, key);
    }
  }
  ++version;
  for (const Listener& listener : listeners_) listener({&resource, key, gone});
}

const SeenJob* Picture::FindJob(const std::string& key) const {
  auto found = jobs.find(key);
  return found == jobs.end() ? nullptr : &found->second;
}

const api::Gang* Picture::GangOf(const SeenJob& job) const {
  auto found = gangs.find(job.gang);
  if (found == gangs.end() || found->second.spec.job.uid != job.meta.uid) return nullptr;
  return &found->second;
}

std::vector<const SeenPod*> Picture::PodsOf(const std::string& job_key) const {
  std::vector<const SeenPod*> found;
  auto keys = pods_of_.find(job_key);
  if (keys == pods_of_.end()) return found;
  for (const auto& [key, pod] : keys->second) found.push_back(pod);
  return found;
}

}  // namespace lockstep::sim
