#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/gang.h"
#include "base/ascii.h"
#include "base/real_loop.h"
#include "cli/commands.h"
#include "cli/connection.h"
#include "cli/look.h"
#include "engine/sheet_of.h"
#include "jobs/framework.h"
#include "jobs/pod.h"
#include "kube/client/http_api.h"

namespace lockstep::cli {

namespace {

constexpr Duration kLongestLook = minutes(1);

struct Flags {
  std::string kubeconfig, context, ns, job, output;
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
  const kube::Resource* resource;
  std::string name;
};

// "pytorchjob/NAME": the kind in any case, singular or plural.
Result<JobName> ParseJob(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == std::string::npos || slash + 1 == text.size()) {
    return Error{"\"" + text + "\": must be KIND/NAME, for example pytorchjob/bert"};
  }
  std::string kind = text.substr(0, slash);
  const jobs::Framework* framework = jobs::FrameworkNamed(kind);
  if (framework == nullptr) {
    return Error{"\"" + kind + "\": not a kind of job that Lockstep runs; must be " + jobs::FrameworkNames()};
  }
  return JobName{&framework->resource(), text.substr(slash + 1)};
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
std::optional<explain::Sheet> WhyItWaits(RealLoop& loop, kube::Api& api, const JobName& job,
                                         const std::string& ns) {
  std::string key = cluster::GangKey(*jobs::FrameworkOf(*job.resource), ns, job.name);
  Result<cluster::World> world = LookAtCluster(api, loop, key, kLongestLook);
  if (world.ok()) return engine::SheetOf(*std::move(world), key, loop.now());
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

int RunExplain(const Flags& flags) {
  Result<JobName> job = ParseJob(flags.job);
  if (!job.ok()) return Fail(job.error().message);
  Result<kube::ClientConfig> config = Connect(flags.kubeconfig, flags.context);
  if (!config.ok()) return Fail(config.error().message);
  RealLoop loop;
  kube::HttpApi api(loop, *config);
  std::string ns = flags.ns.empty() ? config->ns : flags.ns;
  auto response = Get(loop, api, kube::kGangs, ns, api::GangName(job->resource->kind, job->name));
  if (!response) return Fail("no answer from the API server within 20s");
  if (response->status.not_found()) {
    auto object = Get(loop, api, *job->resource, ns, job->name);
    return Fail(AsciiLower(job->resource->kind) + " " + ns + "/" + job->name + ": " + WithoutGang(object));
  }
  if (!response->status.ok()) return Fail(response->status.message);
  Result<json::Doc> doc = json::Parse(response->body);
  Result<api::Gang> gang = doc.ok() ? api::ParseGang(*doc) : Result<api::Gang>(doc.error());
  if (!gang.ok()) return Fail(gang.error().message);
  std::optional<explain::Sheet> why;
  if (Waits(gang->status.phase)) why = WhyItWaits(loop, api, *job, ns);
  if (flags.output == "json") {
    PrintJson(*gang, why);
  } else if (why) {
    std::fputs(explain::SheetText(*why).c_str(), stdout);
  } else {
    PrintText(*gang);
  }
  return 0;
}

}  // namespace

void AddExplainCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("explain", "Why a job waits, what would start it, and where its pods have seats");
  command->add_option("job", flags->job, "KIND/NAME, for example pytorchjob/bert")->required();
  command->add_option("-n,--namespace", flags->ns, "namespace of the job (default: the kubeconfig's)")
      ->check(NamespaceFault);
  command->add_option("--kubeconfig", flags->kubeconfig, "kubeconfig file");
  command->add_option("--context", flags->context, "context of the kubeconfig");
  command->add_option("-o,--output", flags->output, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->callback([flags, &run] { run = [flags] { return RunExplain(*flags); }; });
}

}  // namespace lockstep::cli
