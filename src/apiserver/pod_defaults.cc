#include <array>

#include "apiserver/pod_rules.h"
#include "kube/model/quantity.h"

namespace lockstep::apiserver {

using json::Doc;

namespace {

constexpr const char* kContainerLists[] = {"initContainers", "containers"};
constexpr int64_t kTolerationSeconds = 300;
constexpr int kVolumeMode = 420;  // 0644

void Default(Doc& object, const char* key, Doc value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

// The tag decides: "latest" and none are pulled always. A digest is like any other tag.
std::string PullPolicy(const std::string& image) {
  size_t slash = image.find_last_of('/');
  std::string_view last = std::string_view(image).substr(slash == std::string::npos ? 0 : slash + 1);
  if (last.find('@') != std::string_view::npos) return "IfNotPresent";
  size_t colon = last.find(':');
  return colon == std::string_view::npos || last.substr(colon) == ":latest" ? "Always" : "IfNotPresent";
}

void SetProbeDefaults(Doc& container) {
  for (const char* name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    auto probe = container.find(name);
    if (probe == container.end() || !probe->is_object()) continue;
    Default(*probe, "timeoutSeconds", 1);
    Default(*probe, "periodSeconds", 10);
    Default(*probe, "successThreshold", 1);
    Default(*probe, "failureThreshold", 3);
  }
}

void SetPortDefaults(Doc& container, bool host_network) {
  auto ports = container.find("ports");
  if (ports == container.end() || !ports->is_array()) return;
  for (Doc& port : *ports) {
    if (!port.is_object()) continue;
    Default(port, "protocol", "TCP");
    if (host_network && port.contains("containerPort")) Default(port, "hostPort", port["containerPort"]);
  }
}

void SetRequestsFromLimits(Doc& container) {
  Default(container, "resources", Doc::object());
  Doc& resources = container["resources"];
  if (!resources.is_object()) return;
  auto limits = resources.find("limits");
  if (limits == resources.end() || !limits->is_object() || limits->empty()) return;
  if (!resources.contains("requests")) resources["requests"] = Doc::object();
  Doc& requests = resources["requests"];
  if (!requests.is_object()) return;
  for (const auto& [name, value] : limits->items()) {
    if (!requests.contains(name)) requests[name] = value;
  }
}

void SetEnvDefaults(Doc& container) {
  auto env = container.find("env");
  if (env == container.end() || !env->is_array()) return;
  for (Doc& variable : *env) {
    if (!variable.is_object()) continue;
    // The wire form leaves an empty value out.
    if (auto value = variable.find("value"); value != variable.end() && *value == Doc(""))
      variable.erase(value);
    auto source = variable.find("valueFrom");
    if (source == variable.end() || !source->is_object()) continue;
    auto field = source->find("fieldRef");
    if (field != source->end() && field->is_object()) Default(*field, "apiVersion", "v1");
  }
}

void SetContainerDefaults(Doc& container, bool host_network) {
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  Default(container, "imagePullPolicy", PullPolicy(json::GetString(container, "image")));
  SetRequestsFromLimits(container);
  SetPortDefaults(container, host_network);
  SetEnvDefaults(container);
  SetProbeDefaults(container);
}

void SetVolumeDefaults(Doc& spec) {
  auto volumes = spec.find("volumes");
  if (volumes == spec.end() || !volumes->is_array()) return;
  for (Doc& volume : *volumes) {
    if (!volume.is_object()) continue;
    for (const char* source : {"secret", "configMap", "downwardAPI", "projected"}) {
      auto found = volume.find(source);
      if (found != volume.end() && found->is_object()) Default(*found, "defaultMode", kVolumeMode);
    }
    if (auto path = volume.find("hostPath"); path != volume.end() && path->is_object())
      Default(*path, "type", "");
    if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = Doc::object();
  }
}

// requests and limits of cpu and memory decide; anything unreadable counts as absent (validation refuses it).
std::string QosClass(const Doc& spec) {
  bool any = false;
  bool guaranteed = true;
  for (const char* list : kContainerLists) {
    const Doc* containers = json::Find(spec, list);
    if (containers == nullptr) continue;
    for (const Doc& container : *containers) {
      for (const char* name : {"cpu", "memory"}) {
        const Doc* request = json::Key(json::Find(container, "resources.requests"), name);
        const Doc* limit = json::Key(json::Find(container, "resources.limits"), name);
        auto asked = request ? kube::ParseQuantity(*request) : Result<kube::Amount>(0);
        auto capped = limit ? kube::ParseQuantity(*limit) : Result<kube::Amount>(0);
        if (!asked.ok() || !capped.ok()) continue;
        any = any || *asked > 0 || *capped > 0;
        guaranteed = guaranteed && *capped > 0 && *asked == *capped;
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace

void SetPodDefaults(Doc& pod) {
  if (!pod.contains("spec")) pod["spec"] = Doc::object();
  Doc& spec = pod["spec"];
  Default(spec, "restartPolicy", "Always");
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "schedulerName", "default-scheduler");
  Default(spec, "enableServiceLinks", true);
  Default(spec, "securityContext", Doc::object());
  if (json::GetString(spec, "nodeName", "x").empty()) spec.erase("nodeName");
  bool host_network = json::GetBool(spec, "hostNetwork");
  for (const char* list : kContainerLists) {
    auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (Doc& container : *containers) {
      if (container.is_object()) SetContainerDefaults(container, host_network);
    }
  }
  SetVolumeDefaults(spec);
}

void AddDefaultTolerations(Doc& pod) {
  Doc& spec = pod["spec"];
  if (!spec.is_object()) return;
  Doc& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = Doc::array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool has = std::any_of(tolerations.begin(), tolerations.end(), [&](const Doc& toleration) {
      std::string effect = json::GetString(toleration, "effect");
      std::string own = json::GetString(toleration, "key");
      return (own == key || own.empty()) && (effect == "NoExecute" || effect.empty());
    });
    if (has) continue;
    tolerations.push_back({{"key", key},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", kTolerationSeconds}});
  }
}

void ResetPodStatus(Doc& pod) {
  pod["status"] = {{"phase", "Pending"}, {"qosClass", QosClass(pod["spec"])}};
  const Doc* gates = json::Find(pod, "spec.schedulingGates");
  if (gates == nullptr || gates->empty()) return;
  pod["status"]["conditions"] =
      Doc::array({{{"type", "PodScheduled"},
                   {"status", "False"},
                   {"reason", "SchedulingGated"},
                   {"message", "Scheduling is blocked due to non-empty scheduling gates"}}});
}

}  // namespace lockstep::apiserver
