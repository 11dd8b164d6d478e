#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/gang.h"
#include "base/time.h"
#include "json/doc.h"
#include "kube/api/api.h"
#include "kube/model/daemon_set.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "kube/model/quota.h"

namespace lockstep::sim {

// A pod with its place in a job, which its labels say; `job` is empty for a pod of nobody's.
struct SeenPod {
  kube::Pod pod;
  std::string job;   // "ns/name"
  std::string role;  // "worker"
  int32_t index = -1;
  int64_t attempt = 0;
  std::string owner_uid;  // of its controller

  const std::string& uid() const { return pod.meta.uid; }
  bool deleting() const { return pod.meta.deleted_at.has_value(); }
  bool live() const { return !pod.terminal() && !deleting(); }
  bool running() const { return pod.phase == kube::PodPhase::kRunning && !deleting(); }
  // Waits for a scheduler: it holds nothing and can't start.
  bool unbound() const { return pod.node_name.empty() && live(); }
  // No process of it is left and none can come.
  bool ended() const { return pod.terminal() && kube::AllContainersEnded(pod); }
};

// What one role of a job asks for, from its template as the user wrote it.
struct RoleAsk {
  std::string role;  // "Worker"
  int32_t count = 0;
  kube::PodNeed need;
  kube::Labels labels;  // of its pods, without those that differ from pod to pod
  kube::QuotaCharge charge;
};

struct SeenJob {
  kube::Meta meta;
  json::DocPtr object;
  const kube::Resource* resource = nullptr;

  // Read once from the object.
  bool succeeded = false, failed = false;
  bool ours = false;          // no other controller is named
  bool suspended = false;     // by its spec
  std::string gang;           // key of its Gang
  std::vector<RoleAsk> asks;  // empty if they can't be read

  const json::Doc* condition(std::string_view type) const;
  bool is_true(std::string_view type) const;
  bool finished() const { return succeeded || failed; }
  std::string state() const;  // the type of the last condition, as `kubectl get` shows it
};

// What the API server holds, as a bystander sees it: read from watches, never from the operator.
class Picture {
 public:
  // One change. `old` and `now` of the kind that changed are in the maps below before and after.
  struct Change {
    const kube::Resource* resource = nullptr;
    std::string key;
    bool gone = false;
  };
  using Listener = std::function<void(const Change&)>;

  // Called after every change.
  void Listen(Listener listener) { listeners_.push_back(std::move(listener)); }
  // Those who listened are about to go; the picture itself goes on.
  void ForgetListeners() { listeners_.clear(); }
  void Take(const kube::Resource& resource, const json::DocPtr& object, bool gone);

  const SeenJob* FindJob(const std::string& key) const;
  // The Gang of a job, if it is that job's and not a predecessor's.
  const api::Gang* GangOf(const SeenJob& job) const;
  // All pods that carry the job's name, of whatever attempt.
  std::vector<const SeenPod*> PodsOf(const std::string& job_key) const;

  uint64_t version = 0;  // grows with every change
  // Grow when nodes may take other pods than before, and when seats may be free or taken that were not: by
  // nodes, by pods that come, go or hold something else, by recorded placements, by jobs that come, go or
  // end.
  uint64_t nodes_version = 0, seats_version = 0;
  std::map<std::string, SeenPod> pods;  // "ns/name"
  std::map<std::string, kube::Node> nodes;
  std::map<std::string, api::Gang> gangs;  // "ns/name"
  std::map<std::string, SeenJob> jobs;     // "ns/name"
  std::map<std::string, kube::Meta> services;
  std::map<std::string, kube::DaemonSet> daemon_sets;
  std::map<std::string, json::DocPtr> events;
  std::map<std::string, kube::ResourceQuota> quotas;  // "ns/name"
  kube::Resources injected;                           // what admission adds to every pod of jobs to come

  // When the first placement of each job ("ns/name") was decided.
  std::map<std::string, WallTime> first_placed;

 private:
  void TakePod(const json::Doc& object, const std::string& key);
  void TakeNode(const json::Doc& object, const std::string& key, bool gone);
  void TakeJob(const kube::Resource& resource, const json::DocPtr& object, const std::string& key);
  void TakeGang(const json::Doc& object, const std::string& key);

  std::vector<Listener> listeners_;
  std::map<std::string, std::map<std::string, const SeenPod*>> pods_of_;  // by job and by pod
};

// The resources that a Picture is made of.
std::vector<const kube::Resource*> PictureResources();

}  // namespace lockstep::sim
