#pragma once

#include <string>

#include "base/result.h"

namespace lockstep::kube {

// Where an API server is and who we are to it. Certificates and keys are PEM, held in memory.
struct ClientConfig {
  std::string server;  // "https://host:port" with an optional path, no slash at the end
  std::string ca_pem;  // whom to trust; empty: the machine's own store
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;  // the name the server's certificate must have, if not the host of `server`
  std::string certificate_pem, key_pem;
  std::string token;       // bearer token
  std::string token_file;  // read again as it changes; wins over `token`
  std::string ns = "default";
};

// Reads a kubeconfig as kubectl does. `path` empty: the files of $KUBECONFIG, else ~/.kube/config. `context`
// empty: current-context. Where several files name the same thing, the first one counts. Relative file names
// inside a kubeconfig start at its folder. Exec plugins, auth providers, passwords, impersonation and proxies
// are refused. Errors name the file and the field.
Result<ClientConfig> LoadKubeconfig(const std::string& path = "", const std::string& context = "");

// The configuration of a pod: $KUBERNETES_SERVICE_HOST and _PORT and the files of its service account.
// `folder` is the mount of the service account; it is a parameter only for tests.
inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ClientConfig> InClusterConfig(const std::string& folder = kServiceAccountFolder);

}  // namespace lockstep::kube
