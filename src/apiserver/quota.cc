#include "apiserver/quota.h"

#include "apiserver/errors.h"
#include "kube/model/pod.h"

namespace lockstep::apiserver {

using json::Doc;
using kube::Resources;

namespace {

// What one pod counts for, under every name that a quota may use for it.
Resources UsageOf(const Doc& pod) {
  Resources usage{{"pods", 1000}, {"count/pods", 1000}};
  Result<kube::PodNeed> need = kube::ParsePodNeed(pod);
  if (!need.ok()) return usage;
  for (const auto& [name, amount] : need->requests) {
    usage["requests." + name] = amount;
    if (name == "cpu" || name == "memory") usage[name] = amount;
  }
  return usage;
}

bool Terminal(const Object& pod) {
  static constexpr size_t kPhase = 3;  // "status.phase" in FieldNames(kPods)
  return pod.fields[kPhase] == "Succeeded" || pod.fields[kPhase] == "Failed";
}

std::string Text(const std::string& name, kube::Amount amount) {
  return kube::FormatQuantity(amount, name.ends_with("memory"));
}

// Only the amounts of a quota that pods count against.
Resources HardOf(const Doc& quota) {
  Resources hard;
  const Doc* spec = json::Find(quota, "spec.hard");
  if (spec == nullptr || !spec->is_object()) return hard;
  for (const auto& [name, value] : spec->items()) {
    auto amount = kube::ParseQuantity(value);
    bool counted = name == "pods" || name == "count/pods" || name == "cpu" || name == "memory" ||
                   name.starts_with("requests.");
    if (amount.ok() && counted) hard[name] = *amount;
  }
  return hard;
}

kube::Amount Get(const Resources& resources, const std::string& name) {
  auto found = resources.find(name);
  return found == resources.end() ? 0 : found->second;
}

// cpu and memory must be asked for where they are limited, or nothing would be counted.
std::string MissingOf(const Resources& hard, const Resources& asked) {
  std::string missing;
  for (const auto& [name, limit] : hard) {
    bool must = name == "cpu" || name == "memory" || name == "requests.cpu" || name == "requests.memory";
    if (must && !asked.contains(name)) missing += (missing.empty() ? "" : ",") + name;
  }
  return missing;
}

}  // namespace

std::optional<kube::Status> Quotas::Check(const Store& store, const Doc& pod) {
  const auto& quotas = store.All(kube::kResourceQuotas);
  if (quotas.empty()) return std::nullopt;
  std::string ns = json::GetString(pod, "metadata.namespace");
  std::string name = json::GetString(pod, "metadata.name");
  for (auto at = quotas.lower_bound(ns + "/"); at != quotas.end() && at->second->ns == ns; ++at) {
    const Object& quota = *at->second;
    Doc doc = quota.Parse();
    Resources hard = HardOf(doc);
    Resources asked = UsageOf(pod);
    Resources used = Used(store, ns);
    std::string missing = MissingOf(hard, asked);
    if (!missing.empty()) {
      return Forbidden(kube::kPods, name, "failed quota: " + quota.name + ": must specify " + missing);
    }
    std::string requested_text, used_text, limited_text;
    for (const auto& [resource, limit] : hard) {
      kube::Amount more = Get(asked, resource);
      if (more == 0 || kube::AddAmounts(Get(used, resource), more) <= limit) continue;
      std::string comma = requested_text.empty() ? "" : ",";
      requested_text += comma + resource + "=" + Text(resource, more);
      used_text += comma + resource + "=" + Text(resource, Get(used, resource));
      limited_text += comma + resource + "=" + Text(resource, limit);
    }
    if (requested_text.empty()) continue;
    return Forbidden(kube::kPods, name,
                     "exceeded quota: " + quota.name + ", requested: " + requested_text +
                         ", used: " + used_text + ", limited: " + limited_text);
  }
  return std::nullopt;
}

Doc Quotas::StatusOf(const Store& store, const ObjectPtr& quota) {
  Doc doc = quota->Parse();
  Resources used = Used(store, quota->ns);
  Doc status = {{"hard", Doc::object()}, {"used", Doc::object()}};
  for (const auto& [name, limit] : HardOf(doc)) {
    status["hard"][name] = Text(name, limit);
    status["used"][name] = Text(name, Get(used, name));
  }
  return status;
}

Resources Quotas::Used(const Store& store, const std::string& ns) {
  Resources used;
  const auto& pods = store.All(kube::kPods);
  for (auto at = pods.lower_bound(ns + "/"); at != pods.end() && at->second->ns == ns; ++at) {
    const Object& pod = *at->second;
    if (Terminal(pod)) continue;
    auto known = usage_.find(pod.uid);
    if (known == usage_.end()) known = usage_.emplace(pod.uid, UsageOf(pod.Parse())).first;
    kube::AddTo(used, known->second);
  }
  return used;
}

}  // namespace lockstep::apiserver
