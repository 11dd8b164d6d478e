#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/model/meta.h"
#include "kube/model/selector.h"

namespace lockstep::kube {

// Which pods a rule between pods speaks of: by their labels, in some namespaces.
struct PodQuery {
  bool nothing = false;  // a null labelSelector: no pod at all
  LabelSelector labels;
  std::vector<std::string> namespaces;  // sorted, unique
  // More namespaces. An empty selector is every namespace.
  std::optional<LabelSelector> namespace_selector;

  // Namespaces are known by their names alone, which each carries as the label kubernetes.io/metadata.name. A
  // selector that asks for any other label counts as one that selects every namespace: what stands there may
  // keep us away.
  bool MatchesNamespace(const std::string& ns) const;
  bool Matches(const std::string& ns, const Labels& pod_labels) const;
  friend auto operator<=>(const PodQuery&, const PodQuery&) = default;
};

// A term of required pod affinity or anti-affinity: about the pods in the same topology domain, that is on
// nodes with an equal value of the label `topology_key`.
struct PodTerm {
  PodQuery pods;
  std::string topology_key;

  friend auto operator<=>(const PodTerm&, const PodTerm&) = default;
};

// A topology spread constraint with whenUnsatisfiable DoNotSchedule.
struct SpreadRule {
  PodQuery pods;  // of the pod's own namespace
  std::string topology_key;
  int32_t max_skew = 1;
  int32_t min_domains = 1;
  // Which nodes' domains count: those the pod's node selector and affinity allow, those whose taints it
  // tolerates.
  bool honors_affinity = true;
  bool honors_taints = false;

  friend auto operator<=>(const SpreadRule&, const SpreadRule&) = default;
};

// Rules of one pod about others. Source: kube-scheduler 1.34, InterPodAffinity and PodTopologySpread.
struct PodRules {
  std::vector<PodTerm> affinity, anti_affinity;
  std::vector<SpreadRule> spread;
  // As affinity, but each term for itself. Not of a pod's spec: pods that share a volume for one node.
  std::vector<PodTerm> together;

  bool empty() const {
    return affinity.empty() && anti_affinity.empty() && spread.empty() && together.empty();
  }
  friend auto operator<=>(const PodRules&, const PodRules&) = default;
};

// More rules than this on one pod are refused by name: each is a count to keep during a search.
inline constexpr size_t kMaxPodRules = 32;

// The required rules of a pod's spec. `ns` and `labels` are the pod's own: the namespace of terms that name
// none, and what matchLabelKeys and mismatchLabelKeys stand for (an API server writes that into the
// selectors; before it has, this does). `unmet` gets the paths of what can't be evaluated here.
Result<PodRules> ParsePodRules(const json::Doc& spec, const std::string& ns, const Labels& labels,
                               std::vector<std::string>& unmet);

}  // namespace lockstep::kube
