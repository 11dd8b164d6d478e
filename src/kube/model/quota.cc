#include "kube/model/quota.h"

#include <algorithm>

#include "base/hash.h"
#include "kube/model/meta.h"
#include "kube/model/pod.h"

namespace lockstep::kube {
namespace {

using json::Doc;

constexpr Amount kOne = 1000;

const Doc* List(const Doc& doc, std::string_view path) {
  const Doc* list = json::Find(doc, path);
  return list != nullptr && list->is_array() ? list : nullptr;
}

Resources Amounts(const Doc& doc, std::string_view path) {
  Result<Resources> amounts = ParseResources(json::Find(doc, path), path);
  return amounts.ok() ? *std::move(amounts) : Resources{};
}

// As the pod's requests, of limits; overhead counts only where something is limited.
// Source: k8s.io/component-helpers/resource PodLimits.
Resources LimitsOf(const Doc& pod) {
  Resources sum, sidecars, init_peak;
  if (const Doc* containers = List(pod, "spec.containers")) {
    for (const Doc& container : *containers) AddTo(sum, Amounts(container, "resources.limits"));
  }
  if (const Doc* containers = List(pod, "spec.initContainers")) {
    for (const Doc& container : *containers) {
      Resources limits = Amounts(container, "resources.limits");
      if (json::GetString(container, "restartPolicy") == "Always") {
        AddTo(sum, limits);
        AddTo(sidecars, limits);
        MaxInto(init_peak, sidecars);
      } else {
        AddTo(limits, sidecars);
        MaxInto(init_peak, limits);
      }
    }
  }
  MaxInto(sum, init_peak);
  for (const auto& [name, amount] : Amounts(pod, "spec.resources.limits")) sum[name] = amount;
  for (const auto& [name, amount] : Amounts(pod, "spec.overhead")) {
    auto limited = sum.find(name);
    if (limited != sum.end()) limited->second = AddAmounts(limited->second, amount);
  }
  return sum;
}

bool IsComputeResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

bool CrossesNamespaces(const Doc& pod) {
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    for (const char* when : {"requiredDuringSchedulingIgnoredDuringExecution",
                             "preferredDuringSchedulingIgnoredDuringExecution"}) {
      const Doc* terms = List(pod, std::string("spec.affinity.") + kind + "." + when);
      if (terms == nullptr) continue;
      for (const Doc& term : *terms) {
        const Doc* inner = json::Find(term, "podAffinityTerm");  // of a preferred one
        const Doc& rule = inner == nullptr ? term : *inner;
        const Doc* namespaces = List(rule, "namespaces");
        const Doc* selector = json::Find(rule, "namespaceSelector");
        if ((namespaces != nullptr && !namespaces->empty()) || (selector != nullptr && selector->is_object()))
          return true;
      }
    }
  }
  return false;
}

bool SelectsPriority(const QuotaScope& scope, const std::string& priority_class) {
  bool named = std::ranges::find(scope.values, priority_class) != scope.values.end();
  if (scope.op == "In") return !priority_class.empty() && named;
  if (scope.op == "NotIn") return priority_class.empty() || !named;
  if (scope.op == "DoesNotExist") return priority_class.empty();
  return !priority_class.empty();
}

// Source: podMatchesScopeFunc; a scope that is unknown here selects nothing.
bool ScopeSelects(const QuotaScope& scope, const QuotaCharge& pod) {
  if (scope.name == "Terminating") return pod.terminating;
  if (scope.name == "NotTerminating") return !pod.terminating;
  if (scope.name == "BestEffort") return pod.best_effort;
  if (scope.name == "NotBestEffort") return !pod.best_effort;
  if (scope.name == "CrossNamespacePodAffinity") return pod.crosses_namespaces;
  return scope.name == "PriorityClass" && SelectsPriority(scope, pod.priority_class);
}

std::vector<QuotaScope> ScopesOf(const Doc& object) {
  std::vector<QuotaScope> scopes;
  if (const Doc* names = List(object, "spec.scopes")) {
    for (const Doc& name : *names) {
      if (name.is_string()) scopes.push_back({name.get<std::string>(), "Exists", {}});
    }
  }
  if (const Doc* expressions = List(object, "spec.scopeSelector.matchExpressions")) {
    for (const Doc& expression : *expressions) {
      QuotaScope scope{json::GetString(expression, "scopeName"), json::GetString(expression, "operator"), {}};
      if (const Doc* values = List(expression, "values")) {
        for (const Doc& value : *values) {
          if (value.is_string()) scope.values.push_back(value.get<std::string>());
        }
      }
      scopes.push_back(std::move(scope));
    }
  }
  return scopes;
}

// Each name by itself: one that can't be read takes no other with it.
Resources EachAmount(const Doc& object, std::string_view path) {
  Resources amounts;
  const Doc* doc = json::Find(object, path);
  if (doc == nullptr || !doc->is_object()) return amounts;
  for (const auto& [name, value] : doc->items()) {
    Result<Amount> amount = ParseQuantity(value);
    if (amount.ok()) amounts[name] = *amount;
  }
  return amounts;
}

}  // namespace

QuotaCharge ChargeOf(const Doc& pod) {
  Result<PodNeed> need = ParsePodNeed(pod);
  return ChargeOf(pod, need.ok() ? need->requests : Resources{});
}

QuotaCharge ChargeOf(const Doc& pod, const Resources& requests) {
  QuotaCharge charge;
  charge.amounts = {{"pods", kOne}, {"count/pods", kOne}};
  for (const auto& [name, amount] : requests) {
    charge.amounts["requests." + name] = amount;
    if (IsComputeResource(name)) charge.amounts[name] = amount;
  }
  Resources limits = LimitsOf(pod);
  for (const char* name : {"cpu", "memory", "ephemeral-storage"}) {
    if (auto limit = limits.find(name); limit != limits.end())
      charge.amounts["limits." + limit->first] = limit->second;
  }
  const Doc* deadline = json::Find(pod, "spec.activeDeadlineSeconds");
  charge.terminating = deadline != nullptr && deadline->is_number_integer();
  auto asks = [&](const Resources& amounts, const char* name) {
    auto found = amounts.find(name);
    return found != amounts.end() && found->second > 0;
  };
  charge.best_effort =
      !asks(requests, "cpu") && !asks(requests, "memory") && !asks(limits, "cpu") && !asks(limits, "memory");
  charge.crosses_namespaces = CrossesNamespaces(pod);
  charge.priority_class = json::GetString(pod, "spec.priorityClassName");
  return charge;
}

QuotaCharge EndedCharge(QuotaCharge pod) {
  pod.amounts = {{"count/pods", kOne}};
  return pod;
}

QuotaCharge ServiceCharge() {
  QuotaCharge charge;
  charge.amounts = {{"services", kOne}, {"count/services", kOne}};
  charge.pod = false;
  return charge;
}

uint64_t Hash(const QuotaCharge& charge, uint64_t seed) {
  std::string flags = {charge.pod ? 'p' : 's', charge.terminating ? 't' : '-', charge.best_effort ? 'b' : '-',
                       charge.crosses_namespaces ? 'x' : '-'};
  seed = StableHash(charge.priority_class, StableHash(flags, seed));
  for (const auto& [name, amount] : charge.amounts)
    seed = StableHash(std::to_string(amount), StableHash(name, seed));
  return seed;
}

bool ResourceQuota::Selects(const QuotaCharge& charge) const {
  if (!charge.pod) return scopes.empty();
  return std::ranges::all_of(scopes, [&](const QuotaScope& scope) { return ScopeSelects(scope, charge); });
}

ResourceQuota ParseResourceQuota(const Doc& object) {
  ResourceQuota quota;
  quota.ns = json::GetString(object, "metadata.namespace");
  quota.name = json::GetString(object, "metadata.name");
  quota.hard = EachAmount(object, "spec.hard");
  quota.enforced = EachAmount(object, "status.hard");
  quota.used = EachAmount(object, "status.used");
  quota.scopes = ScopesOf(object);
  return quota;
}

}  // namespace lockstep::kube
