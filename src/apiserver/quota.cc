#include "apiserver/quota.h"

#include <functional>

#include "apiserver/errors.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::QuotaCharge;
using kube::ResourceQuota;
using kube::Resources;

namespace {

bool Terminal(const Object& pod) {
  static constexpr size_t kPhase = 3;  // "status.phase" in FieldNames(kPods)
  return pod.fields[kPhase] == "Succeeded" || pod.fields[kPhase] == "Failed";
}

std::string Text(const std::string& name, kube::Amount amount) {
  return kube::FormatQuantity(amount, name.ends_with("memory"));
}

kube::Amount Get(const Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// What a new object is charged for; nothing if quotas don't look at its kind.
std::optional<QuotaCharge> ChargeOf(const kube::Resource& resource, const Doc& object) {
  if (&resource == &kube::kPods) return kube::ChargeOf(object);
  if (&resource == &kube::kServices) return kube::ServiceCharge();
  return std::nullopt;
}

// The names under which a quota looks at a charge.
Resources HardFor(const ResourceQuota& quota, const QuotaCharge& charge) {
  Resources hard;
  if (!quota.Selects(charge)) return hard;
  for (const auto& [name, limit] : quota.enforced) {
    bool of_pods = name == "pods" || name == "count/pods" || name == "cpu" || name == "memory" ||
                   name == "ephemeral-storage" || name.starts_with("requests.") ||
                   name.starts_with("limits.") || name.starts_with("hugepages-");
    bool storage = name == "requests.storage";
    if (charge.pod ? of_pods && !storage : charge.amounts.contains(name)) hard[name] = limit;
  }
  return hard;
}

// cpu and memory must be asked for where they are limited, or nothing would be counted.
std::string MissingOf(const Resources& hard, const QuotaCharge& charge) {
  std::string missing;
  for (const auto& [name, limit] : hard) {
    bool must = name == "cpu" || name == "memory" || name == "requests.cpu" || name == "requests.memory" ||
                name == "limits.cpu" || name == "limits.memory";
    if (charge.pod && must && !charge.amounts.contains(name)) missing += (missing.empty() ? "" : ",") + name;
  }
  return missing;
}

std::string Unknown(const Resources& hard, const QuotaCharge& charge, const ResourceQuota& quota) {
  std::string names;
  for (const auto& [name, limit] : hard) {
    if (Get(charge.amounts, name) > 0 && !quota.used.contains(name))
      names += (names.empty() ? "" : ",") + name;
  }
  return names;
}

// "exceeded quota: ...", or "".
std::string Excess(const Resources& hard, const QuotaCharge& charge, const ResourceQuota& quota) {
  std::string requested, used, limited;
  for (const auto& [name, limit] : hard) {
    kube::Amount more = Get(charge.amounts, name);
    if (more == 0) continue;
    kube::Amount before = Get(quota.used, name);
    if (kube::AddAmounts(before, more) <= limit) continue;
    std::string comma = requested.empty() ? "" : ",";
    requested += comma + name + "=" + Text(name, more);
    used += comma + name + "=" + Text(name, before);
    limited += comma + name + "=" + Text(name, limit);
  }
  if (requested.empty()) return "";
  return "exceeded quota: " + quota.name + ", requested: " + requested + ", used: " + used +
         ", limited: " + limited;
}

using Visit = std::function<void(const ObjectPtr&, const ResourceQuota&, const Resources& hard)>;

void EachQuota(const Store& store, const std::string& ns, const QuotaCharge& charge, const Visit& visit) {
  const auto& quotas = store.All(kube::kResourceQuotas);
  for (auto at = quotas.lower_bound(ns + "/"); at != quotas.end() && at->second->ns == ns; ++at) {
    ResourceQuota quota = kube::ParseResourceQuota(*at->second->Tree());
    Resources hard = HardFor(quota, charge);
    if (!hard.empty()) visit(at->second, quota, hard);
  }
}

}  // namespace

std::optional<kube::Status> Quotas::Check(const Store& store, const kube::Resource& resource,
                                          const Doc& object) {
  if (store.All(kube::kResourceQuotas).empty()) return std::nullopt;
  std::optional<QuotaCharge> charge = ChargeOf(resource, object);
  if (!charge) return std::nullopt;
  std::string why;
  EachQuota(store, json::GetString(object, "metadata.namespace"), *charge,
            [&](const ObjectPtr&, const ResourceQuota& quota, const Resources& hard) {
              if (!why.empty()) return;
              if (std::string missing = MissingOf(hard, *charge); !missing.empty()) {
                why = "failed quota: " + quota.name + ": must specify " + missing;
              } else if (std::string names = Unknown(hard, *charge, quota); !names.empty()) {
                why = "status unknown for quota: " + quota.name + ", resources: " + names;
              } else {
                why = Excess(hard, *charge, quota);
              }
            });
  if (why.empty()) return std::nullopt;
  return Forbidden(resource, json::GetString(object, "metadata.name"), why);
}

std::vector<Doc> Quotas::Charged(const Store& store, const kube::Resource& resource, const Doc& object) {
  std::vector<Doc> changed;
  if (store.All(kube::kResourceQuotas).empty()) return changed;
  std::optional<QuotaCharge> charge = ChargeOf(resource, object);
  if (!charge) return changed;
  EachQuota(store, json::GetString(object, "metadata.namespace"), *charge,
            [&](const ObjectPtr& stored, const ResourceQuota& quota, const Resources& hard) {
              Doc doc = *stored->Tree();
              for (const auto& [name, limit] : hard) {
                kube::Amount more = Get(charge->amounts, name);
                if (more == 0) continue;
                doc["status"]["used"][name] = Text(name, kube::AddAmounts(Get(quota.used, name), more));
              }
              changed.push_back(std::move(doc));
            });
  return changed;
}

Doc Quotas::StatusOf(const Store& store, const ObjectPtr& quota) {
  ResourceQuota parsed = kube::ParseResourceQuota(*quota->Tree());
  Resources used = Used(store, parsed);
  Doc status = {{"hard", Doc::object()}, {"used", Doc::object()}};
  for (const auto& [name, limit] : parsed.hard) {
    status["hard"][name] = Text(name, limit);
    status["used"][name] = Text(name, Get(used, name));
  }
  return status;
}

Resources Quotas::Used(const Store& store, const ResourceQuota& quota) {
  Resources used;
  const auto& pods = store.All(kube::kPods);
  for (auto at = pods.lower_bound(quota.ns + "/"); at != pods.end() && at->second->ns == quota.ns; ++at) {
    const Object& pod = *at->second;
    auto known = charges_.find(pod.uid);
    if (known == charges_.end()) known = charges_.emplace(pod.uid, kube::ChargeOf(*pod.Tree())).first;
    if (!quota.Selects(known->second)) continue;
    kube::AddTo(used, Terminal(pod) ? kube::EndedCharge(known->second).amounts : known->second.amounts);
  }
  const auto& services = store.All(kube::kServices);
  for (auto at = services.lower_bound(quota.ns + "/"); at != services.end() && at->second->ns == quota.ns;
       ++at) {
    if (quota.Selects(kube::ServiceCharge())) kube::AddTo(used, kube::ServiceCharge().amounts);
  }
  return used;
}

}  // namespace lockstep::apiserver
