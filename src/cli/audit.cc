#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "audit/judge.h"
#include "audit/log_reader.h"
#include "audit/report.h"
#include "cli/audit_watch.h"
#include "cli/commands.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string log, output = "text", stuck_after = "1m", excess_after = "5s", longest;
  bool gangs = false;
  AuditWatch watch;
  audit::Grouping grouping;
};

Result<audit::ReadCounts> ReadFile(const std::string& path, audit::Record& record) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{path + ": can't be opened"};
  }
  audit::ReadCounts read = audit::ReadLog(path == "-" ? std::cin : file, record);
  if (read.events > 0) return read;
  return Error{path + ": no audit event in it" + (read.skipped > 0 ? "; " + read.first_error : "")};
}

// 0: no violation, 1: violations, 2: nothing to judge.
int RunAudit(Flags flags) {
  auto fail = [](const std::string& message) {
    std::fprintf(stderr, "lockstep audit: %s\n", message.c_str());
    return 2;
  };
  audit::Limits limits;
  for (auto [flag, text, duration] : {std::tuple("--stuck-after", &flags.stuck_after, &limits.stuck_after),
                                      std::tuple("--excess-after", &flags.excess_after, &limits.excess_after),
                                      std::tuple("--for", &flags.longest, &flags.watch.longest)}) {
    if (text->empty()) continue;
    Result<Duration> parsed = ParseDuration(*text);
    if (!parsed.ok()) return fail(std::string(flag) + ": " + parsed.error().message);
    *duration = *parsed;
  }
  audit::Record record(flags.grouping);
  Result<audit::ReadCounts> read =
      flags.log.empty() ? WatchForAudit(flags.watch, record) : ReadFile(flags.log, record);
  if (!read.ok()) return fail(read.error().message);
  audit::Report report = audit::Judge(record, limits);
  std::string text = flags.output == "json" ? json::DumpPretty(audit::ReportDoc(report, *read)) + "\n"
                                            : audit::ReportText(report, *read, flags.gangs);
  std::fputs(text.c_str(), stdout);
  return report.violations.empty() ? 0 : 1;
}

}  // namespace

void AddAuditCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "audit",
      "Judge a cluster, by watching it or from its API server's audit log: over-commit, parts of gangs that "
      "hold their nodes, doubled pods, writes, start times");
  CLI::Option* log = command
                         ->add_option("log", flags->log,
                                      "audit log, JSON lines; - is standard input (default: the cluster is "
                                      "watched until --for is over or a signal comes)")
                         ->check(CLI::IsMember({"-"}) | CLI::ExistingFile);
  command
      ->add_option("--kubeconfig", flags->watch.kubeconfig,
                   "kubeconfig file (default: in-cluster, $KUBECONFIG, ~/.kube/config)")
      ->excludes(log);
  command->add_option("--context", flags->watch.context, "context of the kubeconfig")->excludes(log);
  command
      ->add_option("--for", flags->longest,
                   "how long to watch, once all is listed (default: until SIGINT or SIGTERM)")
      ->excludes(log);
  command->add_option("-o,--output", flags->output, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->add_flag("--gangs", flags->gangs,
                    "every gang in the table (default: those that were never whole)");
  command->add_option("--stuck-after", flags->stuck_after, "how long a part of a gang may hold nodes")
      ->capture_default_str();
  command
      ->add_option("--excess-after", flags->excess_after,
                   "how long a node may carry more than it offers; 0s: not for a moment")
      ->capture_default_str();
  command
      ->add_option("--job-label", flags->grouping.job_label,
                   "label of a pod that names its job, where no controller and no pod group does")
      ->capture_default_str();
  command->add_option("--role-label", flags->grouping.role_label, "label of a pod that names its role")
      ->capture_default_str();
  command->add_option("--index-label", flags->grouping.index_label, "label of a pod that numbers it")
      ->capture_default_str();
  command->footer(
      "Pods form a gang by their pod group (Volcano, coscheduling, Koordinator, Kueue, lockstep.dev/gang), "
      "by "
      "a controller whose kind ends with Job, or by --job-label.\n"
      "Exit status: 0 without violations, 1 with some, 2 when there is nothing to judge.");
  command->callback([flags, &run] { run = [flags] { return RunAudit(*flags); }; });
}

}  // namespace lockstep::cli
