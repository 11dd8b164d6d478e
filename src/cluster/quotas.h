#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/time.h"
#include "cluster/event.h"
#include "json/doc.h"
#include "kube/model/quota.h"

namespace lockstep::cluster {

struct World;

using QuotaChargePtr = std::shared_ptr<const kube::QuotaCharge>;

// So many objects that are charged alike.
struct QuotaAsk {
  QuotaChargePtr charge;
  int64_t count = 0;

  friend bool operator==(const QuotaAsk&, const QuotaAsk&) = default;
};

// What a quota has no room for. Amounts are those of the whole gang.
struct QuotaLack {
  std::string quota, resource;
  kube::Amount asked = 0, used = 0, hard = 0;
  bool never = false;    // more than the quota allows when nothing of it is used
  bool unknown = false;  // nobody has counted yet what of it is used

  friend bool operator==(const QuotaLack&, const QuotaLack&) = default;
};

// The ResourceQuotas of all namespaces, and what is charged for in each: every pod that is there, and what a
// gang with seats has still to create. The quota controller's own count comes late both ways: it does not
// know what was created a moment ago, nor what has just gone, and the API server refuses by it. So the larger
// of its count and ours is taken as used.
class Quotas {
 public:
  // A ResourceQuota was seen, or is gone. Its key is "ns/name".
  void TakeIn(const json::Doc& object, bool gone);
  bool any(const std::string& ns) const;

  // The equal charge that is in that namespace already, so that pods can share it; else the one given.
  QuotaChargePtr Shared(const std::string& ns, kube::QuotaCharge charge) const;
  void Charge(const std::string& ns, const QuotaChargePtr& charge, int64_t count);
  void Discharge(const std::string& ns, const QuotaChargePtr& charge, int64_t count) {
    Charge(ns, charge, -count);
  }
  // A pod that is being deleted is charged for until this time and no longer, though it may stay for good on
  // a node that is lost. Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core QuotaV1Pod.
  void ChargeUntil(const std::string& ns, WallTime until, const QuotaChargePtr& charge);
  void DischargeUntil(const std::string& ns, WallTime until, const QuotaChargePtr& charge);

  // What keeps all of `asks` out of the quotas of their namespace; what no quota will ever allow goes first.
  std::optional<QuotaLack> Lack(const std::string& ns, std::span<const QuotaAsk> asks, WallTime now) const;
  // A quota of which more is used and promised than there is, under a name that `asks` are charged for.
  std::optional<QuotaLack> Overdrawn(const std::string& ns, std::span<const QuotaAsk> asks,
                                     WallTime now) const;
  // When a pod that is being deleted ceases to be charged for, or nothing.
  std::optional<WallTime> NextRelease(const std::string& ns, WallTime now) const;

  // Grows with every change of a quota.
  uint64_t generation() const { return generation_; }

 private:
  struct ByValue {
    bool operator()(const QuotaChargePtr& a, const QuotaChargePtr& b) const { return a != b && *a < *b; }
  };
  // Wide enough for a sum of any number of saturated amounts, so that what was added can be taken away again.
  using Sum = __int128;
  using Sums = std::map<std::string, Sum, std::less<>>;

  struct Kept {
    kube::ResourceQuota quota;
    Sums charged;  // of what it selects
  };
  struct Namespace {
    std::map<QuotaChargePtr, int64_t, ByValue> charges;
    std::multimap<WallTime, QuotaChargePtr> leaving;  // in `charges` too
    std::map<std::string, Kept> quotas;               // by name
  };

  std::optional<QuotaLack> Look(const std::string& ns, std::span<const QuotaAsk> asks, WallTime now,
                                bool add_asked) const;
  static void Add(Sums& sums, const kube::QuotaCharge& charge, int64_t count);
  static kube::Amount Charged(const Namespace& ns, const Kept& kept, const std::string& resource,
                              WallTime now);
  void Tidy(const std::string& ns);

  std::map<std::string, Namespace, std::less<>> namespaces_;
  uint64_t generation_ = 0;
};

// A ResourceQuota was seen or is gone: counts it, and touches the gangs that it concerns.
void TakeInQuota(World& world, const Observed& observed);

}  // namespace lockstep::cluster
