#include "web/ops_server.h"

#include <utility>

namespace lockstep::web {
namespace {

net::HttpResponse Text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body)};
}

net::HttpResponse Probe(const std::function<std::string()>& check) {
  std::string wrong = check ? check() : "";
  return wrong.empty() ? Text(200, "ok\n") : Text(503, wrong + "\n");
}

}  // namespace

net::HttpResponse AnswerOps(const OpsServerOptions& options, const Metrics& metrics,
                            const net::HttpRequest& request) {
  if (request.method != "GET") return Text(405, "only GET\n");
  std::string_view path = request.Path();
  if (path == "/healthz" || path == "/livez") return Probe(options.alive);
  if (path == "/readyz") return Probe(options.ready);
  if (path == "/metrics") {
    net::HttpResponse response = Text(200, metrics.Text());
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return response;
  }
  return Text(404, "see /healthz, /readyz, /metrics\n");
}

Result<std::unique_ptr<OpsServer>> OpsServer::Start(OpsServerOptions options, const Metrics& metrics) {
  net::ServerOptions listen{.address = options.address, .port = options.port};
  listen.limits.max_connections = 64;
  listen.limits.max_body_bytes = 4096;
  listen.limits.max_header_bytes = 16 << 10;
  auto handler = [options = std::move(options), &metrics](const net::HttpRequest& request) {
    return AnswerOps(options, metrics, request);
  };
  auto server = net::HttpServer::Start(listen, std::move(handler));
  if (!server.ok()) return Error{"health and metrics: " + server.error().message};
  return std::unique_ptr<OpsServer>(new OpsServer(*std::move(server)));
}

}  // namespace lockstep::web
