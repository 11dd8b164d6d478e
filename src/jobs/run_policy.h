#pragma once

#include "jobs/field_errors.h"
#include "jobs/job.h"
#include "jobs/kind.h"

namespace lockstep::jobs {

// spec.runPolicy of any kubeflow.org/v1 kind, with upstream's defaults; broken fields are listed.
RunPolicy ReadRunPolicy(const json::Doc& spec, FieldErrors& errors);

// The roles of `spec` in the kind's own order, upstream's defaults applied, the templates checked. Replicas
// must be at most 2^31-1 and as many as the kind asks for; what it demands beyond that is for the caller.
std::vector<Role> ReadRoles(const json::Doc& spec, const Kind& kind, FieldErrors& errors);

}  // namespace lockstep::jobs
