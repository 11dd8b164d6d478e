#pragma once

#include "jobs/job.h"

namespace lockstep::jobs::pytorch {

inline constexpr std::string_view kMaster = "Master", kWorker = "Worker";
inline constexpr std::string_view kContainer = "pytorch";
inline constexpr std::string_view kPortName = "pytorchjob-port";
inline constexpr int32_t kDefaultPort = 23456;

// Adds upstream's default port to the container `pytorch` when no port of that name is there.
void AddDefaultPort(json::Doc& pod_spec);

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
