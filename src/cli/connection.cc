#include "cli/connection.h"

#include <cstdlib>

namespace lockstep::cli {

Result<kube::ClientConfig> Connect(const std::string& kubeconfig, const std::string& context) {
  bool in_cluster = std::getenv("KUBERNETES_SERVICE_HOST") != nullptr && std::getenv("KUBECONFIG") == nullptr;
  if (kubeconfig.empty() && context.empty() && in_cluster) return kube::InClusterConfig();
  return kube::LoadKubeconfig(kubeconfig, context);
}

}  // namespace lockstep::cli
