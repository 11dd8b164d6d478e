#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/model/pod.h"
#include "sim/neighbours.h"
#include "sim/picture.h"

namespace lockstep::sim {

// Arithmetic over a Picture that shares nothing with cluster/ and gang/: what is taken on each node, and
// whether a gang surely fits. Slow and plain, so that it can be trusted.

struct Taken {
  kube::Resources requests;  // "pods" counts pods
  std::vector<Neighbour> pods;
};
// By node: pods that hold resources, and the recorded seats of gangs whose pods do not exist yet. Without the
// pods and seats of `except` (a job's "ns/name").
std::map<std::string, Taken> TakenByNode(const Picture& picture, const std::string& except = "");

// Adds the seats that gangs of nobody's jobs have on record and no pod has yet (TakenByNode has those), or,
// of such that run, the seats of pods they have lost, which are kept for a while.
void AddGroupSeats(const Picture& picture, bool running, std::map<std::string, Taken>& taken);
// Whether such a gang has waited since before then: it may go before everybody.
bool OldGroupWaits(const Picture& picture, WallTime queued_before);

// What is to come to each node whatever we do: pods of DaemonSets that belong there and have none there yet,
// and, unless `daemons_alone`, pods that another scheduler has nominated to it.
void AddExpected(const Picture& picture, bool daemons_alone, std::map<std::string, Taken>& taken);
// What is on each node of a cluster without jobs and other people's pods: daemons and static pods, those to
// come included.
std::map<std::string, Taken> PermanentByNode(const Picture& picture);

// The first resource of which a node's pods take more than it has; "" if none.
std::string Excess(const kube::Node& node, const Taken& taken);

// How many more such pods a node takes. `taken` null: nothing.
int64_t Room(const kube::Node& node, const Taken* taken, const kube::PodNeed& need);

// True if the gang fits for sure: exact for alike pods without rules about other pods and without volumes,
// else a plain greedy search. `nodes`: those it may use; `all`: the cluster's. `ns`: the gang's.
bool SurelyFits(const std::vector<const kube::Node*>& nodes, const std::map<std::string, Taken>& taken,
                const std::vector<RoleAsk>& asks, const std::string& ns,
                const std::map<std::string, kube::Node>& all);

// Whether a pod that is there has an anti-affinity term; whether a pod of the gang wants a port of its host,
// or has rules about other pods, so that SurelyFits is not exact.
bool AnybodyKeepsAway(const std::map<std::string, Taken>& taken);
bool HasPorts(const std::vector<RoleAsk>& asks);
bool HasRules(const std::vector<RoleAsk>& asks);

// Whether a pod of the gang uses volumes, of which nothing is known here.
bool HasClaims(const std::vector<RoleAsk>& asks);

// The rule between pods that the recorded placement of a gang breaks; "" if there is none. `taken`: without
// the gang's own.
std::string BrokenRule(const Picture& picture, const SeenJob& job, const api::Gang& gang,
                       const std::map<std::string, Taken>& taken);

// All pods of the gang are alike, so SurelyFits is exact.
// The name of a quota that has no room for all pods and services of a job, by the quota controller's count
// (or without one); or "".
std::string FullQuota(const Picture& picture, const SeenJob& job);

bool Alike(const std::vector<RoleAsk>& asks);

}  // namespace lockstep::sim
