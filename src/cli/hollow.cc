#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/log.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/signals.h"
#include "hollow/fleet.h"
#include "kube/client/http_api.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string kubeconfig, context, ns;
  int64_t nodes = 1, first = 0;
  std::string cpu = "64", memory = "256Gi", pods = "110", gpu;
  std::vector<std::string> resources, labels, taints;
  std::string name_prefix = "node-", run_time = "10s", start_delay = "0s";
  bool leases = false, evict = false, remove_nodes = false;
  int writes = 64;
};

Error WrongFlag(const std::string& flag, const std::string& why) { return Error{"--" + flag + ": " + why}; }

// Splits "name=value"; an empty name is an error.
Result<std::pair<std::string, std::string>> SplitPair(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) return Error{"must be name=value, is \"" + text + "\""};
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

// "key=value:Effect" or "key:Effect", as kubectl taint takes it.
Result<kube::Taint> ParseTaintFlag(const std::string& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return Error{"must be key=value:Effect, is \"" + text + "\""};
  std::string effect = text.substr(colon + 1), key = text.substr(0, colon), value;
  if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
    return Error{"effect must be NoSchedule, PreferNoSchedule or NoExecute, is \"" + effect + "\""};
  }
  if (size_t equals = key.find('='); equals != std::string::npos) {
    value = key.substr(equals + 1);
    key.resize(equals);
  }
  return kube::Taint{key, value, effect};
}

Outcome AddResource(kube::Resources& resources, const std::string& flag, const std::string& name,
                    const std::string& text) {
  Result<kube::Amount> amount = kube::ParseQuantity(text);
  if (!amount.ok()) return WrongFlag(flag, amount.error().message);
  if (*amount < 0) return WrongFlag(flag, "must not be negative, is \"" + text + "\"");
  resources[name] = *amount;
  return std::nullopt;
}

Result<hollow::NodeSpec> ReadSpec(const Flags& flags) {
  hollow::NodeSpec spec;
  spec.count = flags.nodes;
  spec.first = flags.first;
  spec.name_prefix = flags.name_prefix;
  if (auto wrong = AddResource(spec.allocatable, "cpu", "cpu", flags.cpu)) return *wrong;
  if (auto wrong = AddResource(spec.allocatable, "memory", "memory", flags.memory)) return *wrong;
  if (auto wrong = AddResource(spec.allocatable, "pods", "pods", flags.pods)) return *wrong;
  if (!flags.gpu.empty()) {
    if (auto wrong = AddResource(spec.allocatable, "gpu", "nvidia.com/gpu", flags.gpu)) return *wrong;
  }
  for (const std::string& text : flags.resources) {
    auto pair = SplitPair(text);
    if (!pair.ok()) return WrongFlag("resource", pair.error().message);
    if (auto wrong = AddResource(spec.allocatable, "resource", pair->first, pair->second)) return *wrong;
  }
  for (const std::string& text : flags.labels) {
    auto pair = SplitPair(text);
    if (!pair.ok()) return WrongFlag("label", pair.error().message);
    spec.labels[pair->first] = pair->second;
  }
  for (const std::string& text : flags.taints) {
    Result<kube::Taint> taint = ParseTaintFlag(text);
    if (!taint.ok()) return WrongFlag("taint", taint.error().message);
    spec.taints.push_back(*taint);
  }
  return spec;
}

Result<hollow::FleetOptions> ReadOptions(const Flags& flags) {
  hollow::FleetOptions options;
  Result<std::optional<Duration>> run_time = kubelet::ParseRunTime(flags.run_time);
  if (!run_time.ok()) return WrongFlag("run-time", run_time.error().message);
  options.defaults.run_time = *run_time;
  Result<Duration> start_delay = ParseDuration(flags.start_delay);
  if (!start_delay.ok()) return WrongFlag("start-delay", start_delay.error().message);
  options.defaults.start_delay = *start_delay;
  options.ns = flags.ns;
  options.leases = flags.leases;
  options.evict_by_taints = flags.evict;
  options.writes_in_flight = flags.writes;
  return options;
}

// Runs `fleet` until a signal; with `remove_nodes` its nodes go first. Ends at once where a node is refused.
void RunFleet(RealLoop& loop, Signals& signals, hollow::Fleet& fleet, bool remove_nodes) {
  Timer poll(loop);
  bool stopping = false;
  std::function<void()> look = [&] {
    if (stopping && fleet.idle()) return loop.Stop();
    if (!fleet.refusal().empty()) return loop.Stop();
    if (!stopping && fleet.ready()) {
      std::printf("ready: %zu nodes\n", fleet.NodeNames().size());
      std::fflush(stdout);
      return;
    }
    poll.SetAfter(milliseconds(20), look);
  };
  signals.Watch(loop, [&] {
    if (!remove_nodes) return loop.Stop();
    stopping = true;
    fleet.RemoveAllNodes();
    poll.SetAfter(Duration::zero(), look);
  });
  look();
  loop.Run();
}

int RunHollow(const Flags& flags) {
  SetLog(LogLevel::kInfo, LogFormat::kText);
  Signals signals;
  auto fail = [](const Error& error) {
    std::fprintf(stderr, "lockstep hollow: %s\n", error.message.c_str());
    return 1;
  };
  Result<hollow::NodeSpec> spec = ReadSpec(flags);
  if (!spec.ok()) return fail(spec.error());
  Result<hollow::FleetOptions> options = ReadOptions(flags);
  if (!options.ok()) return fail(options.error());
  Result<kube::ClientConfig> config = Connect(flags.kubeconfig, flags.context);
  if (!config.ok()) return fail(config.error());
  RealLoop loop;
  // Its own name, so that an audit log tells these kubelets from the operator.
  kube::HttpApiOptions client;
  client.user_agent = "lockstep-hollow/" LOCKSTEP_VERSION;
  kube::HttpApi api(loop, *config, client);
  hollow::Fleet fleet(api, *options);
  fleet.AddNodes(*spec);
  fleet.Start();
  RunFleet(loop, signals, fleet, flags.remove_nodes);
  if (!fleet.refusal().empty()) return fail(Error{"a node was refused: " + fleet.refusal()});
  return 0;
}

void AddNodeFlags(CLI::App& command, Flags& flags) {
  command.add_option("--nodes", flags.nodes, "how many nodes")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command.add_option("--first", flags.first, "number of the first node")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--name-prefix", flags.name_prefix, "nodes are named PREFIX0, PREFIX1, ...")
      ->capture_default_str();
  command.add_option("--cpu", flags.cpu, "CPUs of each node")->capture_default_str();
  command.add_option("--memory", flags.memory, "memory of each node")->capture_default_str();
  command.add_option("--pods", flags.pods, "most pods of each node")->capture_default_str();
  command.add_option("--gpu", flags.gpu, "GPUs (nvidia.com/gpu) of each node");
  command.add_option("--resource", flags.resources, "a further resource, example.com/foo=4 (repeatable)");
  command.add_option("--label", flags.labels, "a node label, key=value (repeatable)");
  command.add_option("--taint", flags.taints, "a node taint, key=value:Effect (repeatable)");
  command.add_flag("--leases", flags.leases, "renew a Lease per node, for a kube-controller-manager");
  command.add_flag("--evict-by-taints", flags.evict,
                   "delete pods for NoExecute taints, where no kube-controller-manager runs");
  command.add_flag("--remove-nodes-on-exit", flags.remove_nodes, "delete the nodes on SIGTERM or SIGINT");
}

}  // namespace

void AddHollowCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("hollow", "Run pretended nodes on a Kubernetes API server");
  command->add_option("--kubeconfig", flags->kubeconfig,
                      "kubeconfig file (default: in-cluster, $KUBECONFIG, ~/.kube/config)");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("--namespace", flags->ns, "run pods of this namespace only")->check(NamespaceFault);
  AddNodeFlags(*command, *flags);
  command->add_option("--run-time", flags->run_time, "how long a pod without annotations runs, or forever")
      ->capture_default_str();
  command->add_option("--start-delay", flags->start_delay, "from admission to running")
      ->capture_default_str();
  command->add_option("--writes-in-flight", flags->writes, "most writes at a time")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->callback([flags, &run] { run = [flags] { return RunHollow(*flags); }; });
}

}  // namespace lockstep::cli
