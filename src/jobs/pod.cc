#include "jobs/pod.h"

#include <cctype>

#include "api/labels.h"
#include "base/hash.h"
#include "jobs/framework.h"

namespace lockstep::jobs {

namespace {

constexpr size_t kMaxName = 63;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Ten hexadecimal digits.
std::string ShortHash(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  uint64_t hash = StableHash(text);
  std::string digits;
  for (int i = 0; i < 10; ++i, hash >>= 4) digits += kDigits[hash & 15];
  return digits;
}

void AppendAttempt(json::Doc& spec, const char* list, int64_t attempt) {
  auto containers = spec.find(list);
  if (containers == spec.end() || !containers->is_array()) return;
  for (json::Doc& container : *containers) {
    if (!container.is_object()) continue;
    json::Doc& env = container["env"];
    if (!env.is_array()) env = json::Doc::array();
    env.push_back({{"name", api::kAttemptEnv}, {"value", std::to_string(attempt)}});
  }
}

json::Doc& ObjectAt(json::Doc& parent, const char* key) {
  json::Doc& child = parent[key];
  if (!child.is_object()) child = json::Doc::object();
  return child;
}

}  // namespace

std::string PodName(const std::string& upstream_name, int64_t attempt) {
  std::string tail = attempt > 1 ? "-r" + std::to_string(attempt) : "";
  if (upstream_name.size() + tail.size() <= kMaxName) return upstream_name + tail;
  tail = "-" + ShortHash(upstream_name) + tail;
  std::string prefix = upstream_name.substr(0, kMaxName - tail.size());
  while (!prefix.empty() && (prefix.back() == '-' || prefix.back() == '.')) prefix.pop_back();
  return prefix + tail;
}

void StampPod(json::Doc& pod, int64_t attempt, const std::string& node) {
  json::Doc& metadata = ObjectAt(pod, "metadata");
  metadata["name"] = PodName(json::GetString(metadata, "name"), attempt);
  ObjectAt(metadata, "labels")[std::string(api::kAttemptLabel)] = std::to_string(attempt);
  json::Doc& spec = ObjectAt(pod, "spec");
  AppendAttempt(spec, "initContainers", attempt);
  AppendAttempt(spec, "containers", attempt);
  if (!node.empty()) spec["nodeName"] = node;
}

std::string ReplicaName(const Job& job, const Role& role, int32_t index) {
  return job.meta.name + "-" + Lower(role.type) + "-" + std::to_string(index);
}

std::string ServiceName(const Job& job, const Role& role, int32_t index) {
  return PodName(ReplicaName(job, role, index), 1);
}

std::string OperatorName(const Framework& framework) {
  return Lower(framework.resource().kind) + "-controller";
}

json::Doc ReplicaLabels(const Job& job, const Role& role, int32_t index) {
  return {{api::kOperatorNameLabel, OperatorName(*job.framework)},
          {api::kJobNameLabel, job.meta.name},
          {api::kReplicaTypeLabel, Lower(role.type)},
          {api::kReplicaIndexLabel, std::to_string(index)}};
}

std::string RoleSelector(const Job& job, const Role& role) {
  std::string text(api::kJobNameLabel);
  text.append("=").append(job.meta.name).append(",").append(api::kOperatorNameLabel).append("=");
  text.append(OperatorName(*job.framework)).append(",").append(api::kReplicaTypeLabel).append("=");
  return text + Lower(role.type);
}

json::Doc OwnerReferences(const Job& job) {
  json::Doc owner = {{"apiVersion", job.framework->resource().ApiVersion()},
                     {"kind", job.framework->resource().kind},
                     {"name", job.meta.name},
                     {"uid", job.meta.uid},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};
  return json::Doc::array({std::move(owner)});
}

json::Doc PodOfTemplate(const Job& job, const Role& role, int32_t index, bool master) {
  json::Doc pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  json::Doc& metadata = pod["metadata"] = json::Doc::object();
  // Of the template's metadata a pod takes these and nothing else, as upstream's GetPodFromTemplate.
  const json::Doc* own = json::Key(role.pod_template.get(), "metadata");
  for (const char* key : {"labels", "annotations", "finalizers"}) {
    const json::Doc* value = json::Key(own, key);
    if (value != nullptr && !value->is_null() && !value->empty()) metadata[key] = *value;
  }
  metadata["name"] = ReplicaName(job, role, index);
  metadata["namespace"] = job.meta.ns;
  metadata["ownerReferences"] = OwnerReferences(job);
  json::Doc& labels = ObjectAt(metadata, "labels");
  labels.update(ReplicaLabels(job, role, index));
  if (master) labels[std::string(api::kJobRoleLabel)] = "master";
  const json::Doc* spec = json::Key(role.pod_template.get(), "spec");
  pod["spec"] = spec != nullptr && spec->is_object() ? *spec : json::Doc::object();
  pod["spec"]["restartPolicy"] = role.restart_policy == "ExitCode" ? "Never" : role.restart_policy;
  return pod;
}

json::Doc HeadlessService(const Job& job, const Role& role, int32_t index, const json::Doc& pod,
                          std::string_view container) {
  json::Doc ports = json::Doc::array();
  std::set<std::string> names;
  std::set<int64_t> numbers;
  const json::Doc* containers = json::Find(pod, "spec.containers");
  for (const json::Doc& one : containers != nullptr ? *containers : json::Doc::array()) {
    if (json::GetString(one, "name") != container) continue;
    const json::Doc* list = json::Key(&one, "ports");
    if (list == nullptr || !list->is_array()) break;
    for (const json::Doc& port : *list) {
      std::string name = json::GetString(port, "name");
      int64_t number = json::GetInt(port, "containerPort");
      if (name.empty() || !names.insert(name).second || !numbers.insert(number).second) continue;
      ports.push_back({{"name", name}, {"port", number}});
    }
    break;
  }
  json::Doc labels = ReplicaLabels(job, role, index);
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata",
           {{"name", ServiceName(job, role, index)},
            {"namespace", job.meta.ns},
            {"labels", labels},
            {"ownerReferences", OwnerReferences(job)}}},
          {"spec", {{"clusterIP", "None"}, {"selector", std::move(labels)}, {"ports", std::move(ports)}}}};
}

}  // namespace lockstep::jobs
