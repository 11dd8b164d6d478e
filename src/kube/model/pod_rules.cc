#include "kube/model/pod_rules.h"

#include <algorithm>

#include "kube/model/reader.h"

namespace lockstep::kube {
namespace {

using json::Doc;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

bool ByNameAlone(const LabelSelector& selector) {
  return std::ranges::all_of(selector.requirements,
                             [](const Requirement& requirement) { return requirement.key == kNameLabel; });
}

// The pod's own value of each key as a requirement. A key that the selector already speaks of was written
// there by an API server.
void AddLabelKeys(const std::vector<std::string>& keys, SelectorOp op, const Labels& labels,
                  LabelSelector& selector) {
  for (const std::string& key : keys) {
    auto own = labels.find(key);
    bool known = std::ranges::any_of(selector.requirements,
                                     [&](const Requirement& r) { return r.key == key && r.op == op; });
    if (own != labels.end() && !known) selector.requirements.push_back({key, op, {own->second}});
  }
  std::ranges::sort(selector.requirements);
}

// labelSelector with matchLabelKeys and mismatchLabelKeys.
PodQuery ParseQuery(Reader& read, const Doc& rule, const std::string& path, const Labels& labels) {
  PodQuery query;
  const Doc* selector = read.Object(rule, path, "labelSelector");
  query.nothing = selector == nullptr;
  if (selector != nullptr) {
    query.labels = read.Take(ParseLabelSelector(*selector), Join(path, "labelSelector") + ".");
    AddLabelKeys(read.Texts(rule, path, "matchLabelKeys"), SelectorOp::kIn, labels, query.labels);
    AddLabelKeys(read.Texts(rule, path, "mismatchLabelKeys"), SelectorOp::kNotIn, labels, query.labels);
  }
  return query;
}

std::string ParseTopologyKey(Reader& read, const Doc& rule, const std::string& path) {
  std::string key = read.Text(rule, path, "topologyKey");
  if (key.empty()) read.Fail(Join(path, "topologyKey"), "must not be empty");
  return key;
}

PodTerm ParseTerm(Reader& read, const Doc& doc, const std::string& path, const std::string& ns,
                  const Labels& labels, std::vector<std::string>& unmet) {
  PodTerm term{ParseQuery(read, doc, path, labels), ParseTopologyKey(read, doc, path)};
  term.pods.namespaces = read.Texts(doc, path, "namespaces");
  std::ranges::sort(term.pods.namespaces);
  const Doc* selector = read.Object(doc, path, "namespaceSelector");
  if (selector != nullptr) {
    term.pods.namespace_selector =
        read.Take(ParseLabelSelector(*selector), Join(path, "namespaceSelector") + ".");
    if (!ByNameAlone(*term.pods.namespace_selector)) {
      unmet.push_back(Join(path, "namespaceSelector") + " by other labels than " + std::string(kNameLabel));
    }
  } else if (term.pods.namespaces.empty()) {
    term.pods.namespaces.push_back(ns);
  }
  return term;
}

std::vector<PodTerm> ParseTerms(Reader& read, const Doc& spec, std::string_view kind, const std::string& ns,
                                const Labels& labels, std::vector<std::string>& unmet) {
  std::vector<PodTerm> terms;
  const Doc* affinity = read.Object(spec, "spec", "affinity");
  const Doc* rules = affinity == nullptr ? nullptr : read.Object(*affinity, "spec.affinity", kind);
  if (rules == nullptr) return terms;
  std::string path = Join("spec.affinity", kind);
  std::string list = Join(path, kRequired);
  for (const Doc* term : read.Objects(*rules, path, kRequired)) {
    terms.push_back(ParseTerm(read, *term, Join(list, terms.size()), ns, labels, unmet));
  }
  return terms;
}

int32_t ParseAtLeastOne(Reader& read, const Doc& doc, const std::string& path, std::string_view key) {
  int64_t number = read.Int(doc, path, key).value_or(1);
  if (number < 1 || number > INT32_MAX) read.Fail(Join(path, key), "must be at least 1");
  return static_cast<int32_t>(std::clamp<int64_t>(number, 1, INT32_MAX));
}

std::vector<SpreadRule> ParseSpread(Reader& read, const Doc& spec, const std::string& ns,
                                    const Labels& labels) {
  std::vector<SpreadRule> rules;
  size_t index = 0;
  for (const Doc* doc : read.Objects(spec, "spec", "topologySpreadConstraints")) {
    std::string path = Join("spec.topologySpreadConstraints", index++);
    if (read.Text(*doc, path, "whenUnsatisfiable") == "ScheduleAnyway") continue;
    SpreadRule rule{ParseQuery(read, *doc, path, labels), ParseTopologyKey(read, *doc, path)};
    rule.pods.namespaces = {ns};
    rule.max_skew = ParseAtLeastOne(read, *doc, path, "maxSkew");
    rule.min_domains = ParseAtLeastOne(read, *doc, path, "minDomains");
    rule.honors_affinity = read.Text(*doc, path, "nodeAffinityPolicy") != "Ignore";
    rule.honors_taints = read.Text(*doc, path, "nodeTaintsPolicy") == "Honor";
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

bool PodQuery::MatchesNamespace(const std::string& ns) const {
  if (std::ranges::binary_search(namespaces, ns)) return true;
  if (!namespace_selector) return false;
  if (!ByNameAlone(*namespace_selector)) return true;
  return namespace_selector->requirements.empty() ||
         namespace_selector->Matches({{std::string(kNameLabel), ns}});
}

bool PodQuery::Matches(const std::string& ns, const Labels& pod_labels) const {
  return !nothing && MatchesNamespace(ns) && labels.Matches(pod_labels);
}

Result<PodRules> ParsePodRules(const Doc& spec, const std::string& ns, const Labels& labels,
                               std::vector<std::string>& unmet) {
  Reader read;
  PodRules rules;
  rules.affinity = ParseTerms(read, spec, "podAffinity", ns, labels, unmet);
  rules.anti_affinity = ParseTerms(read, spec, "podAntiAffinity", ns, labels, unmet);
  rules.spread = ParseSpread(read, spec, ns, labels);
  if (read.error()) return *read.error();
  if (rules.affinity.size() + rules.anti_affinity.size() + rules.spread.size() > kMaxPodRules) {
    unmet.push_back("more than " + std::to_string(kMaxPodRules) + " rules between pods");
  }
  return rules;
}

}  // namespace lockstep::kube
