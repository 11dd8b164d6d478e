#pragma once

#include "jobs/field_errors.h"
#include "jobs/job.h"

namespace lockstep::jobs::tensorflow {

// What a TFJob demands beyond what every job does: at most one of Chief and Master, a known successPolicy,
// and a TF_CONFIG that a process can be started with. Source: pkg/webhooks/tensorflow/tfjob_webhook.go; the
// last two are ours, for upstream lets such a job wait or fail for ever.
void CheckSpec(const Job& job, FieldErrors& errors);

}  // namespace lockstep::jobs::tensorflow
