// What the writes of an audit log say.
#include <algorithm>

#include "audit/record.h"

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

void Record::Take(const Entry& entry) {
  Cover(entry.received, entry.done);
  CountWrite(entry);
  if (entry.dry_run || !entry.ok()) return;
  if (entry.group.empty() && entry.resource == "pods") return TakePod(entry);
  if (entry.group.empty() && entry.resource == "nodes") return TakeNode(entry);
  if (entry.subresource.empty()) TakeOwner(entry);
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

// A job counts as it was created, a Gang or PodGroup as it was last written.
void Record::TakeOwner(const Entry& entry) {
  bool job = entry.group == "kubeflow.org" || (entry.resource == "jobs" && entry.group.starts_with("batch"));
  bool group = IsGroup(entry.resource) && entry.verb != "delete" && entry.verb != "deletecollection";
  if (job ? entry.verb != "create" : !group) return;
  const json::Doc& object = job && entry.response.is_object() ? entry.response : entry.request;
  std::optional<WallTime> submitted;
  if (entry.verb == "create") submitted = entry.received;
  std::string name = json::GetString(object, "metadata.name", entry.name);
  TakeOwner(entry.resource, object, entry.ns, name, submitted);
}

}  // namespace lockstep::audit
