#pragma once

#include <string>

#include "kube/client/kubeconfig.h"

namespace lockstep::cli {

// Where to find the API server: --kubeconfig FILE, else the service account of the pod we run in (when there
// is no $KUBECONFIG), else $KUBECONFIG or ~/.kube/config.
Result<kube::ClientConfig> Connect(const std::string& kubeconfig, const std::string& context = "");

// For CLI11: "" or why the text can't be the name of a namespace.
std::string NamespaceFault(const std::string& text);

}  // namespace lockstep::cli
