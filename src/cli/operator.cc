#include "shell/operator.h"

#include <unistd.h>

#include <cstdio>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/signals.h"
#include "kube/client/http_api.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string kubeconfig, context, ns, lease_namespace = "lockstep-system";
  bool leader_elect = false;
  std::string log_format = "json", log_level = "info";
  std::string health_address = "127.0.0.1:8081", metrics_address = "127.0.0.1:8080";
};

std::string Identity() {
  char host[256] = "lockstep";
  gethostname(host, sizeof host - 1);
  return std::string(host) + "_" + std::to_string(getpid()) + "_" +
         std::to_string(ReadClocks().wall.time_since_epoch().count());
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
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  shell::OperatorOptions options;
  options.ns = flags.ns;
  options.identity = Identity();
  if (flags.leader_elect) {
    options.leader.emplace();
    options.leader->ns = flags.lease_namespace;
    options.leader->identity = options.identity;
  }
  shell::Operator op(api, options);
  signals.Watch(loop, [&] {
    LogLine(LogLevel::kInfo, "stopping");
    op.Stop([&] { loop.Stop(); });
  });
  LogLine(LogLevel::kInfo, "starting", {{"server", config->server}, {"version", LOCKSTEP_VERSION}});
  op.Start();
  loop.Run();
  LogLine(LogLevel::kInfo, "stopped");
  return 0;
}

}  // namespace

void AddOperatorCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("operator", "Run the operator against a Kubernetes API server");
  command->add_option("--kubeconfig", flags->kubeconfig, "kubeconfig file (default: in-cluster, $KUBECONFIG, ~/.kube/config)");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("--namespace", flags->ns, "manage jobs of this namespace only");
  command->add_flag("--leader-elect", flags->leader_elect, "work only while holding the Lease lockstep-operator");
  command->add_option("--lease-namespace", flags->lease_namespace, "namespace of the Lease")->capture_default_str();
  command->add_option("--log-format", flags->log_format, "json or text")
      ->check(CLI::IsMember({"json", "text"}))
      ->capture_default_str();
  command->add_option("--log-level", flags->log_level, "debug or info")
      ->check(CLI::IsMember({"debug", "info"}))
      ->capture_default_str();
  command->callback([flags, &run] { run = [flags] { return RunOperator(*flags); }; });
}

}  // namespace lockstep::cli
