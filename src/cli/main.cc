#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "cli/commands.h"

namespace {

int ParseAndRun(CLI::App& app, lockstep::cli::Run& run, int argc, char** argv) {
  CLI11_PARSE(app, argc, argv);
  return run ? run() : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Lockstep starts and restarts distributed training jobs together on Kubernetes.", "lockstep"};
  app.set_version_flag("--version", LOCKSTEP_VERSION);
  app.require_subcommand(1);
  lockstep::cli::Run run;
  lockstep::cli::AddOperatorCommand(app, run);
  lockstep::cli::AddHollowCommand(app, run);
  lockstep::cli::AddCrdsCommand(app, run);
  lockstep::cli::AddExplainCommand(app, run);
  lockstep::cli::AddPlayCommand(app, run);
  lockstep::cli::AddTopCommand(app, run);
  lockstep::cli::AddAuditCommand(app, run);
  int status = ParseAndRun(app, run, argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return status;
  std::fprintf(stderr, "lockstep: not everything could be printed: %s\n", std::strerror(errno));
  return status == 0 ? 1 : status;
}
