#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "audit/judge.h"
#include "audit/log_reader.h"
#include "audit/report.h"
#include "cli/commands.h"

namespace lockstep::cli {

namespace {

struct Flags {
  std::string log, output = "text", stuck_after = "1m";
  bool gangs = false;
  audit::Grouping grouping;
};

// 0: no violation, 1: violations, 2: nothing to judge.
int RunAudit(const Flags& flags) {
  auto fail = [](const std::string& message) {
    std::fprintf(stderr, "lockstep audit: %s\n", message.c_str());
    return 2;
  };
  Result<Duration> stuck_after = ParseDuration(flags.stuck_after);
  if (!stuck_after.ok()) return fail("--stuck-after: " + stuck_after.error().message);
  std::ifstream file;
  if (flags.log != "-") {
    file.open(flags.log, std::ios::binary);
    if (!file) return fail(flags.log + ": can't be opened");
  }
  audit::Record record(flags.grouping);
  audit::ReadCounts read = audit::ReadLog(flags.log == "-" ? std::cin : file, record);
  if (read.events == 0) {
    return fail(flags.log + ": no audit event in it" + (read.skipped > 0 ? "; " + read.first_error : ""));
  }
  audit::Report report = audit::Judge(record, {.stuck_after = *stuck_after});
  std::string text = flags.output == "json" ? json::DumpPretty(audit::ReportDoc(report, read)) + "\n"
                                            : audit::ReportText(report, read, flags.gangs);
  std::fputs(text.c_str(), stdout);
  return report.violations.empty() ? 0 : 1;
}

}  // namespace

void AddAuditCommand(CLI::App& app, Run& run) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "audit",
      "Judge an API server's audit log: doubled pods, over-commit, parts of gangs, writes, start times");
  command->add_option("log", flags->log, "audit log, JSON lines; - is standard input")
      ->required()
      ->check(CLI::IsMember({"-"}) | CLI::ExistingFile);
  command->add_option("-o,--output", flags->output, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->add_flag("--gangs", flags->gangs, "a line per gang");
  command->add_option("--stuck-after", flags->stuck_after, "how long a part of a gang may hold nodes")
      ->capture_default_str();
  command->add_option("--job-label", flags->grouping.job_label, "label of a pod that names its job")
      ->capture_default_str();
  command->add_option("--role-label", flags->grouping.role_label, "label of a pod that names its role")
      ->capture_default_str();
  command->add_option("--index-label", flags->grouping.index_label, "label of a pod that numbers it")
      ->capture_default_str();
  command->footer("Exit status: 0 without violations, 1 with some, 2 when there is nothing to judge.");
  command->callback([flags, &run] { run = [flags] { return RunAudit(*flags); }; });
}

}  // namespace lockstep::cli
