#pragma once

#include <variant>

#include "jobs/framework.h"

namespace lockstep::jobs::pytorch {

// Reads a PyTorchJob with upstream's defaults and validation, and lists every broken field. Whatever `object`
// holds, this returns. Source: pkg/webhooks/pytorch/pytorchjob_webhook.go, pkg/apis/kubeflow.org/v1.
std::variant<Job, InvalidJob> ReadPyTorchJob(const Framework& framework, const json::Doc& object);

}  // namespace lockstep::jobs::pytorch
