#pragma once

#include "jobs/field_errors.h"
#include "jobs/job.h"

namespace lockstep::jobs {

// spec.runPolicy of any kubeflow.org/v1 kind, with upstream's defaults; broken fields are listed.
RunPolicy ReadRunPolicy(const json::Doc& spec, FieldErrors& errors);

// The roles of `spec.<key>` in the order of `types`, upstream's defaults applied, the templates checked.
// Replicas must be 1 to 2^31-1; what a kind demands beyond that is for the caller.
std::vector<Role> ReadRoles(const json::Doc& spec, std::string_view key,
                            std::span<const std::string_view> types, std::string_view container,
                            std::string_view restart_default, FieldErrors& errors);

}  // namespace lockstep::jobs
