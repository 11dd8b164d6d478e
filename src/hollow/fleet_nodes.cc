// The nodes' half of Fleet: registration, leases, and what happens to machines.
#include <algorithm>

#include "hollow/fleet.h"

namespace lockstep::hollow {

namespace {

using json::Doc;

constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

kube::Request NodeRequest(kube::Verb verb, const std::string& name) {
  kube::Request request;
  request.verb = verb;
  request.resource = &kube::kNodes;
  request.name = name;
  return request;
}

}  // namespace

HollowNode* Fleet::FindNode(const std::string& name) {
  auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Fleet::NodeNames() const {
  std::vector<std::string> names;
  names.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

const kubelet::Usage* Fleet::ProcessUsage(const std::string& name) const {
  auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second->processes;
}

void Fleet::AddNodes(const NodeSpec& spec) {
  for (int64_t i = 0; i < spec.count; ++i) {
    std::string name = spec.name_prefix + std::to_string(spec.first + i);
    if (nodes_.contains(name)) continue;
    NodeFacts facts;
    facts.shape = {name, spec.labels, spec.taints, spec.allocatable};
    facts.shape.labels["kubernetes.io/hostname"] = name;
    facts.shape.allocatable.emplace("pods", 110 * 1000);
    facts.host_ip = HostIp(next_node_index_);
    facts.boot_id = StableUuid(name, 1);
    auto node = std::make_unique<HollowNode>(api_.loop(), std::move(facts), next_node_index_++);
    node->api_taints = spec.taints;
    HollowNode& added = *node;
    nodes_.emplace(name, std::move(node));
    Register(added);
    if (options_.leases) {
      // Spread over the period, so that thousands of nodes do not renew at once.
      int64_t spread = options_.lease_period.count() * (added.index % 997) / 997;
      ScheduleLease(added, Duration(spread));
    }
    TakeUnseen(added);
  }
}

void Fleet::Register(HollowNode& node) {
  const std::string name = node.facts.shape.name;
  kube::Request create = NodeRequest(kube::Verb::kCreate, "");
  create.body = json::Dump(NodeObject(node.facts, api_.loop().now().wall));
  writes_.Put("node/" + name, std::move(create),
              [this, name](const kube::Response& response) { OnRegistered(name, response); });
}

void Fleet::OnRegistered(const std::string& name, const kube::Response& response) {
  HollowNode* node = FindNode(name);
  if (node == nullptr) return;
  node->registered = true;
  if (response.status.already_exists()) {
    kube::Request patch = NodeRequest(kube::Verb::kPatch, name);
    patch.patch = kube::PatchType::kStrategicMerge;
    patch.body = json::Dump(NodeMetadataPatch(node->facts));
    writes_.Put("node/" + name, std::move(patch), [this, name](const kube::Response& patched) {
      Result<Doc> object = json::Parse(patched.body);
      if (patched.status.ok() && object.ok()) OnNode(*object);
    });
    return WriteNodeStatus(*node);
  }
  if (!response.status.ok() && refusal_.empty()) refusal_ = response.status.message;
  Result<Doc> object = json::Parse(response.body);
  if (!response.status.ok() || !object.ok()) return;
  // A server that keeps status for the subresource has dropped ours.
  if (json::Find(*object, "status.conditions.0") == nullptr) WriteNodeStatus(*node);
  OnNode(*object);
}

void Fleet::WriteNodeStatus(HollowNode& node) {
  kube::Request patch = NodeRequest(kube::Verb::kPatch, node.facts.shape.name);
  patch.subresource = "status";
  patch.patch = kube::PatchType::kStrategicMerge;
  patch.body = json::Dump(NodeStatusPatch(node.facts, api_.loop().now().wall));
  writes_.Put("node/" + node.facts.shape.name, std::move(patch));
}

// The node lifecycle controller has not heard of the node for a while (an API server that stood still): a
// kubelet that is there says so again.
bool SaysUnknown(const kube::Node& node) {
  return std::ranges::any_of(node.conditions, [](const auto& condition) {
    return condition.type == "Ready" && condition.status == "Unknown";
  });
}

// What others did to the Node: its labels and taints decide admission.
void Fleet::OnNode(const Doc& object) {
  Result<kube::Node> parsed = kube::ParseNode(object);
  HollowNode* node = FindNode(json::GetString(object, "metadata.name"));
  if (node == nullptr || !parsed.ok()) return;
  node->facts.shape.labels = parsed->meta.labels;
  node->facts.shape.taints = parsed->taints;
  if (node->api_taints != parsed->taints) {
    node->api_taints = parsed->taints;
    for (const std::string& uid : PodsOf(*node)) {
      auto found = pods_.find(uid);  // driving one may end another of its rendezvous
      if (found == pods_.end()) continue;
      ReconsiderEviction(*found->second);
      Drive(uid);
    }
  }
  if (!node->up()) return;
  RemoveNotReadyTaint(*node, object);
  if (SaysUnknown(*parsed)) WriteNodeStatus(*node);
}

// An API server taints a new node until a node lifecycle controller has seen it Ready. Where none runs nobody
// else would do it; where one runs, the version in the patch lets only one of us win.
void Fleet::RemoveNotReadyTaint(HollowNode& node, const Doc& object) {
  const Doc* taints = json::Find(object, "spec.taints");
  if (taints == nullptr || !taints->is_array()) return;
  Doc kept = Doc::array();
  for (const Doc& taint : *taints) {
    if (json::GetString(taint, "key") != kNotReadyTaint) kept.push_back(taint);
  }
  if (kept.size() == taints->size()) return;
  Doc patch = {{"metadata", {{"resourceVersion", json::GetString(object, "metadata.resourceVersion")}}},
               {"spec", {{"taints", kept.empty() ? Doc() : std::move(kept)}}}};
  kube::Request request = NodeRequest(kube::Verb::kPatch, node.facts.shape.name);
  request.patch = kube::PatchType::kMerge;
  request.body = json::Dump(patch);
  writes_.Put("node/" + node.facts.shape.name, std::move(request));
}

void Fleet::RemoveNode(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr) return;
  for (const std::string& uid : PodsOf(*node)) {
    writes_.Drop(uid);
    Erase(uid);
  }
  nodes_.erase(name);
  writes_.Drop("node/" + name);
  writes_.Put("node/" + name, NodeRequest(kube::Verb::kDelete, name));
  if (!options_.leases) return;
  kube::Request lease = NodeRequest(kube::Verb::kDelete, name);
  lease.resource = &kube::kLeases;
  lease.ns = kLeaseNamespace;
  writes_.Put("lease/" + name, std::move(lease));
}

void Fleet::RemoveAllNodes() {
  for (const std::string& name : NodeNames()) RemoveNode(name);
}

std::vector<std::string> Fleet::PodsOf(const HollowNode& node) const {
  return {node.pods.begin(), node.pods.end()};
}

// ---- what happens to machines ----

void Fleet::StopLooking(HollowNode& node, HollowNode::State state) {
  node.state = state;
  for (const std::string& uid : node.pods) pods_.at(uid)->timer.Stop();
}

void Fleet::Freeze(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node != nullptr && node->up()) StopLooking(*node, HollowNode::State::kFrozen);
}

void Fleet::StopKubelet(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr || node->state == HollowNode::State::kCrashed) return;
  StopLooking(*node, HollowNode::State::kKubeletStopped);
}

void Fleet::Crash(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr || node->state == HollowNode::State::kCrashed) return;
  StopLooking(*node, HollowNode::State::kCrashed);
  for (const std::string& uid : PodsOf(*node)) {
    HollowPod& pod = *pods_.at(uid);
    pod.life.Crash(api_.loop().now());
    Account(pod);
    UpdateRendezvous(pod);
  }
}

void Fleet::Thaw(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr || node->up() || node->state == HollowNode::State::kCrashed) return;
  LookAgain(*node);
}

void Fleet::Boot(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr || node->state != HollowNode::State::kCrashed) return;
  node->facts.boot_id = StableUuid(name, static_cast<uint64_t>(++node->boots) + 1);
  LookAgain(*node);
  WriteNodeStatus(*node);
}

void Fleet::LookAgain(HollowNode& node) {
  HollowNode::State was = std::exchange(node.state, HollowNode::State::kUp);
  Now now = api_.loop().now();
  for (const std::string& uid : PodsOf(node)) CatchUp(*pods_.at(uid), was, now);
  for (const std::string& uid : PodsOf(node)) Drive(uid);
  TakeUnseen(node);
  if (options_.leases) ScheduleLease(node, Duration::zero());
}

// ---- leases ----

void Fleet::ScheduleLease(HollowNode& node, Duration delay) {
  node.lease_timer.SetAfter(delay, [this, name = node.facts.shape.name] { RenewLease(name); });
}

void Fleet::RenewLease(const std::string& name) {
  HollowNode* node = FindNode(name);
  if (node == nullptr || !node->up()) return;
  kube::Request renew = NodeRequest(kube::Verb::kPatch, name);
  renew.resource = &kube::kLeases;
  renew.ns = kLeaseNamespace;
  renew.body = json::Dump(LeaseRenewal(api_.loop().now().wall));
  writes_.Put("lease/" + name, std::move(renew), [this, name](const kube::Response& response) {
    if (response.status.not_found()) CreateLease(name);
  });
  ScheduleLease(*node, options_.lease_period);
}

void Fleet::CreateLease(const std::string& name) {
  if (FindNode(name) == nullptr) return;
  kube::Request ns = NodeRequest(kube::Verb::kCreate, "");
  ns.resource = &kube::kNamespaces;
  ns.body =
      json::Dump({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kLeaseNamespace}}}});
  if (!std::exchange(lease_namespace_asked_, true)) writes_.Put("lease/" + name, std::move(ns));
  kube::Request create = NodeRequest(kube::Verb::kCreate, "");
  create.resource = &kube::kLeases;
  create.ns = kLeaseNamespace;
  create.body = json::Dump(LeaseObject(name, api_.loop().now().wall));
  writes_.Put("lease/" + name, std::move(create));
}

}  // namespace lockstep::hollow
