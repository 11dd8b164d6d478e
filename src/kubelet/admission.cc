#include "kubelet/admission.h"

#include <algorithm>

namespace lockstep::kubelet {

namespace {

Refusal Rejected(std::string reason, const std::string& message) {
  return {std::move(reason), "Pod was rejected: " + message};
}

Refusal PredicateFailed(const std::string& predicate, const std::string& why) {
  return Rejected(predicate, "Predicate " + predicate + " failed: " + why);
}

// As the kubelet prints it: CPU in thousandths, everything else in whole units.
int64_t Printed(const std::string& resource, kube::Amount amount) {
  return resource == "cpu" ? amount : amount / 1000 + (amount % 1000 > 0 ? 1 : 0);
}

Refusal OutOf(const std::string& resource, int64_t requested, int64_t used, int64_t capacity) {
  return Rejected("OutOf" + resource, "Node didn't have enough resource: " + resource + ", requested: " +
                                          std::to_string(requested) + ", used: " + std::to_string(used) +
                                          ", capacity: " + std::to_string(capacity));
}

kube::Amount AmountOf(const kube::Resources& resources, std::string_view name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

std::optional<Refusal> RefuseResource(const std::string& resource, kube::Amount requested,
                                      const NodeShape& node, const Usage& used) {
  bool extended = resource.find('/') != std::string::npos;
  if (requested <= 0 || (extended && !node.allocatable.contains(resource))) return std::nullopt;
  kube::Amount capacity = AmountOf(node.allocatable, resource);
  kube::Amount in_use = AmountOf(used.requests, resource);
  if (requested <= capacity - std::min(in_use, capacity)) return std::nullopt;
  return OutOf(resource, Printed(resource, requested), Printed(resource, in_use),
               Printed(resource, capacity));
}

// In the scheduler library's order: pods, cpu, memory, ephemeral-storage, then the others by name.
std::optional<Refusal> RefuseResources(const kube::PodNeed& pod, const NodeShape& node, const Usage& used) {
  int64_t allowed_pods = Printed("pods", AmountOf(node.allocatable, "pods"));
  if (used.pods + 1 > allowed_pods) return OutOf("pods", 1, used.pods, allowed_pods);
  const std::string first[] = {"cpu", "memory", "ephemeral-storage"};
  for (const std::string& resource : first) {
    if (auto refusal = RefuseResource(resource, AmountOf(pod.requests, resource), node, used)) return refusal;
  }
  for (const auto& [resource, requested] : pod.requests) {
    if (std::ranges::find(first, resource) != std::end(first)) continue;
    if (auto refusal = RefuseResource(resource, requested, node, used)) return refusal;
  }
  return std::nullopt;
}

bool AnyAddress(const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; }

bool PortsClash(const kube::HostPort& a, const kube::HostPort& b) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return AnyAddress(a.ip) || AnyAddress(b.ip) || a.ip == b.ip;
}

bool AnyPortTaken(const kube::PodNeed& pod, const Usage& used) {
  return std::ranges::any_of(pod.host_ports, [&](const kube::HostPort& wanted) {
    return std::ranges::any_of(used.host_ports,
                               [&](const kube::HostPort& taken) { return PortsClash(wanted, taken); });
  });
}

const kube::Toleration* FindToleration(const kube::Taint& taint,
                                       const std::vector<kube::Toleration>& tolerations) {
  auto found = std::ranges::find_if(
      tolerations, [&](const kube::Toleration& toleration) { return toleration.Tolerates(taint); });
  return found == tolerations.end() ? nullptr : &*found;
}

}  // namespace

void Usage::Add(const kube::PodNeed& need) {
  ++pods;
  kube::AddTo(requests, need.requests);
  for (const kube::HostPort& port : need.host_ports) host_ports.insert(port);
}

void Usage::Remove(const kube::PodNeed& need) {
  --pods;
  for (const auto& [resource, amount] : need.requests) requests[resource] -= amount;
  for (const kube::HostPort& port : need.host_ports) {
    auto found = host_ports.find(port);
    if (found != host_ports.end()) host_ports.erase(found);
  }
}

std::optional<Refusal> RefusePod(const kube::PodNeed& pod, const NodeShape& node, const Usage& used) {
  if (auto refusal = RefuseResources(pod, node, used)) return refusal;
  if (!pod.nodes.Matches(node.name, node.labels)) {
    return PredicateFailed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  }
  if (AnyPortTaken(pod, used)) {
    return PredicateFailed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  }
  // A toleration counts here even when its tolerationSeconds are 0: eviction is the taint controller's.
  bool tolerated = std::ranges::all_of(node.taints, [&](const kube::Taint& taint) {
    return taint.effect != "NoExecute" || FindToleration(taint, pod.tolerations) != nullptr;
  });
  if (!tolerated) {
    return PredicateFailed("TaintToleration", "node(s) had taints that the pod didn't tolerate");
  }
  return std::nullopt;
}

std::optional<Duration> TimeUntilEviction(const std::vector<kube::Taint>& taints,
                                          const std::vector<kube::Toleration>& tolerations) {
  std::optional<Duration> stay;
  for (const kube::Taint& taint : taints) {
    if (taint.effect != "NoExecute") continue;
    const kube::Toleration* covers = FindToleration(taint, tolerations);
    if (covers == nullptr) return Duration::zero();
    if (!covers->seconds.has_value()) continue;
    Duration allowed = seconds(std::clamp<int64_t>(*covers->seconds, 0, int64_t{1} << 31));
    stay = std::min(stay.value_or(allowed), allowed);
  }
  return stay;
}

}  // namespace lockstep::kubelet
