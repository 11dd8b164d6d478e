#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/model/meta.h"

namespace lockstep::kube {

enum class SelectorOp { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct Requirement {
  std::string key;
  SelectorOp op = SelectorOp::kIn;
  std::vector<std::string> values;  // sorted, unique

  friend auto operator<=>(const Requirement&, const Requirement&) = default;
};

// All requirements must hold. NotIn and DoesNotExist also hold where the key is absent; Gt and Lt compare
// integers and fail on anything else. Source: k8s.io/apimachinery/pkg/labels.
struct LabelSelector {
  std::vector<Requirement> requirements;

  bool Matches(const Labels& labels) const;
  std::string text() const;  // "a=b,c in (d,e),!f"
  friend auto operator<=>(const LabelSelector&, const LabelSelector&) = default;
};

// "app=x,tier in (a,b),!old,gpu" as in ?labelSelector=.
Result<LabelSelector> ParseLabelSelector(std::string_view text);
inline Result<LabelSelector> ParseLabelSelector(const char* text) {
  return ParseLabelSelector(std::string_view(text));
}
inline Result<LabelSelector> ParseLabelSelector(const std::string& text) {
  return ParseLabelSelector(std::string_view(text));
}
// metav1.LabelSelector: matchLabels and matchExpressions. An empty object matches everything; a null
// selector, which in Kubernetes matches nothing, is an error: its meaning is the caller's to decide.
Result<LabelSelector> ParseLabelSelector(const json::Doc& selector);

// One nodeSelectorTerm: matchExpressions over labels, matchFields over metadata.name. A term with neither
// matches nothing.
struct NodeSelectorTerm {
  std::vector<Requirement> labels;
  std::vector<Requirement> fields;

  friend auto operator<=>(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

// spec.nodeSelector and requiredDuringSchedulingIgnoredDuringExecution together.
struct NodeConstraint {
  std::vector<Requirement> all;       // from spec.nodeSelector: key in (value)
  std::vector<NodeSelectorTerm> any;  // one must match, unless `has_terms` is false
  bool has_terms = false;
  std::string node;  // the only one allowed, unless "": spec.nodeName of a template

  bool Matches(const std::string& node_name, const Labels& labels) const;
  bool empty() const { return all.empty() && !has_terms && node.empty(); }
  friend auto operator<=>(const NodeConstraint&, const NodeConstraint&) = default;
};

// A term of preferred node affinity: a node that matches it is worth `weight` more.
struct PreferredNodes {
  NodeSelectorTerm nodes;
  int32_t weight = 1;  // 1 to 100

  friend auto operator<=>(const PreferredNodes&, const PreferredNodes&) = default;
};

Result<std::vector<PreferredNodes>> ParsePreferredNodes(const json::Doc& pod_spec);
// The sum of the weights of the terms that match.
int32_t PreferenceFor(const std::vector<PreferredNodes>& preferred, const std::string& node_name,
                      const Labels& labels);

Result<NodeConstraint> ParseNodeConstraint(const json::Doc& pod_spec);

}  // namespace lockstep::kube
