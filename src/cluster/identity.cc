#include "cluster/identity.h"

#include <algorithm>

#include "api/labels.h"
#include "base/hash.h"

namespace lockstep::cluster {

namespace {

uint64_t HashNumber(int64_t number, uint64_t seed) {
  uint64_t x = (seed ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u;
  return x ^ (x >> 29);
}

uint64_t HashQuery(const kube::PodQuery& query, uint64_t seed) {
  seed = StableHash(query.labels.text(), HashNumber(query.nothing, seed));
  for (const std::string& ns : query.namespaces) seed = StableHash(ns, seed);
  return query.namespace_selector ? StableHash(query.namespace_selector->text(), seed) : seed;
}

std::string ClaimLabel(const std::string& claim) { return "claim " + claim; }

uint64_t HashRules(const kube::PodRules& rules, uint64_t seed) {
  for (const auto* terms : {&rules.affinity, &rules.anti_affinity, &rules.together}) {
    for (const kube::PodTerm& term : *terms) seed = HashQuery(term.pods, StableHash(term.topology_key, seed));
    seed = HashNumber(static_cast<int64_t>(terms->size()), seed);
  }
  for (const kube::SpreadRule& rule : rules.spread) {
    seed = HashQuery(rule.pods, StableHash(rule.topology_key, seed));
    seed = HashNumber(rule.min_domains, HashNumber(rule.max_skew, seed));
    seed = HashNumber(rule.honors_affinity * 2 + rule.honors_taints, seed);
  }
  return seed;
}

}  // namespace

PodIdentityPtr MakeIdentity(std::string ns, kube::Labels labels, kube::PodRules rules, std::string name) {
  auto identity = std::make_shared<PodIdentity>();
  uint64_t hash = StableHash(name, StableHash(ns));
  for (const auto& [key, value] : labels) hash = StableHash(value, StableHash(key, hash));
  if (!rules.empty()) hash = HashRules(rules, hash);
  identity->ns = std::move(ns);
  identity->labels = std::move(labels);
  identity->rules = std::move(rules);
  identity->name = std::move(name);
  identity->hash = hash;
  return identity;
}

kube::Labels WithClaims(kube::Labels labels, const kube::PodNeed& need) {
  for (const std::string& claim : need.claims) labels[ClaimLabel(claim)] = "used";
  return labels;
}

kube::PodQuery UsersOf(const std::string& claim) {
  kube::PodQuery query;
  query.labels.requirements.push_back({ClaimLabel(claim), kube::SelectorOp::kIn, {"used"}});
  query.namespaces = {claim.substr(0, claim.find('/'))};
  return query;
}

bool IsPerPodLabel(std::string_view key) {
  return key == api::kReplicaIndexLabel || key == api::kAttemptLabel;
}

std::string PerPodLabelIn(const kube::PodRules& rules) {
  std::string found;
  auto look = [&](const kube::PodQuery& query) {
    for (const kube::Requirement& requirement : query.labels.requirements) {
      if (found.empty() && IsPerPodLabel(requirement.key)) found = requirement.key;
    }
  };
  for (const kube::PodTerm& term : rules.affinity) look(term.pods);
  for (const kube::PodTerm& term : rules.anti_affinity) look(term.pods);
  for (const kube::SpreadRule& rule : rules.spread) look(rule.pods);
  return found;
}

bool Selects(const kube::PodQuery& query, const PodIdentity& pod) {
  return query.Matches(pod.ns, pod.labels);
}

bool MayBeKeptAway(const kube::PodTerm& term, const PodIdentity& pod) {
  bool per_pod = std::ranges::any_of(term.pods.labels.requirements,
                                     [](const kube::Requirement& r) { return IsPerPodLabel(r.key); });
  if (!per_pod) return Selects(term.pods, pod);
  kube::PodQuery rest = term.pods;
  std::erase_if(rest.labels.requirements, [](const kube::Requirement& r) { return IsPerPodLabel(r.key); });
  return Selects(rest, pod);
}

}  // namespace lockstep::cluster
