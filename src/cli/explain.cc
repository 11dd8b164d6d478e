#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/gang.h"
#include "api/labels.h"
#include "base/ascii.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/look.h"
#include "engine/node_sheet_of.h"
#include "engine/sheet_of.h"
#include "jobs/framework.h"
#include "jobs/pod.h"
#include "kube/client/http_api.h"

namespace lockstep::cli {

namespace {

constexpr Duration kLongestLook = minutes(1);

struct Flags {
  std::string kubeconfig, context, ns, subject, output;
};

std::string Needs(const kube::Resources& needs) {
  std::string text;
  for (const auto& [name, amount] : needs) {
    bool bytes = name == "memory" || name == "ephemeral-storage";
    text += (text.empty() ? "" : ", ") + kube::FormatQuantity(amount, bytes) + " " + name;
  }
  return text;
}

std::string Seats(const api::NodeSeats& seats) {
  std::string text = seats.node + ":";
  for (const api::RoleRange& range : seats.pods) {
    text += " " + range.role + " " + std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  return text;
}

void PrintText(const api::Gang& gang) {
  const api::GangStatus& status = gang.status;
  std::printf("%s %s/%s: %s. %s\n", gang.spec.job.kind.c_str(), gang.meta.ns.c_str(),
              gang.spec.job.name.c_str(), std::string(api::PhaseText(status.phase)).c_str(),
              status.reason.message.c_str());
  std::printf("  pods      %d, started together\n", gang.pods());
  if (!status.needs.empty()) std::printf("  needs     %s\n", Needs(status.needs).c_str());
  std::printf("  queued    %s\n", FormatMicroTime(gang.spec.queued_at).c_str());
  if (status.attempt > 0) std::printf("  attempt   %ld\n", static_cast<long>(status.attempt));
  if (status.policy_restarts + status.fault_restarts > 0) {
    std::printf("  restarts  %ld for failed pods, %ld for faults\n",
                static_cast<long>(status.policy_restarts), static_cast<long>(status.fault_restarts));
  }
  if (status.not_before) std::printf("  not before %s\n", FormatTime(*status.not_before).c_str());
  for (const api::BarredNode& node : status.barred) {
    std::printf("  barred    %s until %s: %s\n", node.node.c_str(), FormatTime(node.until).c_str(),
                node.reason.c_str());
  }
  for (const api::NodeSeats& seats : status.placement) std::printf("  seats     %s\n", Seats(seats).c_str());
}

void PrintJson(const api::Gang& gang, const std::optional<explain::Sheet>& why) {
  json::Doc doc = {
      {"job", {{"kind", gang.spec.job.kind}, {"namespace", gang.meta.ns}, {"name", gang.spec.job.name}}},
      {"queuedAt", FormatMicroTime(gang.spec.queued_at)},
      {"pods", gang.pods()},
      {"status", api::StatusDoc(gang.status, gang.spec.roles)}};
  if (why) doc["why"] = explain::SheetDoc(*why);
  std::printf("%s\n", json::DumpPretty(doc).c_str());
}

struct JobName {
  const jobs::Framework* framework;
  std::string name;
};

struct KindAndName {
  std::string kind, name;
};

Result<KindAndName> ParseSubject(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) {
    return Error{"\"" + text + "\": must be KIND/NAME, for example pytorchjob/bert"};
  }
  return KindAndName{AsciiLower(text.substr(0, slash)), text.substr(slash + 1)};
}

bool IsOneOf(const std::string& kind, std::initializer_list<const char*> names) {
  return std::ranges::find(names, kind) != names.end();
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "lockstep explain: %s\n", message.c_str());
  return 1;
}

std::optional<kube::Response> Get(RealLoop& loop, kube::Api& api, const kube::Resource& resource,
                                  const std::string& ns, const std::string& name) {
  kube::Request request;
  request.verb = kube::Verb::kGet;
  request.resource = &resource;
  request.ns = ns;
  request.name = name;
  std::optional<kube::Response> response;
  api.Send(request, [&](kube::Response r) { response = std::move(r); });
  loop.RunUntilTrue([&] { return response.has_value(); }, seconds(20));
  return response;
}

// Why it waits, from the cluster as it is now. Nothing for a gang that does not wait, or where the user may
// not look at the cluster.
std::optional<explain::Sheet> WhyItWaits(RealLoop& loop, kube::Api& api, const std::string& gang_key) {
  Result<cluster::World> world = LookAtCluster(api, loop, gang_key, kLongestLook);
  if (world.ok()) return engine::SheetOf(*std::move(world), gang_key, loop.now());
  std::fprintf(stderr, "lockstep explain: only what the operator has written, for %s\n",
               world.error().message.c_str());
  return {};
}

bool Waits(api::GangPhase phase) {
  return phase == api::GangPhase::kQueued || phase == api::GangPhase::kChecking ||
         phase == api::GangPhase::kRestarting;
}

// Why a job has no Gang, by what the job itself says.
std::string WithoutGang(const std::optional<kube::Response>& job) {
  if (job && job->status.not_found()) return "no such job";
  Result<json::Doc> object = job && job->status.ok() ? json::Parse(job->body) : Result<json::Doc>(Error{});
  const json::Doc* conditions = object.ok() ? json::Find(*object, "status.conditions") : nullptr;
  if (conditions != nullptr && conditions->is_array()) {
    for (const json::Doc& condition : *conditions) {
      std::string type = json::GetString(condition, "type"), status = json::GetString(condition, "status");
      if ((type == "Placed" && status == "False") || (type == "Failed" && status == "True"))
        return json::GetString(condition, "message");
    }
  }
  return "no Gang: another controller manages the job, or the operator has not seen it (is it running?)";
}

// What is there under that name, or why nothing can be told of it.
Result<json::Doc> Read(RealLoop& loop, kube::Api& api, const kube::Resource& resource, const std::string& ns,
                       const std::string& name) {
  std::optional<kube::Response> response = Get(loop, api, resource, ns, name);
  if (!response) return Error{"no answer from the API server within 20s"};
  if (!response->status.ok()) return Error{response->status.message};
  return json::Parse(response->body);
}

int ExplainJob(RealLoop& loop, kube::Api& api, const Flags& flags, const std::string& ns,
               const JobName& job) {
  const kube::Resource& resource = job.framework->resource();
  auto response = Get(loop, api, kube::kGangs, ns, api::GangName(resource.kind, job.name));
  if (!response) return Fail("no answer from the API server within 20s");
  if (response->status.not_found()) {
    auto object = Get(loop, api, resource, ns, job.name);
    return Fail(AsciiLower(resource.kind) + " " + ns + "/" + job.name + ": " + WithoutGang(object));
  }
  if (!response->status.ok()) return Fail(response->status.message);
  Result<json::Doc> doc = json::Parse(response->body);
  Result<api::Gang> gang = doc.ok() ? api::ParseGang(*doc) : Result<api::Gang>(doc.error());
  if (!gang.ok()) return Fail(gang.error().message);
  std::optional<explain::Sheet> why;
  if (Waits(gang->status.phase)) why = WhyItWaits(loop, api, cluster::GangKey(*job.framework, ns, job.name));
  if (flags.output == "json") {
    PrintJson(*gang, why);
  } else if (why) {
    std::fputs(explain::SheetText(*why).c_str(), stdout);
  } else {
    PrintText(*gang);
  }
  return 0;
}

int ExplainNode(RealLoop& loop, kube::Api& api, const Flags& flags, const std::string& name) {
  Result<cluster::World> world = LookAtCluster(api, loop, "", kLongestLook);
  if (!world.ok()) return Fail(world.error().message);
  std::optional<explain::NodeSheet> sheet = engine::NodeSheetOf(*world, name);
  if (!sheet) return Fail("node " + name + ": no such node");
  std::string text = flags.output == "json" ? json::DumpPretty(explain::NodeSheetDoc(*sheet)) + "\n"
                                            : explain::NodeSheetText(*sheet);
  std::fputs(text.c_str(), stdout);
  return 0;
}

// The job of a Gang, or of a pod: by its controller.
Result<JobName> JobOf(RealLoop& loop, kube::Api& api, const KindAndName& subject, const std::string& ns) {
  bool pod = IsOneOf(subject.kind, {"pod", "pods", "po"});
  Result<json::Doc> object = Read(loop, api, pod ? kube::kPods : kube::kGangs, ns, subject.name);
  if (!object.ok()) return object.error();
  const kube::Meta meta = kube::ParseMeta(*object);
  const kube::OwnerRef* owner = meta.controller();
  const jobs::Framework* framework = owner == nullptr ? nullptr : jobs::FrameworkNamed(owner->kind);
  if (framework == nullptr)
    return Error{subject.kind + " " + ns + "/" + subject.name + " is not of a job that Lockstep runs"};
  if (pod) {
    std::string node = json::GetString(*object, "spec.nodeName");
    std::fprintf(stderr, "pod %s is %s %s of %s %s/%s, %s\n", subject.name.c_str(),
                 meta.label(api::kReplicaTypeLabel).c_str(), meta.label(api::kReplicaIndexLabel).c_str(),
                 owner->kind.c_str(), ns.c_str(), owner->name.c_str(),
                 node.empty() ? "without a node" : ("on node " + node).c_str());
  }
  return JobName{framework, owner->name};
}

int RunExplain(const Flags& flags) {
  Result<KindAndName> subject = ParseSubject(flags.subject);
  if (!subject.ok()) return Fail(subject.error().message);
  bool node = IsOneOf(subject->kind, {"node", "nodes", "no"});
  bool member = IsOneOf(subject->kind, {"pod", "pods", "po", "gang", "gangs"});
  const jobs::Framework* framework = jobs::FrameworkNamed(subject->kind);
  if (framework == nullptr && !node && !member) {
    return Fail("\"" + subject->kind + "\": not a kind of job that Lockstep runs; must be " +
                jobs::FrameworkNames() + ", gang, pod or node");
  }
  Result<kube::ClientConfig> config = Connect(flags.kubeconfig, flags.context);
  if (!config.ok()) return Fail(config.error().message);
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  if (node) return ExplainNode(loop, api, flags, subject->name);
  std::string ns = flags.ns.empty() ? config->ns : flags.ns;
  Result<JobName> job =
      member ? JobOf(loop, api, *subject, ns) : Result<JobName>(JobName{framework, subject->name});
  return job.ok() ? ExplainJob(loop, api, flags, ns, *job) : Fail(job.error().message);
}

}  // namespace

void AddExplainCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "explain", "Why a job waits, what would start it, where its pods have seats; why a node is empty");
  command
      ->add_option("subject", flags->subject,
                   "KIND/NAME of a job, a gang, a pod or a node, for example pytorchjob/bert or node/gpu-7")
      ->required();
  command->add_option("-n,--namespace", flags->ns, "namespace of the job (default: the kubeconfig's)")
      ->check(NamespaceFault);
  command->add_option("--kubeconfig", flags->kubeconfig, "kubeconfig file");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("-o,--output", flags->output, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->callback([flags, &run] { run = [flags] { return RunExplain(*flags); }; });
}

}  // namespace lockstep::cli
