#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "cluster/nodes.h"
#include "kube/model/daemon_set.h"

namespace lockstep::cluster {

struct World;

// A DaemonSet whose pods are to come: on each node where it belongs and has none yet, its pod counts as
// present, on the empty cluster too. A pod that is larger than the node alone never comes.
struct DaemonSetState {
  std::shared_ptr<const kube::DaemonSet> set;
  ClassId pod_class = 0;
  PodIdentityPtr who;
  std::set<std::string> expected;  // nodes on which its pod is counted
};

// Observed: DaemonSets, and where their pods are.
struct Daemons {
  std::map<std::string, DaemonSetState> sets;  // "ns/name"
  // By UID of the owner: how many pods that hold something are on each node.
  std::unordered_map<std::string, std::unordered_map<std::string, int32_t>> pods;
};

// A DaemonSet is there, has changed, or (null) is gone.
void SetDaemonSet(World& world, const std::string& key, std::shared_ptr<const kube::DaemonSet> set);
// A pod of an owner that keeps one on every node came to `node` (1) or left it (-1).
void CountDaemonPod(World& world, const std::string& owner_uid, const std::string& node, int32_t change);
// The node is new, has changed, or is about to be removed (`gone`).
void RefreshDaemonsOn(World& world, const std::string& node, bool gone);

}  // namespace lockstep::cluster
