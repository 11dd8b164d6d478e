#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "hollow/hollow_node.h"
#include "hollow/write_queue.h"
#include "kube/api/api.h"
#include "kubelet/pod_life.h"
#include "shell/reflector.h"

namespace lockstep::hollow {

// Nodes that are alike. Node i is named <name_prefix><first + i>.
struct NodeSpec {
  int64_t count = 1;
  std::string name_prefix = "node-";
  int64_t first = 0;
  kube::Resources allocatable;  // "pods" is 110 if absent
  kube::Labels labels;
  std::vector<kube::Taint> taints;
};

struct FleetOptions {
  kubelet::Programme defaults;  // of pods without annotations
  std::string ns;               // only pods of this namespace; empty: all
  // Renew a Lease per node as a kubelet does. A node lifecycle controller marks nodes without as unreachable.
  bool leases = false;
  Duration lease_period = seconds(10);
  // Delete pods for NoExecute taints, as kube-controller-manager does; only where none runs.
  bool evict_by_taints = false;
  int writes_in_flight = 64;
  shell::ReflectorOptions reflector;
};

// Pretended nodes on one API server: their Node objects and leases, and the life of every pod that is bound
// to one of them (kubelet/pod_life.h). One list and watch of pods and one of nodes serve them all. Everything
// runs on the Api's Loop, so the same fleet lives in real and in virtual time. A fleet that is started again
// takes over the pods that an earlier one ran.
class Fleet {
 public:
  struct Counts {
    int64_t admitted = 0, refused = 0, ended = 0, evicted = 0;
  };

  Fleet(kube::Api& api, FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Begins to watch. Nodes may be added before and after.
  void Start();
  // A name that the fleet has already is left as it is.
  void AddNodes(const NodeSpec& spec);
  // The machine is gone: its Node and Lease are deleted, its processes end unreported.
  void RemoveNode(const std::string& name);
  void RemoveAllNodes();

  // What happens to a node; unknown names and transitions that make no sense are ignored.
  //   Freeze: its kubelet is suspended; processes live on. Thaw: it goes on and sees what it missed, in
  //   order. StopKubelet: its kubelet is killed. Thaw: a new one lists what there is; graces begun start
  //   over. Crash: power lost, every process gone at once. Boot: a new bootID; what ran is reported as
  //   255/Unknown.
  void Freeze(const std::string& name);
  void StopKubelet(const std::string& name);
  void Thaw(const std::string& name);
  void Crash(const std::string& name);
  void Boot(const std::string& name);

  // Every node is registered without a not-ready taint and the pods were listed.
  bool ready() const;
  // The first refusal of a node, in the API server's words; empty if none was refused.
  const std::string& refusal() const { return refusal_; }
  // No write is under way or waits.
  bool idle() const { return writes_.idle(); }

  std::vector<std::string> NodeNames() const;
  // The resources of all live processes of a node, also of those whose object was removed by force: more than
  // its allocatable is an overlap that no API object shows. Null for an unknown node.
  const kubelet::Usage* ProcessUsage(const std::string& name) const;
  // Live processes over all nodes.
  size_t processes() const;
  const Counts& counts() const { return counts_; }
  const WriteQueue::Counts& write_counts() const { return writes_.counts(); }

 private:
  void OnPod(json::DocPtr pod);
  void OnPodGone(const std::string& uid);
  void OnSynced();
  void OnNode(const json::Doc& object);
  void TakePod(HollowNode& node, const json::Doc& pod);
  void KeepUnseen(const std::string& uid, const std::string& node_name, json::DocPtr pod);
  void ForgetUnseen(const std::string& uid);
  void TakeUnseen(HollowNode& node);
  void SeePodChange(HollowPod& pod, const json::Doc& object);

  // Moves a pod on, does what its kubelet does now and sets its next wake. May erase the pod.
  void Drive(const std::string& uid);
  void Write(HollowPod& pod, const kubelet::LifeStep& step);
  void Account(HollowPod& pod);
  void SetWake(HollowPod& pod, std::optional<MonoTime> wake);
  void UpdateRendezvous(HollowPod& pod);
  void ReconsiderEviction(HollowPod& pod);
  void Evict(HollowPod& pod);
  void Erase(const std::string& uid);

  void Register(HollowNode& node);
  void OnRegistered(const std::string& name, const kube::Response& response);
  void RemoveNotReadyTaint(HollowNode& node, const json::Doc& object);
  void WriteNodeStatus(HollowNode& node);
  void ScheduleLease(HollowNode& node, Duration delay);
  void RenewLease(const std::string& name);
  void CreateLease(const std::string& name);

  void StopLooking(HollowNode& node, HollowNode::State state);
  void LookAgain(HollowNode& node);

  HollowNode* FindNode(const std::string& name);
  // A copy, for the pods of a node change while they are driven.
  std::vector<std::string> PodsOf(const HollowNode& node) const;

  kube::Api& api_;
  const FleetOptions options_;
  WriteQueue writes_;
  Counts counts_;
  std::unique_ptr<shell::Reflector> pod_reflector_, node_reflector_;
  bool synced_ = false;
  std::string refusal_;
  bool lease_namespace_asked_ = false;

  int64_t next_node_index_ = 0;
  std::map<std::string, std::unique_ptr<HollowNode>> nodes_;
  std::unordered_map<std::string, std::unique_ptr<HollowPod>> pods_;  // by UID
  // Bound to nodes where no kubelet of ours has looked yet: by node, then UID; and the node of each UID.
  std::unordered_map<std::string, std::unordered_map<std::string, json::DocPtr>> unseen_;
  std::unordered_map<std::string, std::string> unseen_on_;
  std::map<std::string, std::set<std::string>> rendezvous_;  // "ns/group" to UIDs that run
};

}  // namespace lockstep::hollow
