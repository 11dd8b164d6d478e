#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "apiserver/store.h"
#include "kube/api/status.h"
#include "kube/model/quantity.h"

namespace lockstep::apiserver {

// ResourceQuota for pods: counts ("pods", "count/pods") and requests ("cpu", "memory", "requests.<name>") of
// the pods that are not terminal. Scopes and limits.* are not enforced. Usage is counted from the pods
// themselves, so it is never late. Source: k8s.io/apiserver/pkg/admission/plugin/resourcequota.
class Quotas {
 public:
  // The 403 for a new pod that a quota of its namespace has no room for.
  std::optional<kube::Status> Check(const Store& store, const json::Doc& pod);
  // status of a quota: hard and used.
  json::Doc StatusOf(const Store& store, const ObjectPtr& quota);
  void Forget(const std::string& uid) { usage_.erase(uid); }

 private:
  kube::Resources Used(const Store& store, const std::string& ns);

  std::unordered_map<std::string, kube::Resources> usage_;  // by pod uid; what a pod asks for never changes
};

}  // namespace lockstep::apiserver
