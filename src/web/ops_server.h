#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_server.h"
#include "web/metrics.h"

namespace lockstep::web {

struct OpsServerOptions {
  std::string address = "127.0.0.1";  // in a pod "0.0.0.0", for the kubelet's probes
  uint16_t port = 0;                  // 0: any free one
  // Empty: fine; else why not, in one line. Called on the server's thread, for every probe.
  std::function<std::string()> alive;  // a failure gets the pod restarted: only for what that cures
  std::function<std::string()> ready;
};

// For kubelet and Prometheus: /healthz and /livez, /readyz, /metrics; plain HTTP, GET.
// `metrics` must outlive the server.
class OpsServer {
 public:
  static Result<std::unique_ptr<OpsServer>> Start(OpsServerOptions options, const Metrics& metrics);

  uint16_t port() const { return server_->port(); }

 private:
  explicit OpsServer(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}
  std::unique_ptr<net::HttpServer> server_;
};

// What the server answers, apart from it.
net::HttpResponse AnswerOps(const OpsServerOptions& options, const Metrics& metrics,
                            const net::HttpRequest& request);

}  // namespace lockstep::web
