#pragma once

#include <variant>

#include "jobs/field_errors.h"
#include "jobs/framework.h"

namespace lockstep::jobs {

// Lists what one kind demands of a job beyond what all do. `job` has its spec and those roles that could be
// read.
using OwnRules = void (*)(const Job& job, FieldErrors& errors);

// Reads a job of any kubeflow.org/v1 kind with upstream's defaults and validation, and lists every broken
// field. Whatever `object` holds, this returns; a job of another controller is never judged. Source:
// pkg/webhooks, pkg/apis/kubeflow.org/v1.
std::variant<Job, InvalidJob> ReadJob(const Framework& framework, const json::Doc& object, OwnRules rules);

}  // namespace lockstep::jobs
