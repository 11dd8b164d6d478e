#pragma once

#include <string>
#include <vector>

#include "json/doc.h"
#include "kube/model/quantity.h"

namespace lockstep::kube {

// What one object is charged for in the ResourceQuotas of its namespace, under every name that a quota may
// use for it ("pods", "count/pods", "cpu", "requests.nvidia.com/gpu", "limits.memory", "services"), and what
// the scopes of quotas ask about it.
struct QuotaCharge {
  Resources amounts;
  bool pod = true;                  // scopes select pods alone
  bool terminating = false;         // has an activeDeadlineSeconds
  bool best_effort = false;         // asks for neither cpu nor memory
  bool crosses_namespaces = false;  // has affinity terms about other namespaces
  std::string priority_class;

  friend auto operator<=>(const QuotaCharge&, const QuotaCharge&) = default;
};

// Of a pod that is not over. Amounts that can't be read count for nothing.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core PodUsageFunc.
QuotaCharge ChargeOf(const json::Doc& pod);
// The same where its effective requests are known (PodNeed::requests).
QuotaCharge ChargeOf(const json::Doc& pod, const Resources& requests);
// What is left of it once the pod is over: the object itself.
QuotaCharge EndedCharge(QuotaCharge pod);
// Of a service without node ports and load balancer.
QuotaCharge ServiceCharge();

// Equal on every machine and in every run.
uint64_t Hash(const QuotaCharge& charge, uint64_t seed);

struct QuotaScope {
  std::string name, op;  // "PriorityClass", "In"; scopes without an operator have Exists
  std::vector<std::string> values;
};

struct ResourceQuota {
  std::string ns, name;
  Resources hard;  // as the spec has it
  // As the quota controller wrote it down last, and the API server enforces it.
  Resources enforced, used;
  std::vector<QuotaScope> scopes;  // all of them must select

  bool Selects(const QuotaCharge& charge) const;
};

// Never fails: amounts that can't be read are left out.
ResourceQuota ParseResourceQuota(const json::Doc& object);

}  // namespace lockstep::kube
