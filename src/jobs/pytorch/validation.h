#pragma once

#include "jobs/field_errors.h"
#include "jobs/job.h"

namespace lockstep::jobs::pytorch {

// What a PyTorchJob demands beyond what every job does: one Master, nprocPerNode, elasticPolicy.
// Source: pkg/webhooks/pytorch/pytorchjob_webhook.go.
void CheckSpec(const Job& job, FieldErrors& errors);

}  // namespace lockstep::jobs::pytorch
