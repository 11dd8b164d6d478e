#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "apiserver/store.h"
#include "base/time.h"
#include "kube/api/status.h"
#include "kube/model/quota.h"

namespace lockstep::apiserver {

// ResourceQuota for pods and services, scopes included, as two parts of a real cluster do it. Admission goes
// by a quota's status, so by nothing before that is written, and adds to `used` what it lets in. The quota
// controller counts anew, a moment after something came or went. Source:
// k8s.io/apiserver/pkg/admission/plugin/resourcequota, k8s.io/kubernetes/pkg/quota/v1/evaluator/core.
//
// Left out: what must be specified is asked of the pod, not of each container; a deleted pod is charged for
// until it is gone.
class Quotas {
 public:
  // The 403 for a new object that a quota of its namespace has no room for.
  static std::optional<kube::Status> Check(const Store& store, const kube::Resource& resource,
                                           const json::Doc& object);
  // The quotas that a new object is charged in, with it in their `used`.
  static std::vector<json::Doc> Charged(const Store& store, const kube::Resource& resource,
                                        const json::Doc& object);
  // status of a quota: hard and used.
  json::Doc StatusOf(const Store& store, const ObjectPtr& quota);
  void Forget(const std::string& uid) { charges_.erase(uid); }

 private:
  kube::Resources Used(const Store& store, const kube::ResourceQuota& quota);

  std::unordered_map<std::string, kube::QuotaCharge>
      charges_;  // by pod uid; what a pod asks for never changes
};

}  // namespace lockstep::apiserver
