#include "cluster/quotas.h"

#include <algorithm>

#include "base/check.h"
#include "cluster/world.h"

namespace lockstep::cluster {

namespace {

kube::Amount Saturated(__int128 sum) {
  return sum > kube::kMaxAmount ? kube::kMaxAmount : static_cast<kube::Amount>(sum);
}

const kube::Amount* Find(const kube::Resources& amounts, const std::string& name) {
  auto found = amounts.find(name);
  return found == amounts.end() ? nullptr : &found->second;
}

// What the whole gang is charged for by one quota under one name.
kube::Amount AskedOf(const kube::ResourceQuota& quota, std::span<const QuotaAsk> asks,
                     const std::string& resource) {
  kube::Amount sum = 0;
  for (const QuotaAsk& ask : asks) {
    const kube::Amount* amount = Find(ask.charge->amounts, resource);
    if (amount != nullptr && quota.Selects(*ask.charge))
      sum = kube::AddAmounts(sum, kube::MultiplyAmount(*amount, ask.count));
  }
  return sum;
}

}  // namespace

void Quotas::Add(Sums& sums, const kube::QuotaCharge& charge, int64_t count) {
  for (const auto& [name, amount] : charge.amounts) sums[name] += Sum{amount} * count;
}

void Quotas::TakeIn(const json::Doc& object, bool gone) {
  kube::ResourceQuota quota = kube::ParseResourceQuota(object);
  ++generation_;
  Namespace& ns = namespaces_[quota.ns];
  if (gone) {
    ns.quotas.erase(quota.name);
    return Tidy(quota.ns);
  }
  Kept kept{std::move(quota), {}};
  for (const auto& [charge, count] : ns.charges) {
    if (kept.quota.Selects(*charge)) Add(kept.charged, *charge, count);
  }
  std::string name = kept.quota.name;
  ns.quotas.insert_or_assign(std::move(name), std::move(kept));
}

bool Quotas::any(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  return found != namespaces_.end() && !found->second.quotas.empty();
}

QuotaChargePtr Quotas::Shared(const std::string& ns, kube::QuotaCharge charge) const {
  auto made = std::make_shared<const kube::QuotaCharge>(std::move(charge));
  auto there = namespaces_.find(ns);
  if (there == namespaces_.end()) return made;
  auto found = there->second.charges.find(made);
  return found == there->second.charges.end() ? made : found->first;
}

void Quotas::Charge(const std::string& ns, const QuotaChargePtr& charge, int64_t count) {
  if (charge == nullptr || count == 0) return;
  Namespace& there = namespaces_[ns];
  auto [found, fresh] = there.charges.try_emplace(charge, 0);
  found->second += count;
  CHECK(found->second >= 0) << "discharged what was never charged in namespace " << ns;
  for (auto& [name, kept] : there.quotas) {
    if (kept.quota.Selects(*charge)) Add(kept.charged, *charge, count);
  }
  if (found->second == 0) there.charges.erase(found);
  Tidy(ns);
}

void Quotas::ChargeUntil(const std::string& ns, WallTime until, const QuotaChargePtr& charge) {
  if (charge == nullptr) return;
  Charge(ns, charge, 1);
  namespaces_[ns].leaving.emplace(until, charge);
}

void Quotas::DischargeUntil(const std::string& ns, WallTime until, const QuotaChargePtr& charge) {
  if (charge == nullptr) return;
  auto& leaving = namespaces_[ns].leaving;
  auto [first, last] = leaving.equal_range(until);
  auto found = std::find_if(first, last, [&](const auto& entry) { return *entry.second == *charge; });
  CHECK(found != last) << "discharged a leaving pod that was never charged in namespace " << ns;
  leaving.erase(found);
  Charge(ns, charge, -1);
}

void Quotas::Tidy(const std::string& ns) {
  auto found = namespaces_.find(ns);
  if (found != namespaces_.end() && found->second.charges.empty() && found->second.quotas.empty())
    namespaces_.erase(found);
}

kube::Amount Quotas::Charged(const Namespace& ns, const Kept& kept, const std::string& resource,
                             WallTime now) {
  auto sum = kept.charged.find(resource);
  if (sum == kept.charged.end()) return 0;
  Sum charged = sum->second;
  if (resource == "count/pods") return Saturated(charged);  // counts objects, whatever becomes of them
  for (const auto& [until, charge] : ns.leaving) {
    if (until > now) break;
    const kube::Amount* amount = Find(charge->amounts, resource);
    if (amount != nullptr && kept.quota.Selects(*charge)) charged -= *amount;
  }
  return Saturated(charged);
}

std::optional<QuotaLack> Quotas::Look(const std::string& ns, std::span<const QuotaAsk> asks, WallTime now,
                                      bool add_asked) const {
  auto there = namespaces_.find(ns);
  if (there == namespaces_.end()) return {};
  std::optional<QuotaLack> lack;
  for (const auto& [name, kept] : there->second.quotas) {
    for (const auto& [resource, in_spec] : kept.quota.hard) {
      kube::Amount asked = AskedOf(kept.quota, asks, resource);
      if (asked == 0) continue;
      const kube::Amount* enforced = Find(kept.quota.enforced, resource);
      const kube::Amount* counted = Find(kept.quota.used, resource);
      kube::Amount used = Charged(there->second, kept, resource, now);
      if (counted != nullptr) used = std::max(used, *counted);
      kube::Amount hard = enforced == nullptr ? in_spec : std::min(in_spec, *enforced);
      bool unknown = enforced == nullptr || counted == nullptr;
      if (!unknown && kube::AddAmounts(used, add_asked ? asked : 0) <= hard) continue;
      QuotaLack found{name, resource, asked, used, hard, asked > in_spec, unknown};
      if (found.never) return found;
      if (!lack) lack = std::move(found);
    }
  }
  return lack;
}

std::optional<QuotaLack> Quotas::Lack(const std::string& ns, std::span<const QuotaAsk> asks,
                                      WallTime now) const {
  return Look(ns, asks, now, /*add_asked=*/true);
}

std::optional<QuotaLack> Quotas::Overdrawn(const std::string& ns, std::span<const QuotaAsk> asks,
                                           WallTime now) const {
  return Look(ns, asks, now, /*add_asked=*/false);
}

std::optional<WallTime> Quotas::NextRelease(const std::string& ns, WallTime now) const {
  auto there = namespaces_.find(ns);
  if (there == namespaces_.end()) return {};
  auto next = there->second.leaving.upper_bound(now);
  if (next == there->second.leaving.end()) return {};
  return next->first;
}

void TakeInQuota(World& world, const Observed& observed) {
  std::string ns = json::GetString(*observed.object, "metadata.namespace");
  bool limited = world.quotas.any(ns);
  world.quotas.TakeIn(*observed.object, observed.gone);
  if (world.quotas.any(ns) != limited) world.TouchAll(ns);  // which gangs are alike has changed
  // Templates that a full quota kept from being checked.
  std::string prefix = "checks/" + ns + "/";
  for (auto check = world.checks.lower_bound(prefix);
       check != world.checks.end() && check->first.starts_with(prefix); ++check) {
    if (!check->second.quota_refusal) continue;
    if (!world.gangs.contains(check->second.asker)) return world.TouchAll(ns);
    world.Touch(check->second.asker);
  }
}

}  // namespace lockstep::cluster
