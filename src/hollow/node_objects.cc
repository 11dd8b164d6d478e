#include "hollow/node_objects.h"

#include <cstdio>

#include "base/hash.h"

namespace lockstep::hollow {

namespace {

using json::Doc;

constexpr int kLeaseSeconds = 40;  // as a kubelet's

Doc Quantities(const kube::Resources& resources) {
  Doc doc = Doc::object();
  for (const auto& [name, amount] : resources) {
    doc[name] = kube::FormatQuantity(amount, /*binary=*/name == "memory" || name == "ephemeral-storage");
  }
  return doc;
}

Doc Condition(const char* type, const char* status, const char* reason, const char* message, WallTime now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastHeartbeatTime", FormatTime(now)},
          {"lastTransitionTime", FormatTime(now)}};
}

Doc StatusOf(const NodeFacts& node, WallTime now) {
  Doc status;
  status["capacity"] = status["allocatable"] = Quantities(node.shape.allocatable);
  status["addresses"] = Doc::array({{{"type", "InternalIP"}, {"address", node.host_ip}},
                                    {{"type", "Hostname"}, {"address", node.shape.name}}});
  status["conditions"] = Doc::array(
      {Condition("MemoryPressure", "False", "KubeletHasSufficientMemory",
                 "kubelet has sufficient memory available", now),
       Condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", now),
       Condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available",
                 now),
       Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)});
  std::string machine = StableUuid(node.shape.name, 0);
  status["nodeInfo"] = {{"machineID", machine},        {"systemUUID", machine},
                        {"bootID", node.boot_id},      {"architecture", "amd64"},
                        {"operatingSystem", "linux"},  {"kernelVersion", "6.1.0"},
                        {"osImage", "hollow"},         {"containerRuntimeVersion", "hollow://1.0"},
                        {"kubeletVersion", "v1.34.4"}, {"kubeProxyVersion", ""}};
  return status;
}

Doc MetadataOf(const NodeFacts& node) {
  Doc labels = {{"kubernetes.io/hostname", node.shape.name},
                {"kubernetes.io/arch", "amd64"},
                {"kubernetes.io/os", "linux"}};
  for (const auto& [key, value] : node.shape.labels) labels[key] = value;
  return {{"labels", std::move(labels)}};
}

Doc TaintsOf(const NodeFacts& node) {
  Doc taints = Doc::array();
  for (const kube::Taint& taint : node.shape.taints) {
    Doc doc = {{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) doc["value"] = taint.value;
    taints.push_back(std::move(doc));
  }
  return taints;
}

}  // namespace

Doc NodeObject(const NodeFacts& node, WallTime now) {
  Doc object = {
      {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", MetadataOf(node)}, {"spec", Doc::object()}};
  object["metadata"]["name"] = node.shape.name;
  if (!node.shape.taints.empty()) object["spec"]["taints"] = TaintsOf(node);
  object["status"] = StatusOf(node, now);
  return object;
}

Doc NodeMetadataPatch(const NodeFacts& node) {
  Doc patch = {{"metadata", MetadataOf(node)}};
  if (!node.shape.taints.empty()) patch["spec"] = {{"taints", TaintsOf(node)}};
  return patch;
}

Doc NodeStatusPatch(const NodeFacts& node, WallTime now) { return {{"status", StatusOf(node, now)}}; }

Doc LeaseObject(const std::string& node, WallTime now) {
  return {{"apiVersion", "coordination.k8s.io/v1"},
          {"kind", "Lease"},
          {"metadata", {{"name", node}, {"namespace", "kube-node-lease"}}},
          {"spec",
           {{"holderIdentity", node},
            {"leaseDurationSeconds", kLeaseSeconds},
            {"renewTime", FormatMicroTime(now)}}}};
}

Doc LeaseRenewal(WallTime now) { return {{"spec", {{"renewTime", FormatMicroTime(now)}}}}; }

std::string StableUuid(std::string_view what, uint64_t number) {
  uint64_t high = StableHash(what, 0xcbf29ce484222325u + number);
  uint64_t low = StableHash(what, high);
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16) & 0xffff, static_cast<unsigned>(high) & 0xfff,
                static_cast<unsigned>(low >> 52), static_cast<unsigned long long>(low & 0xffffffffffffu));
  return text;
}

}  // namespace lockstep::hollow
