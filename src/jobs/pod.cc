#include "jobs/pod.h"

#include <cctype>

#include "api/labels.h"
#include "base/ascii.h"
#include "base/hash.h"
#include "jobs/framework.h"

namespace lockstep::jobs {

namespace {

constexpr size_t kMaxName = 63;

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
    AppendEnv(container,
              json::Doc::array({{{"name", api::kAttemptEnv}, {"value", std::to_string(attempt)}}}));
  }
}

json::Doc& ObjectAt(json::Doc& parent, const char* key) {
  json::Doc& child = parent[key];
  if (!child.is_object()) child = json::Doc::object();
  return child;
}

// The port of this name in a container; null if there is none.
const json::Doc* FindPort(const json::Doc& container, std::string_view name) {
  const json::Doc* ports = json::Key(&container, "ports");
  if (ports == nullptr || !ports->is_array()) return nullptr;
  auto found =
      std::ranges::find_if(*ports, [&](const auto& port) { return json::GetString(port, "name") == name; });
  return found == ports->end() ? nullptr : &*found;
}

// The kind's own container; null if there is none.
const json::Doc* OwnContainer(const json::Doc& pod_spec, const Kind& kind) {
  const json::Doc* containers = json::Key(&pod_spec, "containers");
  if (containers == nullptr || !containers->is_array()) return nullptr;
  auto found = std::ranges::find_if(
      *containers, [&](const auto& one) { return json::GetString(one, "name") == kind.container; });
  return found == containers->end() ? nullptr : &*found;
}

json::Doc SpecOf(const Role& role) {
  const json::Doc* spec = json::Key(role.pod_template.get(), "spec");
  return spec != nullptr && spec->is_object() ? *spec : json::Doc::object();
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

void StampPod(json::Doc& pod, int64_t attempt) {
  json::Doc& metadata = ObjectAt(pod, "metadata");
  metadata["name"] = PodName(json::GetString(metadata, "name"), attempt);
  ObjectAt(metadata, "labels")[std::string(api::kAttemptLabel)] = std::to_string(attempt);
  json::Doc& spec = ObjectAt(pod, "spec");
  AppendAttempt(spec, "initContainers", attempt);
  AppendAttempt(spec, "containers", attempt);
  json::Doc& annotations = ObjectAt(metadata, "annotations");
  for (auto [key, value] :
       {std::pair(api::kSafeToEvictAnnotation, "false"), std::pair(api::kDoNotDisruptAnnotation, "true")}) {
    if (!annotations.contains(key)) annotations[std::string(key)] = value;
  }
}

namespace {

// Every term of the required node affinity gets the node's name: terms are alternatives. Source: the
// DaemonSet controller's ReplaceDaemonSetPodNodeNameNodeAffinity.
void RequireNode(json::Doc& spec, const std::string& node) {
  json::Doc& required = ObjectAt(ObjectAt(ObjectAt(spec, "affinity"), "nodeAffinity"),
                                 "requiredDuringSchedulingIgnoredDuringExecution");
  json::Doc& terms = required["nodeSelectorTerms"];
  if (!terms.is_array() || terms.empty()) terms = json::Doc::array({json::Doc::object()});
  for (json::Doc& term : terms) {
    json::Doc& fields = term["matchFields"];
    if (!fields.is_array()) fields = json::Doc::array();
    fields.push_back({{"key", "metadata.name"}, {"operator", "In"}, {"values", json::Doc::array({node})}});
  }
}

}  // namespace

void SendBy(json::Doc& pod, api::Way way, const std::string& node) {
  json::Doc& spec = ObjectAt(pod, "spec");
  if (way == api::Way::kAssign) {
    if (!node.empty()) spec["nodeName"] = node;
    return;
  }
  spec.erase("nodeName");
  if (way == api::Way::kBind) {
    spec["schedulerName"] = api::kSchedulerName;
    return;
  }
  if (json::GetString(spec, "schedulerName") == api::kSchedulerName)
    spec.erase("schedulerName");  // nobody would
  if (!node.empty()) RequireNode(spec, node);
}

std::string ReplicaName(const Job& job, const Role& role, int32_t index) {
  return job.meta.name + "-" + AsciiLower(role.type) + "-" + std::to_string(index);
}

std::string ServiceName(const Job& job, const Role& role, int32_t index) {
  return PodName(ReplicaName(job, role, index), 1);
}

std::string OperatorName(const Framework& framework) {
  return AsciiLower(framework.resource().kind) + "-controller";
}

json::Doc ReplicaLabels(const Job& job, const Role& role, int32_t index) {
  return {{api::kOperatorNameLabel, OperatorName(*job.framework)},
          {api::kJobNameLabel, job.meta.name},
          {api::kReplicaTypeLabel, AsciiLower(role.type)},
          {api::kReplicaIndexLabel, std::to_string(index)}};
}

std::string RoleSelector(const Job& job, const Role& role) {
  std::string text(api::kJobNameLabel);
  text.append("=").append(job.meta.name).append(",").append(api::kOperatorNameLabel).append("=");
  text.append(OperatorName(*job.framework)).append(",").append(api::kReplicaTypeLabel).append("=");
  return text + AsciiLower(role.type);
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
  pod["spec"] = SpecOf(role);
  AddDefaultPort(pod["spec"], job.framework->kind());
  pod["spec"]["restartPolicy"] = role.restart_policy == "ExitCode" ? "Never" : role.restart_policy;
  return pod;
}

void AppendEnv(json::Doc& container, const json::Doc& variables) {
  json::Doc& env = container["env"];
  if (!env.is_array()) env = json::Doc::array();
  env.insert(env.end(), variables.begin(), variables.end());
}

void AddDefaultPort(json::Doc& pod_spec, const Kind& kind) {
  auto containers = pod_spec.find("containers");
  if (containers == pod_spec.end() || !containers->is_array() || containers->empty()) return;
  json::Doc* target = &containers->front();
  for (json::Doc& container : *containers) {
    if (json::GetString(container, "name") != kind.container) continue;
    target = &container;
    break;
  }
  if (!target->is_object() || FindPort(*target, kind.port_name) != nullptr) return;
  json::Doc& ports = (*target)["ports"];
  if (!ports.is_array()) ports = json::Doc::array();
  ports.push_back({{"name", kind.port_name}, {"containerPort", kind.port}});
}

int64_t PortOf(const Role& role, const Kind& kind) {
  const json::Doc* spec = json::Key(role.pod_template.get(), "spec");
  const json::Doc* container = spec != nullptr ? OwnContainer(*spec, kind) : nullptr;
  const json::Doc* port = container != nullptr ? FindPort(*container, kind.port_name) : nullptr;
  return port != nullptr ? json::GetInt(*port, "containerPort", kind.port) : kind.port;
}

json::Doc ServiceFor(const Job& job, const Role& role, int32_t index) {
  json::Doc spec = SpecOf(role);
  AddDefaultPort(spec, job.framework->kind());
  json::Doc ports = json::Doc::array();
  std::set<std::string> names;
  std::set<int64_t> numbers;
  const json::Doc* container = OwnContainer(spec, job.framework->kind());
  const json::Doc* list = container != nullptr ? json::Key(container, "ports") : nullptr;
  for (const json::Doc& port : list != nullptr && list->is_array() ? *list : json::Doc::array()) {
    std::string name = json::GetString(port, "name");
    int64_t number = json::GetInt(port, "containerPort");
    if (name.empty() || !names.insert(name).second || !numbers.insert(number).second) continue;
    ports.push_back({{"name", name}, {"port", number}});
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

bool IsStamped(const json::Doc& pod) {
  const json::Doc* containers = json::Find(pod, "spec.containers");
  if (containers == nullptr || !containers->is_array()) return false;
  for (const json::Doc& container : *containers) {
    const json::Doc* env = json::Find(container, "env");
    if (env == nullptr || !env->is_array()) continue;
    for (const json::Doc& variable : *env) {
      if (json::GetString(variable, "name") == api::kAttemptEnv) return true;
    }
  }
  return false;
}

}  // namespace lockstep::jobs
