#pragma once

#include <functional>
#include <set>
#include <string>

#include "apiserver/store.h"
#include "kube/api/api.h"

namespace lockstep::apiserver {

// The part of kube-controller-manager that tests and jobs depend on:
//  - the garbage collector: an object all of whose owners are gone is deleted; one that still has another
//  owner
//    loses the reference to the dead one; "Foreground" and "Orphan" deletions are completed;
//  - the namespace controller: a namespace being deleted is emptied, then removed;
//  - the quota controller: status.hard and status.used of ResourceQuotas.
// They work through ordinary requests, so that watchers and audits see what they would see of a real one.
class Controllers {
 public:
  using Send = std::function<kube::Response(const kube::Request&)>;
  using QuotaStatus = std::function<json::Doc(const ObjectPtr& quota)>;

  // Takes note of a change; the work is done later.
  void Note(const Store& store, const Change& change);
  bool idle() const { return uids_.empty() && quotas_.empty(); }
  // Does what was noted, and what that leads to.
  void Run(const Store& store, const Send& send, const QuotaStatus& quota_status);

 private:
  void Process(const Store& store, const ObjectPtr& object, const Send& send);
  void FinishForeground(const Store& store, const ObjectPtr& owner, const Send& send);
  void FinishOrphan(const Store& store, const ObjectPtr& owner, const Send& send);
  void EmptyNamespace(const Store& store, const ObjectPtr& ns, const Send& send);
  void SyncQuota(const Store& store, const std::string& key, const Send& send,
                 const QuotaStatus& quota_status);

  std::set<std::string> uids_;    // of objects to look at, in a fixed order
  std::set<std::string> quotas_;  // keys
};

}  // namespace lockstep::apiserver
