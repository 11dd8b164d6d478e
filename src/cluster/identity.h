#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/model/pod.h"

namespace lockstep::cluster {

// Who a pod is to other pods: what their rules ask about it, and its own rules. Shared by all pods that are
// equal in this, so labels that differ from pod to pod of a gang are left out (see IsPerPodLabel).
struct PodIdentity {
  std::string ns;
  kube::Labels labels;
  kube::PodRules rules;  // its anti-affinity keeps later pods away
  std::string name;      // for people: the job, the controller, or the pod itself
  uint64_t hash = 0;     // of all of the above; equal on every machine and in every run

  friend bool operator==(const PodIdentity&, const PodIdentity&) = default;
};
// Topology keys of rules that come from volumes; no label has such a key.
inline constexpr std::string_view kSameNode = "";       // every node is a domain
inline constexpr std::string_view kWholeCluster = "*";  // all nodes are one domain

// The claims of a pod are to other pods as labels with a key that no label can have.
kube::Labels WithClaims(kube::Labels labels, const kube::PodNeed& need);
// The pods that use the claim ("ns/name").
kube::PodQuery UsersOf(const std::string& claim);

using PodIdentityPtr = std::shared_ptr<const PodIdentity>;

PodIdentityPtr MakeIdentity(std::string ns, kube::Labels labels, kube::PodRules rules, std::string name);

// The labels of a gang's pods that differ from pod to pod. A rule that asks about one of them can't be
// answered for the gang as a whole and is refused by name; others' rules are taken to match where such a
// label would have to decide.
bool IsPerPodLabel(std::string_view key);
// The first such label that a rule asks about; "" if none does.
std::string PerPodLabelIn(const kube::PodRules& rules);

// Whether `query` selects the pod.
bool Selects(const kube::PodQuery& query, const PodIdentity& pod);
// Whether an anti-affinity term of another pod may select this one: as Selects, but for per-pod labels.
bool MayBeKeptAway(const kube::PodTerm& term, const PodIdentity& pod);

}  // namespace lockstep::cluster
