#include "shell/operator.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <mutex>

#include "base/log.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/operator_metrics.h"
#include "cli/signals.h"
#include "kube/client/http_api.h"
#include "web/metrics.h"
#include "web/ops_server.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string kubeconfig, context, ns, lease_namespace = "lockstep-system";
  bool leader_elect = false;
  std::string age_limit = "30m";
  std::string assign = "assign";
  std::string log_format = "json", log_level = "info";
  std::string health_address, metrics_address;
};

// "HOST:PORT"; an empty text means that the server isn't wanted.
Result<std::unique_ptr<web::OpsServer>> Serve(const std::string& flag, const std::string& address,
                                              web::OpsServerOptions options, const web::Metrics& metrics) {
  size_t colon = address.rfind(':');
  int port = colon == std::string::npos ? -1 : std::atoi(address.c_str() + colon + 1);
  if (port < 0 || port > 65535) return Error{flag + ": must be HOST:PORT, is \"" + address + "\""};
  options.address = address.substr(0, colon);
  options.port = static_cast<uint16_t>(port);
  auto server = web::OpsServer::Start(std::move(options), metrics);
  if (!server.ok()) return Error{flag + ": " + server.error().message};
  return server;
}

// What the probes are told; written on the loop, read on the servers' threads.
class Condition {
 public:
  void Set(std::string trouble) {
    std::lock_guard lock(mutex_);
    trouble_ = std::move(trouble);
  }
  std::string Get() const {
    std::lock_guard lock(mutex_);
    return trouble_;
  }

 private:
  mutable std::mutex mutex_;
  std::string trouble_ = "starting";
};

std::string Identity() {
  char host[256] = "lockstep";
  gethostname(host, sizeof host - 1);
  return std::string(host) + "_" + std::to_string(getpid()) + "_" +
         std::to_string(ReadClocks().wall.time_since_epoch().count());
}

// An empty namespace and a missing one list alike. May be forbidden: then nothing is known.
void WarnIfMissing(kube::Api& api, const std::string& ns) {
  kube::Request request;
  request.verb = kube::Verb::kGet;
  request.resource = &kube::kNamespaces;
  request.name = ns;
  api.Send(request, [ns](const kube::Response& response) {
    if (response.status.not_found())
      LogLine(LogLevel::kWarning, "the namespace does not exist (yet)", {{"namespace", ns}});
  });
}

int RunOperator(const Flags& flags) {
  SetLog(flags.log_level == "debug" ? LogLevel::kDebug : LogLevel::kInfo,
         flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
  Signals signals;
  Result<kube::ClientConfig> config = Connect(flags.kubeconfig, flags.context);
  if (!config.ok()) {
    std::fprintf(stderr, "lockstep operator: %s\n", config.error().message.c_str());
    return 1;
  }
  Result<Duration> age_limit = ParseDuration(flags.age_limit);
  if (!age_limit.ok()) {
    std::fprintf(stderr, "lockstep operator: --age-limit: %s\n", age_limit.error().message.c_str());
    return 1;
  }
  RealLoop loop;
  kube::HttpApiOptions client;
  client.connections = 64;             // as many as the executor has writes in flight
  client.retry.max_write_retries = 0;  // the engine tries again, after the lease was asked
  kube::HttpApi api(loop, *config, client);
  shell::OperatorOptions options;
  options.settings.age_limit = *age_limit;
  options.settings.way = *api::ParseWay(flags.assign);
  options.ns = flags.ns;
  options.identity = Identity();
  if (flags.leader_elect) {
    options.leader.emplace();
    options.leader->ns = flags.lease_namespace;
    options.leader->identity = options.identity;
  }
  web::Metrics metrics(LOCKSTEP_VERSION);
  OperatorMetrics observer(metrics);
  shell::Operator op(api, options, &observer);

  Condition ready;
  web::OpsServerOptions ops;
  ops.ready = [&ready] { return ready.Get(); };
  std::vector<std::unique_ptr<web::OpsServer>> servers;
  for (const auto& [flag, address] : {std::pair("--health-address", flags.health_address),
                                      std::pair("--metrics-address", flags.metrics_address)}) {
    if (address.empty()) continue;
    auto server = Serve(flag, address, ops, metrics);
    if (!server.ok()) {
      std::fprintf(stderr, "lockstep operator: %s\n", server.error().message.c_str());
      return 1;
    }
    servers.push_back(*std::move(server));
  }
  Timer probe(loop);
  std::function<void()> look = [&] {
    ready.Set(op.trouble());
    probe.SetAfter(milliseconds(500), look);
  };
  look();
  signals.Watch(loop, [&] {
    LogLine(LogLevel::kInfo, "stopping");
    op.Stop([&] { loop.Stop(); });
  });
  LogLine(LogLevel::kInfo, "starting", {{"server", config->server}, {"version", LOCKSTEP_VERSION}});
  if (!flags.ns.empty()) WarnIfMissing(api, flags.ns);
  op.Start();
  loop.Run();
  LogLine(LogLevel::kInfo, "stopped");
  return 0;
}

}  // namespace

void AddOperatorCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("operator", "Run the operator against a Kubernetes API server");
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "kubeconfig file (default: in-cluster, $KUBECONFIG, ~/.kube/config)");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("--namespace", flags->ns, "manage jobs of this namespace only")->check(NamespaceFault);
  command->add_flag("--leader-elect", flags->leader_elect,
                    "work only while holding the Lease lockstep-operator");
  command->add_option("--lease-namespace", flags->lease_namespace, "namespace of the Lease; it must exist")
      ->check(NamespaceFault)
      ->capture_default_str();
  command
      ->add_option(
          "--age-limit", flags->age_limit,
          "a gang that has waited this long goes before all younger ones and blocks them until it starts")
      ->capture_default_str();
  command
      ->add_option("--assign", flags->assign,
                   "how pods get to their nodes: assign (created with spec.nodeName), or bind (they wait "
                   "without a node, "
                   "for an autoscaler to see, and are bound together)")
      ->check(CLI::IsMember({"assign", "bind"}))
      ->capture_default_str();
  command->add_option(
      "--health-address", flags->health_address,
      "HOST:PORT for /healthz, /livez and /readyz, for example 127.0.0.1:8081 (default: not served)");
  command->add_option("--metrics-address", flags->metrics_address,
                      "HOST:PORT for /metrics, for example 127.0.0.1:8080 (default: not served)");
  command->add_option("--log-format", flags->log_format, "json or text")
      ->check(CLI::IsMember({"json", "text"}))
      ->capture_default_str();
  command->add_option("--log-level", flags->log_level, "debug or info")
      ->check(CLI::IsMember({"debug", "info"}))
      ->capture_default_str();
  command->callback([flags, &run] { run = [flags] { return RunOperator(*flags); }; });
}

}  // namespace lockstep::cli
