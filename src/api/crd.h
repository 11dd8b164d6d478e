#pragma once

#include <vector>

#include "json/doc.h"

namespace lockstep::api {

// The CustomResourceDefinitions that `lockstep crds` prints: Gang (lockstep.dev/v1alpha1) and PyTorchJob
// (kubeflow.org/v1; compatible with the upstream one, which is left alone where it is installed already).
// Structural schemas with descriptions, status subresource, printer columns and short names.
std::vector<json::Doc> Crds();

}  // namespace lockstep::api
