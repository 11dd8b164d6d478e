#pragma once

#include <string>
#include <vector>

#include "json/doc.h"

namespace lockstep::api {

// The CustomResourceDefinitions that `lockstep crds` prints: Gang (lockstep.dev/v1alpha1), PyTorchJob and
// TFJob (kubeflow.org/v1; compatible with the upstream ones, which are left alone where they are installed
// already). Structural schemas with descriptions, status subresource, printer columns and short names.
std::vector<json::Doc> Crds();

json::Doc GangCrd();
json::Doc PyTorchJobCrd();
json::Doc TFJobCrd();

// One CRD as the file deploy/crds/<name>.yaml holds it.
std::string CrdYaml(const json::Doc& crd);
// docs/api.md: every field of every kind, with its description.
std::string ApiMarkdown();

}  // namespace lockstep::api
