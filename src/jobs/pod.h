#pragma once

#include <string>

#include "json/doc.h"

namespace lockstep::jobs {

// The name of a pod: upstream's `<job>-<type>-<index>` for attempt 1, with "-r<attempt>" from attempt 2 on. Over
// 63 characters: a shortened prefix and a hash of the whole, so that names stay unique and the attempt readable.
std::string PodName(const std::string& upstream_name, int64_t attempt);

// Turns the pod of attempt 1 into the one to create: name, label lockstep.dev/attempt, LOCKSTEP_ATTEMPT last in
// the environment of every container (init containers too), spec.nodeName when `node` is given.
void StampPod(json::Doc& pod, int64_t attempt, const std::string& node);

}  // namespace lockstep::jobs
