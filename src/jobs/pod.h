#pragma once

#include <string>

#include "api/gang.h"
#include "jobs/job.h"
#include "jobs/kind.h"
#include "json/doc.h"
#include "kube/model/meta.h"

namespace lockstep::jobs {

// The name of a pod: upstream's `<job>-<type>-<index>` for attempt 1, with "-r<attempt>" from attempt 2 on.
// Over 63 characters: a shortened prefix and a hash of the whole, so that names stay unique and the attempt
// readable.
std::string PodName(const std::string& upstream_name, int64_t attempt);

// Turns the pod of attempt 1 into the one to create: name, label lockstep.dev/attempt, LOCKSTEP_ATTEMPT last
// in the environment of every container (init containers too), and the autoscalers' do-not-evict annotations
// where the template does not have them.
void StampPod(json::Doc& pod, int64_t attempt);
// Makes the pod one that gets to `node` this way: spec.nodeName, our schedulerName, or a required affinity to
// the node. Without a node: as it will be before it has a seat.
void SendBy(json::Doc& pod, api::Way way, const std::string& node);

// Whether StampPod made it: that can't be taken away from a pod, as labels can.
bool IsStamped(const json::Doc& pod);

// What the pods and services of every framework share. Source: training-operator pkg/controller.v1/common.

// `<job>-<type in lower case>-<index>`, however long.
std::string ReplicaName(const Job& job, const Role& role, int32_t index);
// The headless service of a replica: ReplicaName, shortened as PodName does, for DNS has 63 characters too.
std::string ServiceName(const Job& job, const Role& role, int32_t index);
// "pytorchjob-controller"
std::string OperatorName(const Framework& framework);
// Operator name, job name, replica type and index.
json::Doc ReplicaLabels(const Job& job, const Role& role, int32_t index);
// The selector of all replicas of a role, in the text form of a label selector.
std::string RoleSelector(const Job& job, const Role& role);
// The job as controlling owner.
json::Doc OwnerReferences(const Job& job);

// The pod of the role's template for one index: name, namespace, labels, owner, restart policy and default
// port. ExitCode becomes Never: the kubelet must not restart what we judge. `master` adds the label
// job-role=master.
json::Doc PodOfTemplate(const Job& job, const Role& role, int32_t index, bool master);
// Behind what is there already; of a name that comes twice the last one wins.
void AppendEnv(json::Doc& container, const json::Doc& variables);

// Adds the kind's port to its own container, or to the first where none has the name, unless that has a port
// of this name.
void AddDefaultPort(json::Doc& pod_spec, const Kind& kind);
// The number of the kind's port in a role's pods, defaults applied.
int64_t PortOf(const Role& role, const Kind& kind);
// The headless service of one replica, over the named ports of the kind's own container. Unnamed ports are
// left out: a service with several ports may not have them.
json::Doc ServiceFor(const Job& job, const Role& role, int32_t index);

}  // namespace lockstep::jobs
