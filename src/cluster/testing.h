#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/nodes.h"

// Builders for tests of cluster/, gang/ and engine/.
namespace lockstep::cluster::testing {

// "4 CPUs", "2 GPUs" and so on, to be added up: Gpu(8) + Cpu(4).
inline kube::Resources Cpu(int64_t cpus) { return {{"cpu", cpus * 1000}}; }
inline kube::Resources Gpu(int64_t gpus) { return {{"nvidia.com/gpu", gpus * 1000}}; }
inline kube::Resources MemoryGi(int64_t gib) { return {{"memory", (gib << 30) * 1000}}; }
inline kube::Resources Pods(int64_t pods) { return {{"pods", pods * 1000}}; }
inline kube::Resources operator+(kube::Resources a, const kube::Resources& b) {
  kube::AddTo(a, b);
  return a;
}

// A ready node; room for 110 pods unless `allocatable` says otherwise.
inline kube::Node MakeNode(std::string name, kube::Resources allocatable, kube::Labels labels = {},
                           std::vector<kube::Taint> taints = {}) {
  kube::Node node;
  node.meta.name = std::move(name);
  node.meta.labels = std::move(labels);
  node.taints = std::move(taints);
  node.allocatable = std::move(allocatable);
  node.allocatable.try_emplace("pods", 110'000);
  node.conditions.push_back({"Ready", "True", "KubeletReady"});
  return node;
}

inline kube::PodNeed MakeNeed(kube::Resources requests) {
  kube::PodNeed need;
  need.requests = std::move(requests);
  return need;
}

inline kube::PodNeed WithSelector(kube::PodNeed need, std::string key, std::string value) {
  need.nodes.all.push_back({std::move(key), kube::SelectorOp::kIn, {std::move(value)}});
  return need;
}

inline kube::PodNeed Tolerating(kube::PodNeed need, std::string key) {
  need.tolerations.push_back({.key = std::move(key), .op = "Exists"});
  return need;
}

inline kube::PodNeed WithHostPort(kube::PodNeed need, int32_t port, std::string ip = "") {
  need.host_ports.push_back({std::move(ip), "TCP", port});
  return need;
}

// Pods with this label, in the namespace "default".
inline kube::PodQuery Labelled(std::string key, std::string value) {
  kube::PodQuery query;
  query.labels.requirements.push_back({std::move(key), kube::SelectorOp::kIn, {std::move(value)}});
  query.namespaces = {"default"};
  return query;
}

inline kube::PodNeed Near(kube::PodNeed need, kube::PodQuery pods, std::string topology_key) {
  need.rules.affinity.push_back({std::move(pods), std::move(topology_key)});
  return need;
}

inline kube::PodNeed Apart(kube::PodNeed need, kube::PodQuery pods, std::string topology_key) {
  need.rules.anti_affinity.push_back({std::move(pods), std::move(topology_key)});
  return need;
}

inline kube::PodNeed Spread(kube::PodNeed need, kube::PodQuery pods, std::string topology_key,
                            int32_t max_skew = 1) {
  need.rules.spread.push_back(
      {.pods = std::move(pods), .topology_key = std::move(topology_key), .max_skew = max_skew});
  return need;
}

// Who a pod of `need` is, in the namespace "default".
inline PodIdentityPtr Who(std::string name, kube::Labels labels, const kube::PodNeed& need = {}) {
  return MakeIdentity("default", std::move(labels), need.rules, std::move(name));
}

// node-0 .. node-<count - 1>, all alike.
inline Nodes MakeNodes(int count, const kube::Resources& allocatable) {
  Nodes nodes;
  for (int i = 0; i < count; ++i) nodes.Upsert(MakeNode("node-" + std::to_string(i), allocatable));
  return nodes;
}

// Some pod with these requests, on the node.
inline void Busy(Nodes& nodes, std::string_view node, const kube::Resources& requests) {
  nodes.Occupy(*nodes.Find(node), nodes.Class(MakeNeed(requests)));
}

}  // namespace lockstep::cluster::testing
