#pragma once

#include "jobs/job.h"
#include "jobs/kind.h"

namespace lockstep::jobs::pytorch {

inline constexpr std::string_view kMaster = "Master", kWorker = "Worker";
inline constexpr std::string_view kTypes[] = {kMaster, kWorker};

inline constexpr Kind kKind{.resource = kube::kPyTorchJobs,
                            .role_specs = "pytorchReplicaSpecs",
                            .types = kTypes,
                            .any_case = false,  // upstream's webhook refuses another spelling
                            .fewest_replicas = 1,
                            .container = "pytorch",
                            .port_name = "pytorchjob-port",
                            .port = 23456,
                            .restart_policy = "OnFailure",
                            .scales = true};

// The variables that upstream appends to every main container of one replica, in upstream's order. A name the
// user has set too comes twice; Kubernetes lets the last one win.
json::Doc Environment(const Job& job, const Role& role, int32_t index);

// Host and port where elastic agents meet.
std::string RendezvousEndpoint(const Job& job);
// Whether the endpoint is our own worker-0 and not a host the user named.
bool MeetsAtWorkerZero(const Job& job);

// The init container that holds a worker back until the master's name resolves.
json::Doc InitContainer(const Job& job);

}  // namespace lockstep::jobs::pytorch
