#include "cli/connection.h"

#include <cstdlib>

#include "jobs/field_errors.h"

namespace lockstep::cli {

Result<kube::ClientConfig> Connect(const std::string& kubeconfig, const std::string& context) {
  bool in_cluster = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr && std::getenv("KUBECONFIG") == nullptr;
  if (kubeconfig.empty() && context.empty() && in_cluster) return kube::InClusterConfig();
  return kube::LoadKubeconfig(kubeconfig, context);
}

std::string NamespaceFault(const std::string& text) {
  if (jobs::IsDns1123Label(text)) return "";
  return "\"" + text + "\" can't be a namespace: lower-case letters, digits and '-', at most 63";
}

}  // namespace lockstep::cli
