#include "kube/model/daemon_set.h"

namespace lockstep::kube {

namespace {

void Tolerate(std::vector<Toleration>& tolerations, std::string key, std::string effect) {
  tolerations.push_back({.key = "node.kubernetes.io/" + std::move(key),
                         .op = "Exists",
                         .value = "",
                         .effect = std::move(effect),
                         .seconds = std::nullopt});
}

}  // namespace

Result<DaemonSet> ParseDaemonSet(const json::Doc& object) {
  DaemonSet set;
  set.meta = ParseMeta(object);
  const json::Doc* pod_template = object.is_object() ? json::Find(object, "spec.template") : nullptr;
  if (pod_template == nullptr || !pod_template->is_object()) return Error{"spec.template: must be an object"};
  json::Doc pod = *pod_template;
  if (!pod.contains("metadata") || !pod["metadata"].is_object()) pod["metadata"] = json::Doc::object();
  pod["metadata"]["namespace"] = set.meta.ns;
  Result<PodNeed> need = ParsePodNeed(pod);
  if (!need.ok()) return Error{"spec.template." + need.error().message};
  set.labels = ParseMeta(pod).labels;
  set.need = *std::move(need);
  set.need.nodes.node = json::GetString(pod, "spec.nodeName");
  std::vector<Toleration>& tolerations = set.need.tolerations;
  Tolerate(tolerations, "not-ready", "NoExecute");
  Tolerate(tolerations, "unreachable", "NoExecute");
  for (const char* key : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"})
    Tolerate(tolerations, key, "NoSchedule");
  if (json::GetBool(pod, "spec.hostNetwork")) Tolerate(tolerations, "network-unavailable", "NoSchedule");
  return set;
}

bool BelongsOn(const DaemonSet& set, const std::string& node_name, const Labels& labels,
               const std::vector<Taint>& taints) {
  return set.need.nodes.Matches(node_name, labels) &&
         FirstUntolerated(taints, set.need.tolerations) == nullptr;
}

}  // namespace lockstep::kube
